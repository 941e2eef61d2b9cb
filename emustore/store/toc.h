/* toc.h: the table of contents of a pack: what its fragments are,
 * where they begin, and the SHA-256 of each block of the pack.  The pack is called like
 * the SHA-256 of its table, so a name vouches for all bytes of a pack.
 *
 *	u32 magic, u32 1, 16 bytes by chance, u64 bytes of the pack, u32 blocks,
 *	u32 fragments; per block its SHA-256; per fragment: its head (record.h),
 *	u64 where its record is, u32 bytes of its data
 */
#ifndef EMUSTORE_STORE_TOC_H
#define EMUSTORE_STORE_TOC_H

#include "common/base/buf.h"
#include "common/base/rd.h"
#include "emustore/store/record.h"

enum {
	TOC_BLOCK_BYTES = 1 << 20, /* the last one of a pack may be shorter */
	TOC_BYTES_MAX = 64 << 20,
	TOC_PACK_BYTES_MAX = 1 << 30,
	PACK_ID_CHARS = 2 * SHA256_BYTES,
};

struct toc {
	uint64_t pack_bytes;
	uint32_t nblocks, nfragments;
	const uint8_t *digests; /* of the blocks; points into the bytes */
	struct rd rest;         /* fragments not yet read */
	uint64_t end;           /* of the fragment read last */
};

/* The whole is checked, id too.  ERR_FORMAT. */
int toc_open(struct toc *, const char id[PACK_ID_CHARS + 1], const void *bytes,
    size_t len, struct err *);
/* false: no more. */
bool toc_next(struct toc *, struct pack_fragment *);

/* Fragments in the order of the pack; a table is these with what goes before. */
void toc_add(struct buf *fragments, const struct pack_fragment *);
/* Of the pack's bytes.  id becomes the name.  ERR_NOMEM. */
int toc_make(struct buf *out, const void *pack, size_t bytes,
    const struct buf *fragments, char id[PACK_ID_CHARS + 1], struct err *);
bool pack_id_ok(const char *);

#endif /* EMUSTORE_STORE_TOC_H */
