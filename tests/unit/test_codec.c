/* Every codec: fragments of many windows that end behind any of them, runs of
 * zeros, whole streams for the libraries that define them, damage. */
#include "common/image/codec/codec.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifndef NO_ZSTD
#include <zstd.h>
#endif

#include "common/image/format/format.h"
#include "tests/t.h"
#include "tests/unit/sample.h"

enum {
	RAW_MAX = CODEC_WINDOWS_MAX * FRAGMENT_WINDOW_BYTES,
	OUT_MAX = CODEC_WINDOWS_MAX * (FRAGMENT_WINDOW_BYTES + 4096),
	GUARD = 0xa5,
};

static uint8_t raw[RAW_MAX], out[OUT_MAX], back[RAW_MAX + 1];

struct made {
	size_t raw_bytes, bytes;
};

/* A fragment of `planned` windows that ends behind `kept`, in raw and out. */
static struct made
make(const struct codec *c, void *encoder, unsigned planned, unsigned kept, bool *good)
{
	size_t sizes[CODEC_WINDOWS_MAX], all = 0;
	struct made m = { 0 };

	for (unsigned i = 0; i < planned; i++) {
		sizes[i] = draw(3) != 0 ? FRAGMENT_WINDOW_BYTES
		                       : SECTOR_BYTES * (1 + draw(128));
		sample_fill(raw + all, sizes[i], draw(SAMPLE_KINDS));
		all += sizes[i];
	}
	/* What comes behind the cut is thrown away, but was compressed. */
	size_t at = 0, raw_at = 0;
	for (unsigned i = 0; i < planned; i++) {
		size_t cap = c->bound(sizes[i]);
		out[at + cap] = GUARD;
		size_t n = c->window(
		    encoder, i == 0 ? all : 0, raw + raw_at, sizes[i], out + at, cap);
		*good &= n > 0 && n <= cap && out[at + cap] == GUARD;
		at += n;
		raw_at += sizes[i];
		if (i + 1 == kept)
			m = (struct made){ raw_at, at };
	}
	c->end(out, m.bytes);
	return m;
}

static bool
decodes(struct decoder *d, const struct codec *c, const uint8_t *in, size_t n,
    size_t raw_bytes)
{
	struct err e;

	memset(back, 0xee, sizeof back);
	int rc = decoder_fragment(d, c, in, n, back, raw_bytes, &e);
	if (rc != 0 && e.kind != ERR_FORMAT)
		T_CHECK(!"another kind of error");
	return rc == 0;
}

static bool
damage_is_refused(struct decoder *d, const struct codec *c, struct made m)
{
	size_t step = m.bytes < 3000 ? 1 : m.bytes / 60;
	bool good = !decodes(d, c, out, m.bytes, m.raw_bytes - 1) &&
	            !decodes(d, c, out, m.bytes, m.raw_bytes + 1);

	for (size_t cut = 0; cut < m.bytes;
	     cut += cut < 32 || cut + 32 > m.bytes ? 1 : step) {
		uint8_t *copy = malloc(cut + 1); /* so that reading behind it shows */
		memcpy(copy, out, cut);
		/* An empty stored block at the end is nothing that a fragment of
		 * deflate needs; without it, it is still all the data. */
		good &= !decodes(d, c, copy, cut, m.raw_bytes) ||
		        (c->id == CODEC_DEFLATE && cut + 6 > m.bytes);
		free(copy);
	}
	return good;
}

static void
test_fragments(const struct codec *c, int level, int rounds)
{
	struct decoder *d = decoder_new();
	void *encoder = c->encoder_new(level);
	bool bounds = true, same = true, damage = true;

	for (int i = 0; i < rounds; i++) {
		unsigned planned = 1 + draw(c->windows), kept = 1 + draw(planned);
		struct made m = make(c, encoder, planned, kept, &bounds);
		same &= decodes(d, c, out, m.bytes, m.raw_bytes) &&
		        memcmp(back, raw, m.raw_bytes) == 0 &&
		        back[m.raw_bytes] == 0xee;
		if (i % 8 == 0)
			damage &= damage_is_refused(d, c, m);
	}
	printf("# %s:%d\n", c->name, level);
	T_CHECK(bounds);
	T_CHECK(same);
	T_CHECK(damage);
	c->encoder_free(encoder);
	decoder_free(d);
}

