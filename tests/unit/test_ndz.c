/* Fragments, zero runs, packer, extension: against plain zlib and a model. */
#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"
#include "common/image/write/packer.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tests/random.h"
#include "tests/t.h"

/* Bytes of several kinds: random, text-like, runs, zeros. */
static void
make_data(uint8_t *p, size_t n, unsigned kind)
{
	for (size_t i = 0; i < n; i++)
		switch (kind % 5) {
		case 0:
			p[i] = (uint8_t)draw(256);
			break;
		case 1:
			p[i] = (uint8_t)('a' + draw(6));
			break;
		case 2:
			p[i] = (uint8_t)(i / 100);
			break;
		case 3:
			p[i] = i > 40 && draw(9) ? p[i - 1 - draw(40)]
			                         : (uint8_t)draw(256);
			break;
		case 4:
			p[i] = 0;
			break;
		}
}

/* Many fragments side by side are one stream for zlib. */
static void
test_fragments(void)
{
	enum { N = 60, MAX = 70000 };
	uint8_t *raw = malloc((size_t)N * MAX), *out = malloc((size_t)N * (MAX + 1000)),
		*back;
	bool good = true;

	for (int level = 0; level <= 9; level++) {
		struct deflater *d = deflater_new(level);
		size_t in = 0, at = STREAM_HEAD_BYTES;
		uint32_t adler = 1;
		deflate_stream_head(level, out);
		for (int i = 0; i < N; i++) {
			size_t n = 1 + draw(i % 3 ? 3000 : MAX - 1);
			make_data(raw + in, n, (unsigned)draw(5));
			at += deflater_fragment(
			    d, raw + in, n, out + at, deflater_bound(n));
			adler = adler_combine(adler, adler_of(raw + in, n), n);
			in += n;
		}
		deflate_stream_tail(adler, out + at);
		at += STREAM_TAIL_BYTES;
		uLongf len = in;
		back = malloc(in);
		good &= uncompress(back, &len, out, at) == Z_OK && len == in &&
		        memcmp(back, raw, in) == 0;
		struct inflater *inf = inflater_new();
		struct err e;
		good &= inflater_stream(inf, out, at, back, in, &e) == 0;
		good &= inflater_pieces(inf, out, at, in, NULL, NULL, &e) == 0;
		/* Truncated, one byte too many, wrong sum: refused, both ways. */
		for (size_t cut = 1; cut < at; cut += 1 + at / 50)
			good &= inflater_stream(inf, out, cut, back, in, &e) != 0 &&
			        inflater_pieces(inf, out, cut, in, NULL, NULL, &e) != 0;
		good &= inflater_stream(inf, out, at, back, in - 1, &e) != 0;
		good &= inflater_pieces(inf, out, at, in - 1, NULL, NULL, &e) != 0;
		out[at - 1] ^= 1;
		good &= inflater_stream(inf, out, at, back, in, &e) != 0;
		good &= inflater_pieces(inf, out, at, in, NULL, NULL, &e) != 0;
		inflater_free(inf);
		deflater_free(d);
		free(back);
		T_CHECK(good);
	}
	free(raw);
	free(out);
}

