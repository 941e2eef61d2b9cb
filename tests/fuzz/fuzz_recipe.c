/* Recipes.  The first byte tells whether the rest is an image's record or a block's
 * chunks.  What is accepted keeps its promises and survives being written again. */
#include "emustore/store/recipe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Are they equal?  What is between the members says nothing. */
static bool
same_pieces(const struct recipe_piece *a, const struct recipe_piece *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].zero != b[i].zero || a[i].number != b[i].number ||
		    a[i].windows != b[i].windows || a[i].raw_bytes != b[i].raw_bytes)
			return false;
	return true;
}

static void
check_chunk(const struct recipe_chunk *c)
{
	struct recipe_chunk back = { 0 };
	struct buf b = { 0 };
	struct err e;
	size_t table = c->table != EXT_TABLE_NONE ? c->npieces * EXT_ENTRY_BYTES : 0;

	if (c->header_bytes > NDZ_HEADER_BYTES || c->npieces == 0 ||
	    c->table_at > c->rest_bytes ||
	    NDZ_HEADER_BYTES + (size_t)c->stream_bytes + c->rest_bytes + table >
		NDZ_CHUNK_BYTES)
		abort();
	recipe_put_chunk(&b, c);
	struct rd r = rd_from(b.base, b.len);
	if (!buf_ok(&b) || recipe_get_chunk(&back, &r, &e) != 0 || !rd_done(&r))
		abort();
	if (back.crc != c->crc || back.codec != c->codec ||
	    back.npieces != c->npieces || back.rest_bytes != c->rest_bytes ||
	    !same_pieces(back.pieces, c->pieces, c->npieces) ||
	    memcmp(back.header, c->header, c->header_bytes) != 0 ||
	    back.redeflated != c->redeflated || back.table != c->table ||
	    (c->redeflated &&
		(memcmp(&back.how, &c->how, sizeof c->how) != 0 ||
		    back.adler != c->adler ||
		    memcmp(back.sha256, c->sha256, sizeof c->sha256) != 0)))
		abort();
	recipe_chunk_free(&back);
	buf_free(&b);
}

static void
read_chunks(struct rd r)
{
	struct recipe_chunk c = { 0 };
	struct err e;

	for (int i = 0; i < RECIPE_BLOCK_CHUNKS && rd_left(&r) > 0; i++) {
		if (recipe_get_chunk(&c, &r, &e) != 0)
			break;
		check_chunk(&c);
	}
	recipe_chunk_free(&c);
}

static void
read_image(struct rd r)
{
	static struct recipe_image image, back;
	struct recipe_block k;
	struct buf b = { 0 };
	struct err e;

	if (recipe_get_image(&image, &r, &e) != 0)
		return;
	recipe_put_image(&b, &image);
	struct rd again = rd_from(b.base, b.len);
	if (!buf_ok(&b) || recipe_get_image(&back, &again, &e) != 0 ||
	    !rd_done(&again) || strcmp(back.name.name, image.name.name) != 0 ||
	    back.nlabels != image.nlabels)
		abort();
	while (recipe_get_block(&k, &r, &e) == 1)
		if (recipe_unpack(&k, &b, &e) == 0)
			read_chunks(rd_from(b.base, b.len));
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	struct rd r = rd_from(data + 1, len - 1);
	if (data[0] == 0)
		read_image(r);
	else
		read_chunks(r);
	return 0;
}
