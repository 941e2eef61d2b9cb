/* Fragments of every kind, size and level; streams made of them; damage.
 * test_deflate_zlib.c runs the same over the fall-back. */
#include "common/image/codec/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/t.h"
#include "tests/unit/sample.h"

enum { RAW_MAX = 72000, STREAM_FRAGMENTS = 25 };

static size_t
random_size(void)
{
	switch (draw(8)) {
	case 0:
		return 1 + draw(40);
	case 1:
		return 1 + draw(RAW_MAX - 1);
	case 2:
		return 512 * (1 + draw(128));
	default:
		return 1 + draw(3000);
	}
}

/* A stream of fragments, and what is in it. */
struct made {
	uint8_t *raw, *bytes;
	size_t raw_bytes, nbytes;
};

static void
make_stream(struct made *m, struct deflater *d, int level)
{
	uint32_t adler = 1;

	m->raw_bytes = 0;
	m->nbytes = STREAM_HEAD_BYTES;
	deflate_stream_head(level, m->bytes);
	for (int i = 0; i < STREAM_FRAGMENTS; i++) {
		uint8_t *raw = m->raw + m->raw_bytes;
		size_t n = random_size(), cap = deflater_bound(n);
		unsigned kind = draw(SAMPLE_KINDS);

		for (size_t k = 0; k < n; k++)
			raw[k] = sample_byte(raw, k, kind);
		/* The byte behind the room that was given stays. */
		m->bytes[m->nbytes + cap] = 0xa5;
		size_t len = deflater_fragment(d, raw, n, m->bytes + m->nbytes, cap);
		if (len > cap || m->bytes[m->nbytes + cap] != 0xa5)
			T_CHECK(!"a fragment is longer than its bound");
		m->nbytes += len;
		m->raw_bytes += n;
		adler = adler_combine(adler, adler_of(raw, n), n);
	}
	deflate_stream_tail(adler, m->bytes + m->nbytes);
	m->nbytes += STREAM_TAIL_BYTES;
}

/* By plain zlib, which must also use up the stream to its last byte. */
static bool
zlib_agrees(const struct made *m, uint8_t *back)
{
	uLongf len = m->raw_bytes;
	uLong used = m->nbytes;

	return uncompress2(back, &len, m->bytes, &used) == Z_OK &&
	       len == m->raw_bytes && used == m->nbytes &&
	       memcmp(back, m->raw, len) == 0;
}

struct compared {
	const uint8_t *want;
	size_t at;
	bool good;
};

static int
compare_piece(void *arg, void *data, size_t n, struct err *e)
{
	struct compared *c = arg;

	c->good &= c->at % (256 * 1024) == 0 && n <= 256 * 1024 &&
	           memcmp(c->want + c->at, data, n) == 0;
	c->at += n;
	return c->at > 1000000 ? err_set(e, ERR_CANCELLED, "enough") : 0;
}

static bool
ours_agree(struct inflater *f, const struct made *m, uint8_t *back)
{
	struct compared c = { .want = m->raw, .good = true };
	struct err e;

	memset(back, 0xee, m->raw_bytes + 1);
	if (inflater_stream(f, m->bytes, m->nbytes, back, m->raw_bytes, &e) != 0 ||
	    memcmp(back, m->raw, m->raw_bytes) != 0 || back[m->raw_bytes] != 0xee)
		return false;
	int rc = inflater_pieces(
	    f, m->bytes, m->nbytes, m->raw_bytes, compare_piece, &c, &e);
	if (m->raw_bytes > 1000000)
		return rc != 0 && e.kind == ERR_CANCELLED && c.good;
	return rc == 0 && c.good && c.at == m->raw_bytes;
}

static int
count_bytes(void *arg, void *data, size_t n, struct err *e)
{
	size_t *bytes = arg;

	(void)data, (void)e;
	*bytes += n;
	return 0;
}

/* And in pieces, no byte comes that the caller has no place for. */
static bool
refused(
    struct inflater *f, const uint8_t *in, size_t n, uint8_t *back, size_t raw_bytes)
{
	size_t came = 0;
	struct err a, b;

