/* state.h: which chunks of an installation are on the disk for good, in a file
 * that survives a crash (--state), or on the target itself (--state=target).
 *
 * It is two slots, written in turn, so that one is always whole.  A slot only ever names
 * chunks that were flushed to the target before it was written.  It is bound to the
 * image by its UUID, its number of chunks and the digest of its first chunk, and to the
 * target by the incomplete marker (head.h): both have the same id.
 */
#ifndef IMAGEUNZIP_INSTALL_STATE_H
#define IMAGEUNZIP_INSTALL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "imageunzip/install/head.h"

/* What has to be known of chunks that are not looked at again. */
struct state_sums {
	uint64_t end_bytes, short_end, covered_end;
	uint64_t bytes_covered; /* by the chunks that are named, each once */
};

/* Whose installation it is. */
struct state_of {
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image */
	uint32_t nchunks;
	uint64_t target_bytes; /* the disk's size; UINT64_MAX: a new file */
	/* Of chunk 0; zeros while it is not known: chunks come in any order. */
	uint8_t digest[EXT_DIGEST_BYTES];
};

struct state;

/* Open the file, or make it. state_close() removes a file that was made and has no
 * entry.  ERR_FORMAT: it is not a state file, or both slots are damaged. */
int state_open(struct state **, const char *path, struct err *);
/* state_open() for a state in bytes [at, at + bytes) of the target, which is borrowed.
 * bytes 0: the state has no place yet, and is in memory only.  Bytes that are no state
 * count as an empty one. */
int state_open_in(
    struct state **, struct disk *target, uint64_t at, uint64_t bytes, struct err *);
/* How many bytes of a target it takes, a multiple of 4096. */
uint64_t state_bytes(uint32_t nchunks);
/* Behind state_open_in() and state_begin(): from now on its place is there. */
int state_place(struct state *, uint64_t at, struct err *);
bool state_placed(const struct state *);
void state_close(struct state *);
/* How many chunks are installed, and which. */
uint32_t state_chunks(const struct state *);
bool state_has(const struct state *, uint32_t chunk);
/* Is it of this installation?  ERR_REFUSED when not; any is, while nothing is
 * installed. */
int state_check(const struct state *, const struct state_of *, struct err *);
/* Chunk 0, which is never among those that are installed, has this digest:
 * ERR_REFUSED when that of the installation had another one. */
int state_bind(struct state *, const uint8_t digest[EXT_DIGEST_BYTES], struct err *);
/* The installation that the state describes. */
const uint8_t *state_install_id(const struct state *);
struct state_sums state_sums(const struct state *);
/* Begin an installation with this mark: nothing is installed.  Written at once; one
 * on the target loses its place. */
int state_begin(struct state *, const struct state_of *,
    const uint8_t install_id[HEAD_ID_BYTES], struct err *);
/* Note that a chunk was written, which answers for `bytes` bytes; once for each chunk, from
 * any thread.  It counts with the next state_flush(). */
void state_note(struct state *, uint32_t chunk, uint64_t bytes);
/* Is a flush due?  It is when something new was noted and the last flush was interval_us
 * ago. */
bool state_due(struct state *, uint64_t interval_us);
/* Flush the target, then say so in the file: with the chunks that were noted
 * before the flush, and sums() as of then; bytes_covered is the state's own sum. */
int state_flush(struct state *, struct disk *target,
    struct state_sums (*sums)(void *arg), void *arg, struct err *);
/* The installation is complete: the file goes away.  What is on the target is the
 * caller's to wipe. */
int state_remove(struct state *, struct err *);

/* Slots of an installation that was given up, where its mark says: zeros, if they
 * are there. */
int state_wipe_remains(struct disk *target, const struct mark *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_STATE_H */
