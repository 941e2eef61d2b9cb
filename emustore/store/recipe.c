/* recipe.c: makes and reads recipes.  Called by put, copy and refresh.c, and by all that
 * read an image (stored.c), each in its own thread. */
#include "emustore/store/recipe.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/grow.h"

enum {
	FLAG_TABLE = 128, /* the flags below 32 are the codec; 0: none */
	FLAG_REDEFLATED = 64,
	FLAG_SECTORS = 32, /* with FLAG_TABLE: the table counts sectors */
	RATIO_MAX = 1032, /* the most that zlib compresses; bounds the blocks */
	IMAGE_VERSION = 1,
	IMAGE_VERSION_REDEFLATED = 2, /* the image has chunks that are redeflated */
	BLOCK_LEVEL = 6,
	/* The most that the recipe of one chunk can have: no chunk has more pieces than
	 * EXT_FRAGMENTS_MAX, and its other bytes are part of the chunk itself. */
	CHUNK_PLAIN_MAX = NDZ_CHUNK_BYTES + 20 * EXT_FRAGMENTS_MAX + 64,
};

void
recipe_chunk_free(struct recipe_chunk *c)
{
	free(c->pieces);
	*c = (struct recipe_chunk){ 0 };
}

int
recipe_add_piece(struct recipe_chunk *c, const struct recipe_piece *p, struct err *e)
{
	if (grow_array(&c->pieces, &c->cap, c->npieces, sizeof *c->pieces, "a recipe", e) != 0)
		return -1;
	c->pieces[c->npieces++] = *p;
	return 0;
}

/* Write one piece.  A fragment is written as the difference between its number and the
 * expected number, which is the one after the last fragment's: mostly 0. */
