/* fragments.h: the fragments of a chunk one by one: where each lies in the
 * stream, what it covers of the disk, and its data without the rest.
 * Source: docs/image-format.md, the fragment table. */
#ifndef COMMON_IMAGE_READ_FRAGMENTS_H
#define COMMON_IMAGE_READ_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/image/read/chunk.h"

/* The largest fragment that is not zero. */
enum { FRAGMENT_BYTES_MAX = EXT_FRAGMENT_RAW_MAX };

/* The current fragment of a chunk that has a table (ext.fragments). */
struct fragments {
	const struct chunk *c;
	const struct ext_fragment *entry;
	size_t number;
	size_t stream_at;    /* offset of its bytes in the zlib stream */
	uint64_t raw_at;     /* offset of its data in the chunk's data */
	uint64_t raw_bytes;  /* of it */
};

struct fragments fragments_of(const struct chunk *);
/* Go to the first fragment, then to the next; false: there are no more. */
bool fragments_next(struct fragments *);

/* Decode the current fragment into out[raw_bytes], which is FRAGMENT_BYTES_MAX at most, and
 * check it against its digest; bytes are the chunk's.  Of a fragment that is zero nothing
 * is written: it is only checked. */
int fragments_decode(const struct fragments *, const void *bytes, struct decoder *,
    void *out, struct err *);

/* Bytes of a chunk's data that are in fragments which are not zero: what
 * chunk_decode_packed() needs.  The chunk has a table. */
uint64_t chunk_packed_bytes(const struct chunk *);
/* The data of a chunk that has a table, without its zero fragments: the others
 * one behind the other into out[chunk_packed_bytes()].  Every byte of the stream
 * is checked, its Adler-32 too, but not the fragments' digests.  ERR_FORMAT. */
int chunk_decode_packed(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* The data of a chunk that has a table, with its zero fragments, into out[raw_bytes]. */
int chunk_decode_fragments(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* The data of a chunk that has a table in pieces, as chunk_pieces() gives them out; fn NULL
 * only checks. */
int chunk_fragment_pieces(const struct chunk *, const void *bytes, struct decoder *,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *);
/* chunk_decode_packed() without the fragments that have skip[number] set: their room in out
 * is left as it is, and their bytes are not looked at.  Without their data there is no
 * Adler-32, so the digests of the others are checked. */
int chunk_decode_others(const struct chunk *, const void *bytes, struct decoder *,
    const bool *skip, void *out, struct err *);
/* Is data[raw_bytes] what the current fragment, which is not zero, holds?  By
 * its digest. */
bool fragment_is(const struct fragments *, const void *data);
/* fragment_is() for two fragments; faster than one by one when they have the same length. */
void fragments_are(const struct fragments f[2], const void *const data[2], bool is[2]);
/* Check everything, with the digest of every fragment, without keeping the data. */
int chunk_verify_fragments(
    const struct chunk *, const void *bytes, struct decoder *, struct err *);

#endif /* COMMON_IMAGE_READ_FRAGMENTS_H */