/* What an encoder makes does not depend on where it lies in memory, nor on what it did
 * before: many windows that begin with what comes again at once, for ISA-L's position 2
 * (codec_igzip.c). */
static void
test_same_bytes(const struct codec *c, int level)
{
	enum { ROUNDS = 20000, WINDOW = 4096, AGAIN = 40, CAP = 8192 };
	static uint8_t one[CAP], other[CAP], waste[CAP];
	uint8_t *window = raw;
	void *a = c->encoder_new(level), *b = c->encoder_new(level);
	unsigned differ = 0;

	sample_fill(window, WINDOW, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < 12; k++)
			window[k] = window[AGAIN + k] = window[2 * AGAIN + k + 1] =
			    (uint8_t)draw(256);
		size_t bytes = (size_t)SECTOR_BYTES << draw(4);
		size_t n = c->window(a, bytes, window, bytes, one, CAP);
		size_t m = c->window(b, bytes, window, bytes, other, CAP);
		differ += n != m || memcmp(one, other, n) != 0;
		if (i % 64 == 0)
			c->window(b, WINDOW, raw + WINDOW, WINDOW, waste, CAP);
	}
	printf("# %s:%d, %u windows differ\n", c->name, level, differ);
	T_CHECK(differ == 0);
	c->encoder_free(a);
	c->encoder_free(b);
}

