/* toc.c: makes and reads tables of packs.  Called by writer.c, which makes packs, and by
 * refresh.c, gc.c and repair.c, which read tables, in any thread. */
#include "emustore/store/toc.h"

#include <stdio.h>

#include "common/base/number.h"
#include "common/base/random_bytes.h"
#include "common/base/sha256.h"

enum {
	MAGIC = 0x31544d45, /* "EMT1" */
	VERSION = 1,
	NONCE_BYTES = 16,
	ENTRY_BYTES = FRAGMENT_HEAD_BYTES + 8 + 4,
};

bool
pack_id_ok(const char *s)
{
	return strlen(s) == PACK_ID_CHARS &&
	       strspn(s, "0123456789abcdef") == PACK_ID_CHARS;
}

static void
id_of(const void *bytes, size_t len, char id[PACK_ID_CHARS + 1])
{
	uint8_t digest[SHA256_BYTES];

	sha256(bytes, len, digest);
	number_hex(digest, sizeof digest, id);
}

static uint64_t
blocks_of(uint64_t bytes)
{
	return (bytes + TOC_BLOCK_BYTES - 1) / TOC_BLOCK_BYTES;
}

static bool
get_fragment(struct rd *r, struct pack_fragment *f)
{
	rd_copy(r, f->head.sha256, sizeof f->head.sha256);
	rd_copy(r, f->head.raw_digest, sizeof f->head.raw_digest);
	f->head.raw_bytes = rd_le32(r);
	f->head.adler = rd_le32(r);
	f->at = rd_le64(r);
	f->bytes = rd_le32(r);
	return rd_ok(r);
}

bool
toc_next(struct toc *t, struct pack_fragment *f)
{
	if (!get_fragment(&t->rest, f))
		return false;
	t->end = f->at + FRAGMENT_DATA_AT + f->bytes;
	return true;
}

/* Are the fragments one behind the other, and within the pack? */
static bool
fragments_fit(struct toc t)
{
	struct pack_fragment f;
	uint64_t end = RECORD_HEAD_BYTES;

	for (; toc_next(&t, &f); end = t.end)
		if (f.bytes == 0 || f.bytes > STORE_FRAGMENT_MAX || f.at < end ||
		    f.at > t.pack_bytes ||
		    t.pack_bytes - f.at < FRAGMENT_DATA_AT + (uint64_t)f.bytes)
			return false;
	return true;
}

int
toc_open(struct toc *t, const char id[PACK_ID_CHARS + 1], const void *bytes, size_t len,
    struct err *e)
{
	struct rd r = rd_from(bytes, len);
	char is[PACK_ID_CHARS + 1];

	memset(t, 0, sizeof *t);
	id_of(bytes, len, is);
	if (strcmp(is, id) != 0)
		return err_set(e, ERR_FORMAT,
		    "pack %.12s...: its table does not have the SHA-256 of its name",
		    id);
	uint32_t magic = rd_le32(&r), version = rd_le32(&r);
	rd_skip(&r, NONCE_BYTES);
	t->pack_bytes = rd_le64(&r);
	t->nblocks = rd_le32(&r);
	t->nfragments = rd_le32(&r);
	if (rd_ok(&r) && magic == MAGIC && version != VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "pack %.12s...: its table is of version %u", id, version);
	bool fits = magic == MAGIC && rd_can_hold(&r, t->nblocks, SHA256_BYTES) &&
	            t->pack_bytes <= TOC_PACK_BYTES_MAX &&
	            t->nblocks == blocks_of(t->pack_bytes);
	t->digests = rd_bytes(&r, fits ? (size_t)t->nblocks * SHA256_BYTES : 0);
	fits = fits && rd_left(&r) == (uint64_t)t->nfragments * ENTRY_BYTES;
	t->rest = r;
	if (fits && fragments_fit(*t))
		return 0;
	return err_set(e, ERR_FORMAT, "pack %.12s...: its table is invalid", id);
}

void
toc_add(struct buf *b, const struct pack_fragment *f)
{
	uint8_t head[FRAGMENT_HEAD_BYTES];

	fragment_put_head(&f->head, head);
	buf_bytes(b, head, sizeof head);
	buf_le64(b, f->at);
	buf_le32(b, f->bytes);
}

int
toc_make(struct buf *out, const void *pack, size_t bytes, const struct buf *fragments,
    char id[PACK_ID_CHARS + 1], struct err *e)
{
	uint8_t chance[NONCE_BYTES], digest[SHA256_BYTES];

	/* The random bytes keep two packs from having the same name: a pack may be about
	 * to be removed while the same fragments are put again. */
	random_bytes(chance, sizeof chance);
	buf_le32(out, MAGIC);
	buf_le32(out, VERSION);
	buf_bytes(out, chance, sizeof chance);
	buf_le64(out, bytes);
	buf_le32(out, (uint32_t)blocks_of(bytes));
	buf_le32(out, (uint32_t)(fragments->len / ENTRY_BYTES));
	for (size_t at = 0; at < bytes; at += TOC_BLOCK_BYTES) {
		size_t n = bytes - at < TOC_BLOCK_BYTES ? bytes - at : TOC_BLOCK_BYTES;
		sha256((const uint8_t *)pack + at, n, digest);
		buf_bytes(out, digest, sizeof digest);
	}
	buf_bytes(out, fragments->base, fragments->len);
	if (!buf_ok(out))
		return err_nomem(e, "the table of a pack");
	id_of(out->base, out->len, id);
	return 0;
}
