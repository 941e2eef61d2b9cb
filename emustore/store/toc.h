/* toc.h: the table of contents of a pack: which fragments it has, where they begin, and
 * the SHA-256 of each block of the pack.  The name of a pack is the SHA-256 of its table,
 * so the name vouches for all bytes of the pack.
 *
 *	u32 magic, u32 1, 16 random bytes, u64 bytes of the pack, u32 blocks,
 *	u32 fragments; per block its SHA-256; per fragment: its head (record.h),
 *	u64 where its record is, u32 bytes of its data
 */
#ifndef EMUSTORE_STORE_TOC_H
#define EMUSTORE_STORE_TOC_H

#include "common/base/buf.h"
#include "common/base/rd.h"
#include "emustore/store/record.h"

enum {
	TOC_BLOCK_BYTES = 1 << 20, /* the last block of a pack may be shorter */
	TOC_BYTES_MAX = 64 << 20,
	TOC_PACK_BYTES_MAX = 1 << 30,
	PACK_ID_CHARS = 2 * SHA256_BYTES,
};

struct toc {
	uint64_t pack_bytes;
	uint32_t nblocks, nfragments;
	const uint8_t *digests; /* SHA-256 of each block; points into the bytes of the table */
	struct rd rest;         /* fragments not yet read */
	uint64_t end;           /* byte of the pack behind the fragment that was read last */
};

/* Open the table of pack `id` in len bytes, which must stay.  The whole table is checked,
 * and that its SHA-256 is the id.  ERR_FORMAT: damaged; ERR_UNSUPPORTED: of another
 * version. */
int toc_open(struct toc *, const char id[PACK_ID_CHARS + 1], const void *bytes,
    size_t len, struct err *);
/* Read the next fragment.  false: there are no more. */
bool toc_next(struct toc *, struct pack_fragment *);

/* Append the entry of a fragment; fragments are added in the order of the pack.  buf_ok()
 * tells a failure. */
void toc_add(struct buf *fragments, const struct pack_fragment *);
/* Make the table of a pack in the empty buffer `out`, from the pack's bytes and the
 * entries of toc_add().  id becomes the name of the pack.  ERR_NOMEM; an error of the
 * system when there are no random bytes. */
int toc_make(struct buf *out, const void *pack, size_t bytes,
    const struct buf *fragments, char id[PACK_ID_CHARS + 1], struct err *);
/* Is this an id of a pack: PACK_ID_CHARS hexadecimal digits, in lower case? */
bool pack_id_ok(const char *);

#endif /* EMUSTORE_STORE_TOC_H */
