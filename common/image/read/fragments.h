/* fragments.h: the fragments of a chunk one by one: where each lies in the stream and in the
 * chunk's data, and how it is decoded without the rest.
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
	uint64_t raw_bytes;  /* length of its data */
};

/* Stands in front of the first fragment of a chunk, which is borrowed. */
struct fragments fragments_of(const struct chunk *);
/* Go to the next fragment, with the first call to the first one.  False: there is none. */
bool fragments_next(struct fragments *);

/* Decode the current fragment into out[raw_bytes], which is FRAGMENT_BYTES_MAX at most, and
 * check it against its digest; bytes are the chunk's.  A fragment that is zero is only
 * checked, and nothing is written.  ERR_FORMAT. */
int fragments_decode(const struct fragments *, const void *bytes, struct decoder *,
    void *out, struct err *);

/* Bytes of a chunk's data that are in fragments which are not zero: what
 * chunk_decode_packed() needs.  The chunk has a table. */
uint64_t chunk_packed_bytes(const struct chunk *);
/* Decode the data of a chunk that has a table, without its zero fragments: the other
 * fragments go to out[chunk_packed_bytes()], one behind the other.  Every fragment and the
 * stream's Adler-32 are checked, but not the fragments' digests.  ERR_FORMAT. */
int chunk_decode_packed(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* Decode the data of a chunk that has a table, with its zero fragments, into out[raw_bytes].
 * The checks are those of chunk_decode_packed().  ERR_FORMAT. */
int chunk_decode_fragments(
    const struct chunk *, const void *bytes, struct decoder *, void *out, struct err *);
/* chunk_pieces() for a chunk that has a table.  ERR_FORMAT, ERR_NOMEM. */
int chunk_fragment_pieces(const struct chunk *, const void *bytes, struct decoder *,
    int (*fn)(void *arg, void *data, size_t n, struct err *), void *arg, struct err *);
/* chunk_decode_packed() without the fragments that have skip[number] set: their room in out
 * is left as it is, and their bytes are not looked at.  Without their data the Adler-32
 * cannot be computed, so the digests of the other fragments are checked instead. */
int chunk_decode_others(const struct chunk *, const void *bytes, struct decoder *,
    const bool *skip, void *out, struct err *);
/* Does data[raw_bytes] have the digest of the current fragment, which is not zero? */
bool fragment_is(const struct fragments *, const void *data);
/* fragment_is() for two fragments; faster than one by one when they have the same length. */
void fragments_are(const struct fragments f[2], const void *const data[2], bool is[2]);
/* Check every fragment, its digest, and the stream's Adler-32, without keeping the data.
 * ERR_FORMAT, ERR_NOMEM. */
int chunk_verify_fragments(
    const struct chunk *, const void *bytes, struct decoder *, struct err *);

#endif /* COMMON_IMAGE_READ_FRAGMENTS_H */