static bool
only_zeros_pass(const struct codec *c, uint8_t *in, size_t len, uint64_t n)
{
	bool good = c->is_zeros(in, len, n) && !c->is_zeros(in, len, n + 1) &&
	            !c->is_zeros(in, len - 1, n) && !c->is_zeros(in, len, n - 1);

	for (size_t bit = 0; bit < len * 8; bit++) {
		in[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good &= !c->is_zeros(in, len, n);
		in[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return good;
}

static void
test_zeros(const struct codec *c)
{
	static const uint64_t sizes[] = { 512, 65536, 131071, 131072, 131073, 262144,
		1048576 };
	struct decoder *d = decoder_new();
	bool good = true;

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t len = c->zeros_bytes(sizes[i]);
		out[len] = GUARD;
		c->zeros(sizes[i], out);
		good &= out[len] == GUARD && decodes(d, c, out, len, (size_t)sizes[i]);
		for (size_t k = 0; k < sizes[i]; k++)
			good &= back[k] == 0;
		good &= only_zeros_pass(c, out, len, sizes[i]);
		/* A header may promise no more than this. */
		good &= sizes[i] <= c->ratio_max * len;
	}
	T_CHECK(good);
	T_CHECK(c->zeros_bytes(1000000000) < NDZ_STREAM_MAX - 2000);
	T_CHECK(!c->is_zeros(out, 0, 0));
	T_CHECK(!c->is_zeros(out, 5, UINT64_MAX));
	decoder_free(d);
}

/* Head, fragments, zeros, tail: into stream; their data into data. */
static size_t
make_stream(const struct codec *c, uint8_t *stream, uint8_t *data, size_t *data_bytes)
{
	void *encoder = c->encoder_new(c->level_default);
	size_t at = c->head_bytes;
	uint32_t adler = 1;
	bool good = true;

	c->head(c->level_default, stream);
	*data_bytes = 0;
	for (int i = 0; i < 12; i++) {
		struct made m = make(
		    c, encoder, c->windows, 1 + draw(c->windows), &good);
		if (i % 4 == 3) {
			m = (struct made){ 300000, c->zeros_bytes(300000) };
			memset(raw, 0, m.raw_bytes);
			c->zeros(m.raw_bytes, out);
		}
		memcpy(stream + at, out, m.bytes);
		memcpy(data + *data_bytes, raw, m.raw_bytes);
		adler = adler_combine(adler, adler_of(raw, m.raw_bytes), m.raw_bytes);
		at += m.bytes;
		*data_bytes += m.raw_bytes;
	}
	c->tail(adler, stream + at);
	c->encoder_free(encoder);
	T_CHECK(good);
	T_CHECK(c->head_bytes <= CODEC_ENDS_BYTES);
	T_CHECK(c->tail_bytes <= CODEC_ENDS_BYTES);
	return at + c->tail_bytes;
}

/* By the library that others would take. */
static bool
library_reads(
    const struct codec *c, const uint8_t *stream, size_t n, uint8_t *to, size_t want)
{
	uLongf len = want;

#ifndef NO_ZSTD
	if (c->id == CODEC_ZSTD)
		return ZSTD_decompress(to, want, stream, n) == want;
#endif
	return c->id == CODEC_DEFLATE && uncompress(to, &len, stream, n) == Z_OK &&
	       len == want;
}

static void
test_stream(const struct codec *c)
{
	uint8_t *stream = malloc((size_t)12 * OUT_MAX),
		*data = malloc((size_t)12 * RAW_MAX);
	uint8_t *read = malloc((size_t)12 * RAW_MAX);
	size_t data_bytes, n = make_stream(c, stream, data, &data_bytes);

	T_CHECK(library_reads(c, stream, n, read, data_bytes));
	T_CHECK(memcmp(read, data, data_bytes) == 0);
	free(stream);
	free(data);
	free(read);
}

/* One that a build may lack. */
static void
check_perhaps(const struct codec *codec, const char *text, int level)
{
	struct codec_choice c;
	struct err e;

	int rc = codec_parse(&c, text, &e);
	if (codec->lacks == NULL) {
		T_CHECK(rc == 0);
		T_CHECK(c.codec == codec);
		T_CHECK(c.level == level);
	} else {
		T_CHECK(rc != 0);
		T_CHECK(e.kind == ERR_UNSUPPORTED);
	}
}

static void
test_parse(void)
{
	static const char *const wrong[] = { "", "gzip", "zstd:", "zstd:0", "zstd:20",
		"zstd:3x", "deflate:10", "deflate:-1", "igzip:4", "zst", "zstd3", ":3",
		"deflate:6:" };
	struct codec_choice c;
	struct err e;

	T_CHECK(codec_parse(&c, "deflate", &e) == 0);
	T_CHECK(c.codec == &codec_deflate);
	T_CHECK(c.level == DEFLATE_LEVEL_DEFAULT);
	T_CHECK(codec_parse(&c, "deflate:0", &e) == 0);
	T_CHECK(c.level == 0);
	check_perhaps(&codec_igzip, "igzip", 1);
	check_perhaps(&codec_zstd, "zstd:19", 19);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		T_CHECK(codec_parse(&c, wrong[i], &e) != 0);
		T_CHECK(e.kind == ERR_USAGE);
	}
	T_CHECK(codec_by_id(1) == &codec_deflate);
	T_CHECK(codec_by_id(2) == &codec_zstd);
	T_CHECK(codec_by_id(0) == NULL);
	T_CHECK(codec_by_id(3) == NULL);
}

static void
test_codec(const struct codec *c)
{
	int step = c->id == CODEC_ZSTD ? 4 : 1;

	if (c->lacks != NULL) {
		printf("# without %s\n", c->lacks);
		return;
	}
	test_fragments(c, c->level_default, 120 / (int)c->windows + 16);
	for (int level = c->level_min; level <= c->level_max; level += step)
		test_fragments(c, level, level < 7 ? 12 : 4);
	test_zeros(c);
	test_stream(c);
}

int
main(void)
{
	test_parse();
	test_codec(&codec_deflate);
	test_codec(&codec_igzip);
	test_codec(&codec_zstd);
	for (int level = 0; codec_igzip.lacks == NULL && level <= codec_igzip.level_max;
	     level++)
		test_same_bytes(&codec_igzip, level);
	return t_done();
}
