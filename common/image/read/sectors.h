/* sectors.h: an image file as a disk that can be read: its stored sectors, by
 * number, whatever chunks they are in.
 *
 * One chunk is open at a time, so reading in ascending order decodes each once,
 * and of a chunk with a fragment table only the fragments that are asked for.
 * A fragment is checked before its data is given out.  A chunk without a table is
 * checked when reading leaves it, so its data can be relied on only after a good
 * sectors_done().
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
#include "common/image/format/opener.h"

struct sectors;

/* Open an image, which must be a file and not a pipe (ERR_USAGE).  Every header is read and
 * checked; chunks must come in the order of their sectors.  ERR_FORMAT, ERR_UNSUPPORTED,
 * ERR_NOMEM, ERR_CANCELLED. */
int sectors_open(struct sectors **, const char *path, struct err *);
/* sectors_open() for an image that must be signed or encrypted.  All of it is read and
 * proved now, and each chunk again when it is used.  opener is borrowed, and may be NULL. */
int sectors_open_proved(
    struct sectors **, const char *path, struct opener *opener, struct err *);
/* sectors_open_proved() for a source, or a disk that is open; it is taken over, also on
 * failure. */
struct source;
int sectors_open_source(
    struct sectors **, struct source *, struct opener *opener, struct err *);
int sectors_open_disk(
    struct sectors **, struct disk *, struct opener *opener, struct err *);
void sectors_close(struct sectors *); /* closes the image, too; NULL is fine */
/* The image's name for messages, and its number of chunks. */
const char *sectors_name(const struct sectors *);
uint32_t sectors_chunks(const struct sectors *);

/* All that the image stores; not to be changed. */
const struct rangeset *sectors_stored(const struct sectors *);
/* From now on the image stores all but its tail. */
int sectors_drop_tail(struct sectors *, struct err *);
/* Of a delta: all sectors that it calls free by now. */
const struct rangeset *sectors_freed(const struct sectors *);
/* The samples of its base that this image, a delta, has; a new delta that is made from it
 * takes them over.  NULL: it has none. */
struct basis *sectors_basis(struct sectors *);
/* Size of the disk; before version 2 the end of what is stored. */
uint64_t sectors_total(const struct sectors *);
/* All relocations that change data, in ascending order; *n is their number. */
const struct ndz_reloc *sectors_relocs(const struct sectors *, size_t *n);
/* What chunk 0 says, without regions, relocations, fragments, freed sectors, samples and
 * lost sectors. */
const struct ndz_header *sectors_header(const struct sectors *);
const struct ext *sectors_ext(const struct sectors *);
/* What the last chunk says was lost when the image was captured. */
const struct lost *sectors_lost(const struct sectors *);

/* Read sectors, all of which are stored, into buf.  ERR_FORMAT: the chunk is damaged, or does
 * not store them any more.  Errors name image and chunk. */
int sectors_read(struct sectors *, struct range, void *buf, struct err *);
/* What the fragment table says of data, without decoding it: where it says the same of the
 * data of two images, the data is the same. */
struct sectors_id {
	uint64_t covers;    /* bytes of the data, from its beginning, that are described */
	bool zero;          /* they are all zero, and the members below are 0 */
	uint64_t at, bytes; /* they begin at byte `at` of a fragment of `bytes` bytes */
	uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES]; /* the digest of that fragment */
};
/* Do both describe the same data, and as many bytes of it? */
bool sectors_id_same(const struct sectors_id *, const struct sectors_id *);
/* Describe `bytes` bytes of data that begin with this stored sector and are of stored sectors
 * that follow one another.  Returns 1 when *id describes as many of them as one fragment has,
 * 0 when the chunk has no table, or -1. */
int sectors_identify(
    struct sectors *, uint64_t sector, size_t bytes, struct sectors_id *, struct err *);
/* The chunk that a stored sector is in; *end: the end of the chunk's last region. */
uint32_t sectors_chunk_of(const struct sectors *, uint64_t sector, uint64_t *end);
/* Check the rest of the chunk that was read last.  ERR_FORMAT: it is damaged. */
int sectors_done(struct sectors *, struct err *);

/* The state that the image amounts to: the one that it names itself, or else its UUID, or
 * else the SHA-256 of its file, for which all of the file is read. */
int sectors_state(struct sectors *, struct ext_state *, struct err *);

#endif /* COMMON_IMAGE_READ_SECTORS_H */
