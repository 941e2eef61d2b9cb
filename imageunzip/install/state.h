/* state.h: records which chunks of an installation are on the disk for good, in a file
 * that survives a crash (--state), or on the target itself (--state=target).
 *
 * A state is two slots, written in turn, so that one is always whole. A slot only ever
 * names chunks that were flushed to the target before it was written. The state is bound
 * to the image by its UUID, its number of chunks and the digest of its first chunk, and
 * to the target by the incomplete marker (boot_area.h): both have the same id.
 */
#ifndef IMAGEUNZIP_INSTALL_STATE_H
#define IMAGEUNZIP_INSTALL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "common/target/boot_area.h"
#include "imageunzip/install/ledger.h"

/* Sums over the chunks that are installed and not read again; members of struct target. */
struct state_sums {
	uint64_t end_bytes, short_end, covered_end;
	uint64_t bytes_covered; /* bytes that the named chunks answer for, each once */
};

/* The image and the target that a state belongs to. */
struct state_of {
	uint8_t uuid[NDZ_UUID_BYTES]; /* of the image */
	uint32_t nchunks;
	uint64_t target_bytes; /* the disk's size; UINT64_MAX: a new file */
	/* The digest of chunk 0; zeros while it is not known, because chunks come in any
	 * order. */
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
/* The bytes that a state takes on a target, a multiple of 4096. */
uint64_t state_bytes(uint32_t nchunks);
/* Give a state of state_open_in(), after state_begin(), its place at this byte of the
 * target, and write both slots. */
int state_place(struct state *, uint64_t at, struct err *);
/* Has the state a place? */
bool state_placed(const struct state *);
/* Close and free the state; NULL is fine. A file that names no chunk is removed if this
 * run has made it. */
void state_close(struct state *);
/* How many chunks are installed, and which. */
uint32_t state_chunks(const struct state *);
bool state_has(const struct state *, uint32_t chunk);
/* Does the state belong to this image and target? ERR_REFUSED when not. A state without
 * chunks belongs to any. */
int state_check(const struct state *, const struct state_of *, struct err *);
/* Bind the state to an image whose chunk 0 has this digest. ERR_REFUSED when the state
 * was bound to another digest. */
int state_bind(struct state *, const uint8_t digest[EXT_DIGEST_BYTES], struct err *);
/* The id, and the sums, of the installation that the state describes. */
const uint8_t *state_install_id(const struct state *);
struct state_sums state_sums(const struct state *);
/* Begin a state without chunks, of an installation with this id. A file is written at
 * once; a state on the target loses its place. */
int state_begin(struct state *, const struct state_of *,
    const uint8_t install_id[BOOT_AREA_ID_BYTES], struct err *);
/* Note that a chunk was written, which answers for `bytes` bytes; once for each chunk, from
 * any thread.  It counts with the next state_flush(). */
void state_note(struct state *, uint32_t chunk, uint64_t bytes);
/* Called before state_note(): keep digests of what the chunk has written (--read-back).
 * Only a file has room for them; they are written with the next state_flush(). ERR_NOMEM.
 * */
int state_keep(struct state *, uint32_t chunk, const struct ledger_parts *, struct err *);
/* Call take() for each chunk that is installed and whose digests were kept, with part
 * NULL, and then for each of its parts. */
void state_kept(const struct state *,
    void (*take)(void *arg, uint32_t chunk, const struct ledger_part *), void *arg);
/* Forget the digests that were kept, in the file, too. */
int state_drop_kept(struct state *, struct err *);
/* Is a flush due?  It is when something new was noted and the last flush was interval_us
 * ago. */
bool state_due(struct state *, uint64_t interval_us);
/* Flush the target, then write a slot with the chunks that were noted before the flush,
 * and with sums() as of then; bytes_covered is the state's own sum. */
int state_flush(struct state *, struct disk *target,
    struct state_sums (*sums)(void *arg), void *arg, struct err *);
/* Remove the file of a complete installation. A state on the target is wiped by the
 * caller. */
int state_remove(struct state *, struct err *);

/* Zero the slots of an installation that was given up, in the place that its marker
 * names, if they are still there. */
int state_wipe_remains(struct disk *target, const struct marker *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_STATE_H */