/* Just these bytes, of just this run, and not one bit of them different. */
static bool
only_zeros_pass(uint8_t *in, size_t len, uint64_t n)
{
	bool good = deflate_is_zeros(in, len, n) && !deflate_is_zeros(in, len, n + 1) &&
	            !deflate_is_zeros(in, len - 1, n) &&
	            (n == 1 || !deflate_is_zeros(in, len, n - 1));

	for (size_t bit = 0; bit < len * 8; bit++) {
		in[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good &= !deflate_is_zeros(in, len, n);
		in[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return good;
}

static void
test_zeros(void)
{
	static const uint64_t sizes[] = { 1, 2, 257, 258, 259, 260, 512, 65536,
		65536 * 3 + 512, 10000000 };
	uint8_t *out = malloc(200000);

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		uint64_t n = sizes[i];
		size_t at = STREAM_HEAD_BYTES, len = deflate_zeros_bytes(n);
		deflate_stream_head(6, out);
		deflate_zeros(n, out + at);
		deflate_stream_tail(adler_zeros(n), out + at + len);
		uint8_t *back = malloc(n);
		memset(back, 1, n);
		uLongf got = n;
		T_CHECK(uncompress(back, &got, out, at + len + STREAM_TAIL_BYTES) == Z_OK);
		T_CHECK(got == n);
		bool zero = true;
		for (uint64_t k = 0; k < n; k++)
			zero &= back[k] == 0;
		T_CHECK(zero);
		T_CHECK(len <= n / 1032 + 120);
		T_CHECK(only_zeros_pass(out + at, len, n));
		free(back);
	}
	/* 10^9 zeros fit a chunk. */
	T_CHECK(deflate_zeros_bytes(1000000000) < NDZ_STREAM_MAX - 2000);
	free(out);
}

/* A model disk: which sectors are stored, and what they hold. */
struct model {
	uint64_t sectors;
	uint8_t *data;
	uint8_t *stored, *seen;
	uint32_t chunks, last_flags;
	uint64_t tiled;
	bool good;
};

/* Without its zero fragments, it is what it was with them. */
static bool
packed_is_the_same(
    const struct chunk *c, const void *bytes, struct decoder *dec, const uint8_t *raw)
{
	struct fragments f = fragments_of(c);
	uint8_t *packed = malloc(chunk_packed_bytes(c) + 1), *p = packed;
	struct err e;
	bool same = chunk_decode_packed(c, bytes, dec, packed, &e) == 0;

	while (fragments_next(&f)) {
		if (f.entry->zero)
			continue;
		same &= memcmp(p, raw + f.raw_at, f.raw_bytes) == 0;
		p += f.raw_bytes;
	}
	same &= p == packed + chunk_packed_bytes(c) && f.raw_at == c->raw_bytes;
	free(packed);
	return same;
}

static int
check_chunk(void *arg, const void *bytes, struct err *e)
{
	struct model *m = arg;
	struct chunk c;
	struct decoder *dec = decoder_new();

	if (chunk_parse(&c, bytes, e) != 0 || chunk_verify(&c, bytes, dec, e) != 0) {
		printf("# %s\n", e->text);
		m->good = false;
		decoder_free(dec);
		return 0;
	}
	uint8_t *raw = malloc(c.raw_bytes);
	m->good &= chunk_decode(&c, bytes, dec, raw, e) == 0;
	m->good &= packed_is_the_same(&c, bytes, dec, raw);
	m->good &= c.h.index == (int32_t)m->chunks && c.h.firstsect == m->tiled;
	m->tiled = c.h.lastsect;
	m->last_flags += c.ext.last && c.ext.nchunks == m->chunks + 1;
	m->good &= c.ext.present && c.ext.has_uuid && c.ext.has_digest;
	m->good &= c.ext.has_image == (m->chunks == 0);
	uint64_t at = 0;
	for (unsigned i = 0; i < c.h.nregions; i++)
		for (uint64_t s = c.h.regions[i].off; s < range_end(c.h.regions[i]);
		     s++, at += SECTOR_BYTES) {
			m->good &= m->stored[s] && !m->seen[s] &&
			           memcmp(raw + at, m->data + s * SECTOR_BYTES,
				       SECTOR_BYTES) == 0;
			m->seen[s] = 1;
		}
	m->chunks++;
	free(raw);
	chunk_free(&c);
	decoder_free(dec);
	return 0;
}

static void
feed_window(struct packer *p, struct model *m, struct deflater *d, uint64_t w)
{
	static uint8_t raw[FRAGMENT_WINDOW_BYTES], out[FRAGMENT_WINDOW_BYTES + 1024];
	struct window win = { 0 };
	struct fragment f = { .windows = &win, .nwindows = 1 };
	struct err e;
	size_t n = 0;

	for (uint64_t s = w * WINDOW_SECTORS;
	     s < (w + 1) * WINDOW_SECTORS && s < m->sectors; s++) {
		if (!m->stored[s])
			continue;
		if (win.nregions > 0 && range_end(win.regions[win.nregions - 1]) == s)
			win.regions[win.nregions - 1].len++;
		else
			win.regions[win.nregions++] = (struct range){ s, 1 };
		memcpy(raw + n, m->data + s * SECTOR_BYTES, SECTOR_BYTES);
		n += SECTOR_BYTES;
	}
	if (n == 0)
		return;
	f.zero = true;
	for (size_t i = 0; i < n; i++)
		f.zero &= raw[i] == 0;
	f.data = out;
	f.bytes = (uint32_t)deflater_fragment(d, raw, n, out, deflater_bound(n));
	f.adler = adler_of(raw, n);
	uint8_t digest[EVP_MAX_MD_SIZE];
	EVP_Digest(raw, n, digest, NULL, EVP_sha256(), NULL);
	memcpy(f.digest, digest, sizeof f.digest);
	T_CHECK(packer_add(p, &f, &e) == 0);
}

static void
test_packer(unsigned version, unsigned density, bool zeros)
{
	struct model m = { .sectors = 128 * 200 + 77, .good = true };
	struct packer_config cfg = { .version = version,
		.codec = { &codec_deflate, 1 },
		.emit = check_chunk,
		.arg = &m };
	struct packer *p;
	struct err e;
	uint64_t stored = 0, seen = 0;

	m.data = malloc(m.sectors * SECTOR_BYTES);
	m.stored = calloc(m.sectors, 1);
	m.seen = calloc(m.sectors, 1);
	make_data(m.data, m.sectors * SECTOR_BYTES, zeros ? 4 : 0);
	for (uint64_t s = 0; s < m.sectors; s++)
		stored += m.stored[s] = draw(100) < density;
	struct deflater *d = deflater_new(1);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	for (uint64_t w = 0; w * WINDOW_SECTORS < m.sectors; w++)
		feed_window(p, &m, d, w);
	T_CHECK(packer_finish(p, m.sectors, &e) == 0);
	for (uint64_t s = 0; s < m.sectors; s++)
		seen += m.seen[s];
	T_CHECK(m.good);
	T_CHECK(seen == stored);
	T_CHECK(m.tiled == m.sectors);
	T_CHECK(m.last_flags == 1);
	T_CHECK(m.chunks == packer_chunks(p));
	printf("# version %u, %u %%: %u chunks\n", version, density, m.chunks);
	packer_free(p);
	deflater_free(d);
	free(m.data);
	free(m.stored);
	free(m.seen);
}

/* One good chunk: every truncation of its extension and every bit flip of its
 * header and extension is noticed, or harmless. */
static int
keep_chunk(void *arg, const void *bytes, struct err *e)
{
	(void)e;
	memcpy(arg, bytes, NDZ_CHUNK_BYTES);
	return 0;
}

static void
test_damage(void)
{
	uint8_t *good = malloc(NDZ_CHUNK_BYTES), *bad = malloc(NDZ_CHUNK_BYTES);
	struct packer_config cfg = { .version = 3,
		.codec = { &codec_deflate, 6 },
		.emit = keep_chunk,
		.arg = good };
	struct packer *p;
	struct chunk c;
	struct err e;
	struct window win = { .nregions = 1, .regions = { { 0, 128 } } };
	struct fragment f = { .windows = &win, .nwindows = 1, .zero = true };
	struct decoder *dec = decoder_new();

	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(packer_add(p, &f, &e) == 0);
	struct ndz_reloc r = {
		.type = NDZ_RELOC_SHORT_SECTOR, .sector = 127, .size = 9
	};
	T_CHECK(packer_add_reloc(p, &r, &e) == 0);
	T_CHECK(packer_finish(p, 128, &e) == 0);
	packer_free(p);
	T_CHECK(chunk_parse(&c, good, &e) == 0);
	T_CHECK(chunk_verify(&c, good, dec, &e) == 0);
	T_CHECK(c.h.nrelocs == 1);
	T_CHECK(c.h.relocs[0].sector == 127);
	T_CHECK(c.h.relocs[0].size == 9);
	size_t stream_end = NDZ_HEADER_BYTES + c.h.size, used = NDZ_CHUNK_BYTES;
	size_t ext_at = (stream_end + 7) / 8 * 8;
	chunk_free(&c);
	while (good[used - 1] == 0)
		used--;
	unsigned wrong = 0, flips = 0;
	for (size_t at = 0; at < used * 8; at += at < 512 ? 1 : 3, flips++) {
		memcpy(bad, good, NDZ_CHUNK_BYTES);
		bad[at / 8] ^= (uint8_t)(1 << at % 8);
		if (chunk_parse(&c, bad, &e) != 0)
			continue;
		/* Losing the extension's magic makes it another writer's chunk; bytes
		 * between stream and extension are padding. */
		bool lost = at / 8 >= stream_end && at / 8 < ext_at + 8;
		wrong += chunk_verify(&c, bad, dec, &e) == 0 && !lost;
		chunk_free(&c);
	}
	printf("# %u flips\n", flips);
	T_CHECK(wrong == 0);
	for (size_t cut = 0; cut < used; cut++) {
		memcpy(bad, good, cut);
		memset(bad + cut, 0, NDZ_CHUNK_BYTES - cut);
		bool ok = chunk_parse(&c, bad, &e) == 0;
		bool whole = ok && chunk_verify(&c, bad, dec, &e) == 0;
		if (ok && whole && c.ext.present && memcmp(bad, good, used) != 0)
			wrong++;
		if (ok)
			chunk_free(&c);
	}
	T_CHECK(wrong == 0);
	for (size_t n = 0; n < NDZ_HEADER_BYTES; n += 7) {
		struct ndz_header h;
		T_CHECK(ndz_header_get(&h, good, n, &e) != 0);
	}
	decoder_free(dec);
	free(good);
	free(bad);
}

static void
test_header(void)
{
	struct ndz_header h = { .version = 5,
		.size = 77,
		.index = 3,
		.firstsect = 1ull << 33,
		.lastsect = (1ull << 40),
		.nregions = 2,
		.nrelocs = 1 },
			  back;
	uint8_t buf[NDZ_HEADER_BYTES];
	struct err e;

	memcpy(h.uuid, "0123456789abcdef", 16);
	h.regions[0] = (struct range){ 1ull << 34, 5 };
	h.regions[1] = (struct range){ 1ull << 35, 7 };
	h.relocs[0] = (struct ndz_reloc){ 1, (1ull << 35) + 1, 4, 276 };
	T_CHECK(ndz_header_put(&h, buf, &e) == 0);
	T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) == 0);
	T_CHECK(back.firstsect == h.firstsect);
	T_CHECK(back.lastsect == h.lastsect);
	T_CHECK(back.nregions == 2);
	T_CHECK(back.regions[1].off == 1ull << 35);
	T_CHECK(back.relocs[0].sector == (1ull << 35) + 1);
	T_CHECK(back.relocs[0].offset == 4);
	T_CHECK(back.relocs[0].size == 276);
	T_CHECK(memcmp(back.uuid, h.uuid, 16) == 0);
	h.version = 3; /* the numbers do not fit */
	T_CHECK(ndz_header_put(&h, buf, &e) != 0);
	/* More raw data than deflate can make of the stream. */
	struct ndz_header z = {
		.version = 3, .size = 100, .lastsect = 1000, .nregions = 1
	};
	z.regions[0] = (struct range){ 0, 100 * 1032 / 512 + 1 };
	ndz_header_put(&z, buf, &e);
	T_CHECK(ndz_header_get(&back, buf, sizeof buf, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(ndz_header_need(3, 507, 0) <= NDZ_HEADER_BYTES);
	T_CHECK(ndz_header_need(3, 508, 0) > NDZ_HEADER_BYTES);
	T_CHECK(ndz_header_need(5, 251, 0) <= NDZ_HEADER_BYTES);
	T_CHECK(ndz_header_need(5, 252, 0) > NDZ_HEADER_BYTES);
}

int
main(void)
{
	test_header();
	test_fragments();
	test_zeros();
	test_packer(3, 100, false);
	test_packer(3, 50, false);
	test_packer(5, 50, true);
	test_packer(3, 2, false);
	test_packer(5, 97, true);
	test_damage();
	return t_done();
}
