/* Data that a store has in compressed form is given out by the digest of the data.  A fragment whose
 * head says something else than its data is found before it is copied into a store. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "emustore/store/headcheck.h"
#include "emustore/store/put.h"
#include "emustore/store/writer.h"
#include "tests/unit/scratch.h"

enum { DATA_BYTES = 65536 };

static uint8_t honest[DATA_BYTES], wanted[DATA_BYTES], other[DATA_BYTES];
static char path[200];

/* Data that compresses well, and differs by `seed`. */
static void
fill(uint8_t *data, unsigned seed)
{
	for (unsigned i = 0; i < DATA_BYTES; i++)
		data[i] = (uint8_t)(i / 64 * seed + i % 7);
}

static size_t
deflated(const uint8_t *data, uint8_t out[2 * DATA_BYTES])
{
	const struct codec *c = &codec_deflate;
	void *encoder = c->encoder_new(c->level_default);

	T_CHECK(c->bound(DATA_BYTES) <= 2 * DATA_BYTES);
	size_t n = c->window(encoder, DATA_BYTES, data, DATA_BYTES, out, c->bound(DATA_BYTES));
	c->end(out, n);
	c->encoder_free(encoder);
	return n;
}

/* Make a fragment of `data` whose head is that of `says`. */
static struct pack_fragment
make(const uint8_t *says, const uint8_t *data, uint8_t bytes[2 * DATA_BYTES])
{
	struct pack_fragment f = { .bytes = (uint32_t)deflated(data, bytes) };
	uint8_t digest[SHA256_BYTES];

	sha256(bytes, f.bytes, f.head.sha256);
	sha256(says, DATA_BYTES, digest);
	memcpy(f.head.raw_digest, digest, sizeof f.head.raw_digest);
	f.head.raw_bytes = DATA_BYTES;
	f.head.adler = adler_of(says, DATA_BYTES);
	return f;
}

static int
checks(struct headcheck *h, const uint8_t *says, const uint8_t *data, struct err *e)
{
	static uint8_t bytes[2 * DATA_BYTES];
	struct pack_fragment f = make(says, data, bytes);

	return headcheck_fragment(h, &f.head, bytes, f.bytes, e);
}

/* A head that says nothing of its data belongs to a whole stream alone. */
static void
test_headless(struct headcheck *h)
{
	static uint8_t bytes[2 * DATA_BYTES], encrypted[NDZ_STREAM_MAX];
	struct pack_fragment f = make(honest, honest, bytes);
	struct err e;

	f.head.raw_bytes = 0;
	T_CHECK(headcheck_fragment(h, &f.head, bytes, f.bytes, &e) == -1 && e.kind == ERR_FORMAT);
	T_CHECK(headcheck_fragment(h, &f.head, bytes, 1, &e) == -1);
	for (int level = 0; level <= 9; level++) {
		uLongf n = sizeof bytes;
		T_CHECK(compress2(bytes, &n, honest, DATA_BYTES, level) == Z_OK);
		T_CHECK(headcheck_fragment(h, &f.head, bytes, n, &e) == 0);
	}
	T_CHECK(headcheck_fragment(h, &f.head, encrypted, sizeof encrypted, &e) == 0);
	T_CHECK(headcheck_fragment(h, &f.head, encrypted, sizeof encrypted - 1, &e) == -1);
}

/* What copy asks of each fragment of another store. */
static void
test_headcheck(void)
{
	struct headcheck *h = headcheck_new();
	struct err e;

	T_CHECK(h != NULL);
	T_CHECK(checks(h, honest, honest, &e) == 0);
	T_CHECK(checks(h, wanted, other, &e) == -1 && e.kind == ERR_FORMAT);
	test_headless(h);
	headcheck_free(h);
}

static bool
add_fragment(struct store *s, const uint8_t *data)
{
	static uint8_t bytes[2 * DATA_BYTES];
	struct pack_fragment f = make(data, data, bytes);
	struct err e;

	return writer_add(s->putting, &f, bytes, &e) == 0;
}

static size_t
known(struct put *p, const uint8_t *data, uint8_t out[2 * DATA_BYTES])
{
	uint8_t digest[SHA256_BYTES];

	sha256(data, DATA_BYTES, digest);
	return put_known(p, &codec_deflate, digest, DATA_BYTES, out, 2 * DATA_BYTES);
}

static void
test_precompressed(struct store *s)
{
	static uint8_t out[2 * DATA_BYTES], expected[2 * DATA_BYTES];
	static struct recipe_image about;
	const struct put_config cfg = { .jobs = 1 };
	struct put *p;
	struct err e;

	T_CHECK(store_name_get(&about.name, "x", &e) == 0);
	T_CHECK(put_begin(&p, s, &about, &cfg, &e) == 0);
	size_t n = known(p, honest, out);
	T_CHECK(n > 0 && n == deflated(honest, expected));
	T_CHECK(memcmp(out, expected, n) == 0);
	T_CHECK(known(p, wanted, out) == 0); /* nobody has put it */
	put_free(p);
}

int
main(void)
{
	struct store s;
	struct err e;

	scratch_init();
	snprintf(path, sizeof path, "%s/store", scratch_dir);
	fill(honest, 3);
	fill(wanted, 5);
	fill(other, 9);
	test_headcheck();
	T_CHECK(store_init(path, 0, 0, &e, &e) == 0);
	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(store_begin(&s, &e) == 0);
	T_CHECK(add_fragment(&s, honest));
	T_CHECK(store_commit(&s, &e) == 0);
	store_close(&s);
	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(store_begin(&s, &e) == 0);
	test_precompressed(&s);
	store_close(&s);
	scratch_done();
	return t_done();
}
