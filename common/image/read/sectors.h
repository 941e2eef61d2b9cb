/* sectors.h: an image file as a disk that can be read: its stored sectors, by
 * number, whatever chunks they are in.
 *
 * One chunk is open at a time, so reading in ascending order decodes each once,
 * and of a chunk with a fragment table only the fragments that are asked for.
 * A fragment is checked before its data is given out; a chunk without a table
 * when reading leaves it: results count only when sectors_done() has said so.
 */
#ifndef COMMON_IMAGE_READ_SECTORS_H
#define COMMON_IMAGE_READ_SECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/format/ext.h"
#include "common/image/format/format.h"
#include "common/image/format/proof.h"

struct sectors;

/* A file, not a pipe.  Every header is read and checked; chunks must come in
 * the order of their sectors.  ERR_FORMAT, ERR_UNSUPPORTED. */
int sectors_open(struct sectors **, const char *path, struct err *);
/* sectors_open() for an image that must be signed or encrypted.  All of it is read and
 * proved now, and each chunk again when it is used.  proof is borrowed, and may be NULL. */
int sectors_open_proved(
    struct sectors **, const char *path, struct proof *proof, struct err *);
/* sectors_open_proved() for a source, or a disk that is open; it is taken over, also on
 * failure. */
struct source;
int sectors_open_source(
    struct sectors **, struct source *, struct proof *proof, struct err *);
int sectors_open_disk(
    struct sectors **, struct disk *, struct proof *proof, struct err *);
void sectors_close(struct sectors *);
const char *sectors_name(const struct sectors *);
uint32_t sectors_chunks(const struct sectors *);

/* All that the image stores; not to be changed. */
const struct rangeset *sectors_stored(const struct sectors *);
/* From now on the image stores all but its tail. */
int sectors_drop_tail(struct sectors *, struct err *);
/* Of a delta, all that it calls free by now. */
const struct rangeset *sectors_freed(const struct sectors *);
/* The samples of its base that a delta has, for a delta that is made from it.  NULL:
 * it has none. */
struct basis *sectors_basis(struct sectors *);
/* Size of the disk; before version 2 the end of what is stored. */
uint64_t sectors_total(const struct sectors *);
/* In ascending order. */
const struct ndz_reloc *sectors_relocs(const struct sectors *, size_t *n);
/* What chunk 0 says: no regions, relocations or fragments in these. */
const struct ndz_header *sectors_header(const struct sectors *);
const struct ext *sectors_ext(const struct sectors *);
/* What the last chunk says was lost when the image was captured. */
const struct lost *sectors_lost(const struct sectors *);

/* The data of sectors that are all stored (asserted) into buf. */
int sectors_read(struct sectors *, struct range, void *buf, struct err *);
/* What the fragment table says of data, without decoding it: what two images say
 * in the same words is the same. */
struct sectors_id {
	uint64_t covers;    /* bytes of the data, from its beginning, that this is said of */
	bool zero;          /* all of them; what follows is 0 then */
	uint64_t at, bytes; /* they begin at byte `at` of a fragment of `bytes` bytes */
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES]; /* the digest of that fragment */
};
bool sectors_id_same(const struct sectors_id *, const struct sectors_id *);
/* What the fragment table says of `bytes` bytes of data that begin with a stored sector and
 * are of stored sectors that follow one another: 1, of as many of them as one fragment has;
 * 0: the chunk has no table; -1. */
int sectors_identify(
    struct sectors *, uint64_t sector, size_t bytes, struct sectors_id *, struct err *);
/* The chunk that a stored sector is in; *end: the first sector that is not. */
uint32_t sectors_chunk_of(const struct sectors *, uint64_t sector, uint64_t *end);
/* Check the rest of the chunk that was read last. */
int sectors_done(struct sectors *, struct err *);

/* What the image amounts to: as it says itself, or by its UUID, or by the
 * SHA-256 of its file, which is then read. */
int sectors_state(struct sectors *, struct ext_state *, struct err *);

#endif /* COMMON_IMAGE_READ_SECTORS_H */
