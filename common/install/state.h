/* state.h: which chunks of an installation are on the disk for good, in a file
 * that survives a crash (--state).
 *
 * The file is two slots, written in turn, so that one is always whole.  A slot
 * only ever names chunks that were flushed to the target before it was written.
 * It is bound to the image by its UUID and number of chunks, and to the target
 * by the mark (head.h), whose number both have.
 */
#ifndef COMMON_INSTALL_STATE_H
#define COMMON_INSTALL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/install/head.h"
#include "common/ndz/format.h"

/* What has to be known of chunks that are not looked at again. */
struct state_sums {
	uint64_t end_bytes, short_end, covered_end, bytes_covered;
};

/* Whose installation it is. */
struct state_of {
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image */
	uint32_t nchunks;
	uint64_t target_bytes; /* the disk's size; UINT64_MAX: a new file */
};

struct state;

/* Open the file, or make it.  ERR_FORMAT when it is no state file, or both
 * slots are damaged. */
int state_open(struct state **, const char *path, struct err *);
void state_close(struct state *);
/* How many chunks are installed, and which. */
uint32_t state_chunks(const struct state *);
bool state_has(const struct state *, uint32_t chunk);
/* Is it of this installation?  ERR_REFUSED when not; any is, while nothing is
 * installed. */
int state_check(const struct state *, const struct state_of *, struct err *);
/* Of the installation that it tells of. */
const uint8_t *state_install_id(const struct state *);
struct state_sums state_sums(const struct state *);
/* Begin an installation with this mark: nothing is installed.  Written at once. */
int state_begin(struct state *, const struct state_of *,
    const uint8_t install_id[HEAD_ID_BYTES], struct err *);
/* A chunk was written; from any thread.  Counts with the next state_flush(). */
void state_note(struct state *, uint32_t chunk);
/* Is a flush due?  When there is something new, and the last was that long ago. */
bool state_due(struct state *, uint64_t interval_us);
/* Flush the target, then say so in the file: with the chunks that were noted
 * before the flush, and sums() as of then. */
int state_flush(struct state *, struct disk *target,
    struct state_sums (*sums)(void *arg), void *arg, struct err *);
/* The installation is complete: the file goes away. */
int state_remove(struct state *, struct err *);

#endif /* COMMON_INSTALL_STATE_H */
