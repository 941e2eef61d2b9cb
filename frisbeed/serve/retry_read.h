/* retry_read.h: reads an image from a network or a failing disk, where a read may succeed only
 * later. */
#ifndef FRISBEED_SERVE_RETRY_READ_H
#define FRISBEED_SERVE_RETRY_READ_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

/* Calls source_read_run(), and when that fails in a way that may pass (EIO, ESTALE,
 * ETIMEDOUT), again for ten seconds, with a line in the log each time.  A signal, or the end of
 * the session that the thread works for, ends this early.  Errors are those of
 * source_read_run().  Any thread may call it. */
int retry_read(struct source *, uint32_t chunk, uint32_t first, uint32_t count, void *to,
    struct err *);

#endif /* FRISBEED_SERVE_RETRY_READ_H */
