/* beginning.h: the first MiB of a disk, with its partition table, out of the chunk
 * that stores it, before anything is written. */
#ifndef IMAGEUNZIP_INSTALL_BEGINNING_H
#define IMAGEUNZIP_INSTALL_BEGINNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/image/read/chunk.h"

enum { BEGINNING_BYTES = 1 << 20 };

struct beginning;

/* Decode the first MiB from a chunk that begins with sector 0, and check it as far as it is
 * needed.  The chunk must stay. */
int beginning_of(
    struct beginning **, const struct chunk *, const void *bytes, struct err *);
void beginning_free(struct beginning *);
/* A struct disk_ops' pread: what the chunk does not store cannot be read. */
ssize_t beginning_pread(void *beginning, void *buf, size_t len, uint64_t off);

#endif /* IMAGEUNZIP_INSTALL_BEGINNING_H */
