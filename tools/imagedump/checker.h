/* checker.h: imagedump --verify: the caller gives chunks, and threads decode and check
 * them. */
#ifndef TOOLS_IMAGEDUMP_CHECKER_H
#define TOOLS_IMAGEDUMP_CHECKER_H

#include <stdint.h>

#include "common/base/err.h"

struct checker;

/* Start `jobs` threads (0: one for each processor), which checker_end() ends.  ERR_NOMEM.
 * When the system refuses a thread, checker_end() says so. */
int checker_new(struct checker **, uint64_t jobs, struct err *);
/* Give the NDZ_CHUNK_BYTES of a chunk to the threads; they are copied.  Waits when too many
 * chunks are not checked yet.  ERR_NOMEM.  ERR_CANCELLED: one of the threads has failed, and
 * checker_end() says why. */
int checker_give(struct checker *, uint32_t number, const void *bytes, struct err *);
/* Wait until all chunks are checked, and free the checker.  -1: *e is the first failure of a
 * thread; of a chunk that is wrong (ERR_FORMAT, ERR_UNSUPPORTED) it has the number.  After
 * success *e stays what it is. */
int checker_end(struct checker *, struct err *);

#endif /* TOOLS_IMAGEDUMP_CHECKER_H */
