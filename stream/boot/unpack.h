/* unpack.h: the modules of a kernel, which are often kept compressed. */
#ifndef STREAM_BOOT_UNPACK_H
#define STREAM_BOOT_UNPACK_H

#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

/* If the bytes of b are a file that gzip, xz or zstd made, put what it holds in their place; others
 * stay as they are.  What they are is known from their first bytes.  `path` is for the sentence.
 * ERR_FORMAT: they are damaged; ERR_UNSUPPORTED: they hold more than most_bytes, or this program
 * was built without zstd; ERR_NOMEM. */
int unpack_module(struct buf *b, size_t most_bytes, const char *path, struct err *);

#endif /* STREAM_BOOT_UNPACK_H */