	return inflater_stream(f, in, n, back, raw_bytes, &a) != 0 &&
	       a.kind == ERR_FORMAT &&
	       inflater_pieces(f, in, n, raw_bytes, count_bytes, &came, &b) != 0 &&
	       b.kind == ERR_FORMAT && came <= raw_bytes;
}

/* Cut off, with a byte too much, for other lengths, with each bit of its head
 * and of its sum wrong. */
static bool
damage_is_refused(struct inflater *f, struct made *m, uint8_t *back)
{
	size_t n = m->nbytes, step = n < 4000 ? 1 : n / 40;
	bool good = refused(f, m->bytes, n, back, m->raw_bytes - 1) &&
	            refused(f, m->bytes, n, back, m->raw_bytes + 1) &&
	            refused(f, m->bytes, n + 1, back, m->raw_bytes);

	for (size_t cut = 0; cut < n; cut += cut + 16 < n && cut > 16 ? step : 1)
		good &= refused(f, m->bytes, cut, back, m->raw_bytes);
	for (size_t bit = 0; bit < 6 * 8; bit++) {
		size_t at = bit < 16 ? bit : n * 8 - 48 + bit;

		m->bytes[at / 8] ^= (uint8_t)(1 << at % 8);
		good &= refused(f, m->bytes, n, back, m->raw_bytes);
		m->bytes[at / 8] ^= (uint8_t)(1 << at % 8);
	}
	return good;
}

static void
test_level(int level, int rounds)
{
	size_t cap = (size_t)STREAM_FRAGMENTS * deflater_bound(RAW_MAX);
	struct made m = { .raw = malloc((size_t)STREAM_FRAGMENTS * RAW_MAX),
		.bytes = malloc(cap + 64) };
	uint8_t *back = malloc((size_t)STREAM_FRAGMENTS * RAW_MAX + 2);
	struct deflater *d = deflater_new(level);
	struct inflater *f = inflater_new();
	bool zlib_good = true, ours_good = true, damage = true;

	for (int i = 0; i < rounds; i++) {
		make_stream(&m, d, level);
		zlib_good &= zlib_agrees(&m, back);
		ours_good &= ours_agree(f, &m, back);
		if (i % 40 == 0)
			damage &= damage_is_refused(f, &m, back);
	}
	printf("# level %d: %d fragments\n", level, rounds * STREAM_FRAGMENTS);
	T_CHECK(zlib_good);
	T_CHECK(ours_good);
	T_CHECK(damage);
	inflater_free(f);
	deflater_free(d);
	free(back);
	free(m.bytes);
	free(m.raw);
}

/* Against zlib's own sums. */
static void
test_adler(void)
{
	uint8_t *data = calloc(1, 200000);
	bool good = true;

	for (int i = 0; i < 500; i++) {
		size_t n = draw(100000), k = n == 0 ? 0 : draw((unsigned)n);

		memset(data, i % 3 == 0 ? 0xff : 0, n);
		for (int s = 0; s < 50 && n != 0; s++)
			data[draw((unsigned)n)] = (uint8_t)draw(256);
		uint32_t whole = (uint32_t)adler32_z(1, data, n);
		good &= adler_of(data, n) == whole;
		good &= adler_combine(adler_of(data, k), adler_of(data + k, n - k),
			    n - k) == whole;
	}
	memset(data, 0, 200000);
	for (size_t n = 0; n < 200000; n += 1 + n / 9)
		good &= adler_zeros(n) == adler_of(data, n);
	/* 10^12 zeros: as combined from 10^6 of 10^6. */
	uint32_t sum = 1, million = adler_zeros(1000000);
	for (int i = 0; i < 1000000; i++)
		sum = adler_combine(sum, million, 1000000);
	good &= sum == adler_zeros(1000000000000);
	good &= sum == adler_combine(1, adler_zeros(1000000000000), 1000000000000);
	T_CHECK(good);
	free(data);
}

int
main(int argc, char **argv)
{
	/* test_deflate FACTOR: that many times the usual fragments. */
	int factor = argc > 1 ? atoi(argv[1]) : 1;

	for (int level = 0; level <= 9; level++)
		test_level(level, factor * (level < 7 ? 20 : 6));
	test_adler();
	return t_done();
}
