/* checker.h: imagedump --verify: chunks come in order, and threads decode and check
 * them. */
#ifndef TOOLS_IMAGEDUMP_CHECKER_H
#define TOOLS_IMAGEDUMP_CHECKER_H

#include <stdint.h>

#include "common/base/err.h"

struct checker;

/* jobs: threads, 0: one a processor. */
int checker_new(struct checker **, uint64_t jobs, struct err *);
/* Give the NDZ_CHUNK_BYTES of a chunk to the threads; they are copied.
 * ERR_CANCELLED: one of the threads has failed, and checker_end() says why. */
int checker_give(struct checker *, uint32_t number, const void *bytes, struct err *);
/* Wait for all that was given, and free it.  -1: the first chunk that is wrong; else
 * *e stays what it is. */
int checker_end(struct checker *, struct err *);

#endif /* TOOLS_IMAGEDUMP_CHECKER_H */
