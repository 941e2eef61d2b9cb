/* put_describe.c: writes the recipe of a chunk, which has everything that is not in the
 * pieces of the chunk, and tries the recipe at once.  put.c calls this in its writer
 * thread. */
#include <string.h>

#include "common/base/crc32c.h"
#include "common/base/rd.h"
#include "common/base/sha256.h"
#include "emustore/store/put_impl.h"

/* How many bytes of a chunk there are up to the last one that is not zero. */
static size_t
chunk_used_bytes(const uint8_t *chunk)
{
	size_t n = NDZ_CHUNK_BYTES;
	uint64_t word;

	for (; n >= 8; n -= 8) {
		memcpy(&word, chunk + n - 8, 8);
		if (word != 0)
			break;
	}
	while (n > 0 && chunk[n - 1] == 0)
		n--;
	return n;
}

/* Find the entries of the fragment table in the n bytes behind the stream: *at is the
 * offset where they are exactly what the fragments give.  false: they are nowhere. */
static bool
find_table(
    struct put *p, const struct chunk *c, const uint8_t *rest, size_t n, size_t *at)
{
	size_t table = p->c.npieces * EXT_ENTRY_BYTES;
	uint8_t entry[EXT_ENTRY_BYTES];

	for (size_t i = 0; p->c.codec != NULL && table <= n && i <= n - table; i++) {
		bool same = true;
		for (size_t k = 0; k < p->c.npieces && same; k++) {
			const struct ext_fragment *x = &c->ext.fragments[k];
			const struct ext_fragment f = rebuild_entry(
			    &p->c.pieces[k], x->bytes,
			    (uint32_t)(x->sectors * SECTOR_BYTES), x->digest);
			ext_put_entry(c->ext.table, &f, entry);
			same = memcmp(rest + i + k * sizeof entry, entry,
				   sizeof entry) == 0;
		}
		if (same)
			return *at = i, true;
	}
	return false;
}

/* Describe what is not in fragments.  `spare` takes the bytes behind the stream without
 * the fragment table, if there is one. */
static int
describe_rest(struct put *p, const struct prepared *x, struct buf *spare, struct err *e)
{
	const struct chunk *c = &x->c;
	const uint8_t *bytes = x->bytes;
	const uint8_t *rest = bytes + NDZ_HEADER_BYTES + x->stream_bytes;
	size_t used = chunk_used_bytes(bytes),
	       behind = NDZ_HEADER_BYTES + (size_t)x->stream_bytes;
	size_t n = used > behind ? used - behind : 0,
	       table = p->c.npieces * EXT_ENTRY_BYTES;
	/* Zeros at the end of the fragment table belong to it, although they look like the
	 * zeros behind the last used byte. */
	size_t most = NDZ_CHUNK_BYTES - behind;
	size_t slack = n + EXT_ENTRY_BYTES < most ? n + EXT_ENTRY_BYTES : most;

	p->c.crc = crc32c(bytes, n > 0 ? used : behind);
	p->c.rest = rest;
	p->c.rest_bytes = n;
	p->c.table = find_table(p, c, rest, slack, &p->c.table_at) ? c->ext.table
	                                                           : EXT_TABLE_NONE;
	if (p->c.table == EXT_TABLE_NONE)
		return 0;
	n = n > p->c.table_at + table ? n : p->c.table_at + table;
	p->c.crc = crc32c(bytes, behind + n);
	buf_bytes(spare, rest, p->c.table_at);
	buf_bytes(spare, rest + p->c.table_at + table, n - p->c.table_at - table);
	p->c.rest = spare->base;
	p->c.rest_bytes = n - table;
	return buf_ok(spare) ? 0 : err_nomem(e, "a recipe");
}

/* Check that the recipe that was written yields the chunk. */
static int
compare(struct put *p, size_t recipe_at, const struct prepared *x, struct err *e)
{
	const struct ext_fragment *table = x->c.ext.fragments;
	struct rd r = rd_from(p->block.base + recipe_at, p->block.len - recipe_at);

	if (recipe_get_chunk(&p->decoded, &r, e) != 0)
		return -1;
	if (!rd_done(&r) || p->decoded.npieces != p->c.npieces)
		return err_set(e, ERR_FORMAT, "its recipe cannot be read again");
	/* prepare.c has found out already that the stream can be redeflated from the data,
	 * and that the fragments have these data. */
	if (p->decoded.redeflated)
		return 0;
	rebuilder_give(p->rebuilder, x->bytes, x->c.ext.nfragments > 0 ? table : NULL);
	const struct rebuild_facts facts = { .places = p->places };
	if (rebuild_chunk(p->rebuilder, &p->decoded, &facts, p->again, e) != 0)
		return -1;
	if (memcmp(p->again, x->bytes, NDZ_CHUNK_BYTES) != 0)
		return err_set(
		    e, ERR_FORMAT, "the store would not return what was put");
	return 0;
}

static void
describe_redeflated(struct put *p, const struct prepared *x)
{
	p->c.redeflated = true;
	p->c.codec = &codec_deflate;
	p->c.how = x->how;
	p->c.adler = x->adler;
	p->c.crc = crc32c(x->bytes, NDZ_HEADER_BYTES + (size_t)x->c.h.size);
	sha256(x->bytes, NDZ_CHUNK_BYTES, p->c.sha256);
	p->about.redeflated = true;
}

/* The head and the tail of a stream with fragments are in the recipe, not in fragments. */
static void
describe_ends(struct put *p, const struct prepared *x)
{
	const uint8_t *stream = x->bytes + NDZ_HEADER_BYTES;
	const struct codec *codec = x->c.codec;

	p->c.codec = codec;
	memcpy(p->c.stream_head, stream, codec->head_bytes);
	memcpy(p->c.stream_tail, stream + x->stream_bytes - codec->tail_bytes,
	    codec->tail_bytes);
}

int
put_describe(struct put *p, const struct prepared *x, struct err *e)
{
	struct buf spare = { 0 };
	size_t recipe_at = p->block.len;
	int rc = 0;

	p->c.header = x->bytes;
	p->c.header_bytes = NDZ_HEADER_BYTES;
	while (p->c.header_bytes > 0 && x->bytes[p->c.header_bytes - 1] == 0)
		p->c.header_bytes--;
	p->c.stream_bytes = x->stream_bytes;
	p->c.redeflated = false;
	p->c.table = EXT_TABLE_NONE;
	p->c.codec = NULL;
	if (x->kind == PREPARED_REDEFLATED)
		describe_redeflated(p, x);
	else if (x->kind == PREPARED_FRAGMENTS)
		describe_ends(p, x);
	if (!p->c.redeflated)
		rc = describe_rest(p, x, &spare, e);
	if (rc == 0) {
		recipe_put_chunk(&p->block, &p->c);
		rc = buf_ok(&p->block) ? compare(p, recipe_at, x, e)
		                       : err_nomem(e, "a recipe");
	}
	buf_free(&spare);
	return rc;
}