static void
put_piece(struct buf *b, const struct recipe_piece *p, uint64_t *expected)
{
	if (p->zero) {
		buf_number(b, p->windows << 1 | 1);
		buf_number(b, p->raw_bytes);
		return;
	}
	int64_t d = (int64_t)(p->number - *expected);
	uint64_t zigzag = (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
	buf_number(b, zigzag << 1);
	*expected = p->number + 1;
}

static void
get_piece(struct recipe_piece *p, struct rd *r, uint64_t *expected)
{
	uint64_t v = rd_number(r);

	*p = (struct recipe_piece){ .zero = (v & 1) != 0 };
	if (p->zero) {
		p->windows = v >> 1;
		p->raw_bytes = rd_number(r);
		return;
	}
	uint64_t zigzag = v >> 1;
	p->number = *expected + ((zigzag >> 1) ^ (0 - (zigzag & 1)));
	*expected = p->number + 1;
}

static void
put_redeflated(struct buf *b, const struct recipe_chunk *c)
{
	size_t n = strlen(c->how.zlib);

	buf_bytes(
	    b, (uint8_t[]){ c->how.rule, c->how.level, c->how.memory, (uint8_t)n }, 4);
	buf_bytes(b, c->how.zlib, n);
	buf_le32(b, c->adler);
	buf_bytes(b, c->sha256, sizeof c->sha256);
}

static int
get_redeflated(struct recipe_chunk *c, struct rd *r, struct err *e)
{
	c->how = (struct redeflate_how){ 0 };
	c->how.rule = rd_u8(r);
	c->how.level = rd_u8(r);
	c->how.memory = rd_u8(r);
	size_t n = rd_u8(r);
	bool good = n <= REDEFLATE_VERSION_MAX && c->how.rule != 0 &&
	            c->how.rule <= REDEFLATE_RULE_MAX &&
	            c->how.level <= REDEFLATE_LEVEL_MAX && c->how.memory != 0 &&
	            c->how.memory <= REDEFLATE_MEMORY_MAX;
	rd_copy(r, c->how.zlib, good ? n : 0);
	for (size_t i = 0; i < n && good; i++)
		good = c->how.zlib[i] > ' ' && c->how.zlib[i] < 0x7f;
	c->adler = rd_le32(r);
	rd_copy(r, c->sha256, sizeof c->sha256);
	c->rest = NULL;
	c->rest_bytes = c->table_at = 0;
	if (good && rd_ok(r) && c->stream_bytes > 0 &&
	    c->header_bytes <= NDZ_HEADER_BYTES)
		return 0;
	return err_set(e, ERR_FORMAT, "a recipe has invalid zlib parameters");
}

void
recipe_put_chunk(struct buf *b, const struct recipe_chunk *c)
{
	uint64_t expected = 0;
	uint8_t flags = (uint8_t)((c->codec != NULL ? c->codec->id : 0) |
				  (c->table != EXT_TABLE_NONE ? FLAG_TABLE : 0) |
				  (c->table == EXT_TABLE_SECTORS ? FLAG_SECTORS : 0) |
				  (c->redeflated ? FLAG_REDEFLATED : 0));

	buf_bytes(b, &flags, 1);
	buf_le32(b, c->crc);
	buf_number(b, c->header_bytes);
	buf_bytes(b, c->header, c->header_bytes);
	buf_number(b, c->stream_bytes);
	buf_number(b, c->npieces);
	for (size_t i = 0; i < c->npieces; i++)
		put_piece(b, &c->pieces[i], &expected);
	if (c->redeflated) {
		put_redeflated(b, c);
		return;
	}
	if (c->codec != NULL) {
		buf_bytes(b, c->stream_head, c->codec->head_bytes);
		buf_bytes(b, c->stream_tail, c->codec->tail_bytes);
	}
	buf_number(b, c->rest_bytes);
	buf_bytes(b, c->rest, c->rest_bytes);
	if (c->table != EXT_TABLE_NONE)
		buf_number(b, c->table_at);
}

static int
get_pieces(struct recipe_chunk *c, struct rd *r, struct err *e)
{
	uint64_t expected = 0, n = rd_number(r);
	struct recipe_piece p;

	c->npieces = 0;
	if (n == 0 || n > EXT_FRAGMENTS_MAX || !rd_can_hold(r, n, 1))
		return err_set(e, ERR_FORMAT, "a recipe has too many fragments");
	for (uint64_t i = 0; i < n; i++) {
		get_piece(&p, r, &expected);
		if (p.zero && (c->codec == NULL || p.raw_bytes == 0 ||
				  p.raw_bytes > NDZ_STREAM_MAX * c->codec->ratio_max))
			return err_set(
			    e, ERR_FORMAT, "a recipe has an invalid run of zeros");
		if (recipe_add_piece(c, &p, e) != 0)
			return -1;
	}
	return 0;
}

static const uint8_t *
get_part(struct rd *r, size_t *n)
{
	uint64_t len = rd_number(r);

	*n = rd_can_hold(r, len, 1) ? (size_t)len : SIZE_MAX;
	return rd_bytes(r, *n);
}

int
recipe_get_chunk(struct recipe_chunk *c, struct rd *r, struct err *e)
{
	uint8_t flags = rd_u8(r);

	bool table = (flags & FLAG_TABLE) != 0, sectors = (flags & FLAG_SECTORS) != 0;

	c->table = !table    ? EXT_TABLE_NONE
	           : sectors ? EXT_TABLE_SECTORS
	                     : EXT_TABLE_WINDOWS;
	c->redeflated = (flags & FLAG_REDEFLATED) != 0;
	flags &= (uint8_t) ~(FLAG_TABLE | FLAG_REDEFLATED | FLAG_SECTORS);
	c->codec = flags != 0 ? codec_by_id(flags) : NULL;
	c->crc = rd_le32(r);
	c->header = get_part(r, &c->header_bytes);
	uint64_t stream_bytes = rd_number(r);
	if (!rd_ok(r) || (flags != 0 && c->codec == NULL) ||
	    (c->redeflated && (table || c->codec == NULL)) || (sectors && !table) ||
	    stream_bytes > NDZ_STREAM_MAX)
		return err_set(e, ERR_FORMAT, "a recipe has an invalid chunk");
	c->stream_bytes = (uint32_t)stream_bytes;
	if (get_pieces(c, r, e) != 0)
		return -1;
	if (c->redeflated)
		return get_redeflated(c, r, e);
	if (c->codec != NULL) {
		rd_copy(r, c->stream_head, c->codec->head_bytes);
		rd_copy(r, c->stream_tail, c->codec->tail_bytes);
	}
	c->rest = get_part(r, &c->rest_bytes);
	c->table_at = table ? rd_number(r) : 0;
	size_t table_bytes = table ? c->npieces * EXT_ENTRY_BYTES : 0;
	if (!rd_ok(r) || c->header_bytes > NDZ_HEADER_BYTES ||
	    c->table_at > c->rest_bytes ||
	    c->rest_bytes + table_bytes > (size_t)NDZ_STREAM_MAX - c->stream_bytes)
		return err_set(e, ERR_FORMAT, "a recipe's chunk does not fit 1 MiB");
	return 0;
}

static void
put_text(struct buf *b, const char *s)
{
	buf_le16(b, (uint16_t)strlen(s));
	buf_bytes(b, s, strlen(s));
}

/* Read a text into out[cap].  Control characters, and a text that is too long, are damage:
 * this program never writes them. */
static void
get_text(struct rd *r, char *out, size_t cap)
{
	size_t n = rd_le16(r);
	const char *s = rd_bytes(r, n);

	out[0] = '\0';
	if (s == NULL)
		return;
	bool bad = n >= cap;
	for (size_t i = 0; i < n && !bad; i++)
		bad = (unsigned char)s[i] < ' ' || s[i] == 0x7f;
	if (bad) {
		r->failed = true;
		return;
	}
	memcpy(out, s, n);
	out[n] = '\0';
}

void
recipe_put_image(struct buf *b, const struct recipe_image *i)
{
	buf_le32(b, i->redeflated ? IMAGE_VERSION_REDEFLATED : IMAGE_VERSION);
	buf_le32(b, i->name.version);
	buf_le64(b, i->put_at);
	buf_le64(b, i->data_bytes);
	buf_le32(b, i->chunks);
	buf_bytes(b, i->sha256, sizeof i->sha256);
	put_text(b, i->name.name);
	put_text(b, i->parent);
	buf_le16(b, (uint16_t)i->nlabels);
	for (unsigned n = 0; n < i->nlabels; n++) {
		put_text(b, i->labels[n].key);
		put_text(b, i->labels[n].value);
	}
}

int
recipe_get_image(struct recipe_image *i, struct rd *r, struct err *e)
{
	struct store_name again;
	char name[STORE_NAME_MAX + 1];

	*i = (struct recipe_image){ 0 };
	uint32_t version = rd_le32(r);
	if (rd_ok(r) && version != IMAGE_VERSION && version != IMAGE_VERSION_REDEFLATED)
		return err_set(e, ERR_UNSUPPORTED,
		    "a recipe of version %u, which is newer than this "
		    "program",
		    version);
	i->redeflated = version == IMAGE_VERSION_REDEFLATED;
	i->name.version = rd_le32(r);
	i->put_at = rd_le64(r);
	i->data_bytes = rd_le64(r);
	i->chunks = rd_le32(r);
	rd_copy(r, i->sha256, sizeof i->sha256);
	get_text(r, name, sizeof name);
	get_text(r, i->parent, sizeof i->parent);
	i->nlabels = rd_le16(r);
	if (i->nlabels > RECIPE_LABELS_MAX)
		r->failed = true;
	for (unsigned n = 0; rd_ok(r) && n < i->nlabels; n++) {
		get_text(r, i->labels[n].key, sizeof i->labels[n].key);
		get_text(r, i->labels[n].value, sizeof i->labels[n].value);
	}
	if (!rd_ok(r) || i->name.version == 0 || i->name.version > INT32_MAX ||
	    i->chunks == 0 || i->chunks > INT32_MAX || strchr(name, ':') != NULL ||
	    store_name_get(&again, name, e) != 0)
		return err_set(
		    e, ERR_FORMAT, "a recipe has an invalid description of its image");
	memcpy(i->name.name, name, sizeof name);
	return 0;
}

int
recipe_put_block(struct buf *b, uint32_t chunks, const struct buf *plain, struct err *e)
{
	uLongf n = compressBound(plain->len);

	if (plain->failed || plain->len > UINT32_MAX / 2)
		return err_nomem(e, "a recipe");
	buf_le32(b, chunks);
	buf_le32(b, (uint32_t)plain->len);
	size_t size_at = b->len;
	buf_le32(b, 0);
	uint8_t *to = buf_room(b, n);
	if (to == NULL ||
	    compress2(to, &n, plain->base, plain->len, BLOCK_LEVEL) != Z_OK)
		return err_nomem(e, "a recipe");
	b->len = size_at;
	buf_le32(b, (uint32_t)n);
	b->len += n;
	return 0;
}

int
recipe_get_block(struct recipe_block *k, struct rd *r, struct err *e)
{
	if (rd_done(r))
		return 0;
	k->chunks = rd_le32(r);
	k->plain_bytes = rd_le32(r);
	k->packed_bytes = rd_le32(r);
	k->packed = rd_bytes(r, k->packed_bytes);
	if (!rd_ok(r) || k->chunks == 0 || k->chunks > RECIPE_BLOCK_CHUNKS ||
	    k->plain_bytes > k->chunks * (uint64_t)CHUNK_PLAIN_MAX ||
	    k->plain_bytes > (uint64_t)k->packed_bytes * RATIO_MAX)
		return err_set(e, ERR_FORMAT, "the recipe has an invalid block");
	return 1;
}

int
recipe_unpack(const struct recipe_block *k, struct buf *plain, struct err *e)
{
	uLongf n = k->plain_bytes;

	plain->len = 0;
	uint8_t *to = buf_room(plain, n + (n == 0));
	if (to == NULL)
		return err_nomem(e, "a recipe");
	if (uncompress(to, &n, k->packed, k->packed_bytes) != Z_OK ||
	    n != k->plain_bytes)
		return err_set(
		    e, ERR_FORMAT, "a block of the recipe cannot be decompressed");
	plain->len = n;
	return 0;
}
