/* A zstd chunk to the byte: what others refuse, what is damage, and its data by
 * every way of reading. */
#include "common/image/read/chunk.h"
#include "common/image/read/fragments.h"
#include "common/image/read/image.h"
#include "common/image/write/packer.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/wr.h"
#include "tests/t.h"
#include "tests/unit/sample.h"

enum {
	WINDOWS = 5,
	ZERO_WINDOWS = 3,
	RAW_BYTES = (WINDOWS + ZERO_WINDOWS) * FRAGMENT_WINDOW_BYTES
};

static uint8_t good[NDZ_CHUNK_BYTES], bad[NDZ_CHUNK_BYTES], raw[RAW_BYTES];
static struct decoder *dec;

static int
keep(void *arg, const void *bytes, struct err *e)
{
	(void)e;
	memcpy(arg, bytes, NDZ_CHUNK_BYTES);
	return 0;
}

/* Two windows, three of zeros, three more. */
static void
make_chunk(void)
{
	static uint8_t out[CODEC_WINDOWS_MAX * (FRAGMENT_WINDOW_BYTES + 4096)];
	struct codec_choice zstd;
	struct packer_config cfg = { .version = 5, .emit = keep, .arg = good };
	struct window w[WINDOWS + ZERO_WINDOWS] = { 0 };
	struct packer *p;
	struct err e;

	T_CHECK(codec_parse(&zstd, "zstd", &e) == 0);
	cfg.codec = zstd;
	memset(cfg.uuid, 7, sizeof cfg.uuid);
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	for (unsigned i = 0; i < WINDOWS + ZERO_WINDOWS; i++) {
		w[i].nregions = 1;
		w[i].regions[0] = (struct range){ (1000 + i) * WINDOW_SECTORS,
			WINDOW_SECTORS };
		if (i < 2 || i >= 2 + ZERO_WINDOWS)
			sample_fill(
			    raw + i * FRAGMENT_WINDOW_BYTES, FRAGMENT_WINDOW_BYTES, 2);
	}
	static const struct {
		unsigned first, n;
		bool zero;
	} parts[] = { { 0, 2, false }, { 2, ZERO_WINDOWS, true },
		{ 2 + ZERO_WINDOWS, 3, false } };
	for (unsigned k = 0; k < 3; k++) {
		void *z = zstd.codec->encoder_new(zstd.level);
		size_t n = parts[k].n * (size_t)FRAGMENT_WINDOW_BYTES, at = 0;
		const uint8_t *from = raw + parts[k].first * FRAGMENT_WINDOW_BYTES;
		struct fragment f = { .windows = w + parts[k].first,
			.nwindows = parts[k].n,
			.zero = parts[k].zero,
			.data = out,
			.adler = adler_of(from, n) };
		uint8_t digest[EVP_MAX_MD_SIZE];
		for (unsigned i = 0; i < parts[k].n; i++)
			at += zstd.codec->window(z, i == 0 ? n : 0,
			    from + i * FRAGMENT_WINDOW_BYTES, FRAGMENT_WINDOW_BYTES,
			    out + at, sizeof out - at);
		zstd.codec->end(out, at);
		f.bytes = (uint32_t)at;
		EVP_Digest(from, n, digest, NULL, EVP_sha256(), NULL);
		memcpy(f.digest, digest, sizeof f.digest);
		T_CHECK(packer_add(p, &f, &e) == 0);
		zstd.codec->encoder_free(z);
	}
	T_CHECK(packer_finish(p, 2000 * WINDOW_SECTORS, &e) == 0);
	packer_free(p);
}

static size_t
ext_at(void)
{
	struct ndz_header h;
	struct err e;

	T_CHECK(ndz_header_get(&h, good, sizeof good, &e) == 0);
	return (NDZ_HEADER_BYTES + h.size + 7) / 8 * 8;
}

/* After a change of the extension area. */
static void
right_crc(uint8_t *chunk)
{
	uint8_t *area = chunk + ext_at();
	uint32_t total = area[8] | (uint32_t)area[9] << 8 | (uint32_t)area[10] << 16;
	struct wr w = wr_to(area + 12, 4);

	wr_le32(&w, (uint32_t)crc32(0, area + 16, total - 16));
}

static enum err_kind
how_refused(const uint8_t *chunk)
{
	struct chunk c;
	struct err e = { 0 };

	if (chunk_parse(&c, chunk, &e) != 0)
		return e.kind;
	int rc = chunk_verify(&c, chunk, dec, &e);
	chunk_free(&c);
	return rc != 0 ? e.kind : ERR_NONE;
}

static void
test_bytes(void)
{
	struct ndz_header h;
	struct err e;
	uint8_t again[NDZ_HEADER_BYTES];

	T_CHECK(memcmp(good, "NDZ5", 4) == 0);
	T_CHECK(ndz_looks_like_image(good));
	T_CHECK(good[36] == 2);
	T_CHECK(good[37] == 0);
	T_CHECK(good[38] == 0);
	T_CHECK(good[39] == 0);
	T_CHECK(memcmp(good + NDZ_HEADER_BYTES, "\x28\xb5\x2f\xfd\0", 5) == 0);
	T_CHECK(ndz_header_get(&h, good, sizeof good, &e) == 0);
	T_CHECK(h.version == 5);
	T_CHECK(h.codec == 2);
	T_CHECK(h.nregions == 1);
	T_CHECK(ndz_header_raw_bytes(&h) == RAW_BYTES);
	T_CHECK(memcmp(good + NDZ_HEADER_BYTES + h.size - 12,
		    "\x5e\x2a\x4d\x18\4\0\0\0", 8) == 0);
	T_CHECK(ndz_header_put(&h, again, &e) == 0);
	T_CHECK(memcmp(again, good, sizeof again) == 0);
	/* Not one that any version of the base format has, nor its beginning. */
	T_CHECK(good[0] < 0x69 || good[0] > 0x6e);
	for (size_t n = 0; n < NDZ_HEADER_BYTES; n += 5)
		T_CHECK(ndz_header_get(&h, good, n, &e) != 0);
	for (unsigned codec = 0; codec < 256; codec++) {
		memcpy(bad, good, sizeof bad);
		bad[36] = (uint8_t)codec;
		/* 1 is known: there it is the digest that does not fit. */
		if (codec != 2)
			T_CHECK(how_refused(bad) ==
				(codec == 1 ? ERR_FORMAT : ERR_UNSUPPORTED));
	}
}

struct pieces {
	size_t at;
	bool same;
};

static int
compare(void *arg, void *data, size_t n, struct err *e)
{
	struct pieces *p = arg;

	(void)e;
	p->same &= n <= RAW_BYTES - p->at && memcmp(raw + p->at, data, n) == 0;
	p->at += n;
	memset(data, 0xcc, n); /* it may */
	return 0;
}

static int
stop(void *arg, void *data, size_t n, struct err *e)
{
	(void)arg, (void)data, (void)n;
	return err_set(e, ERR_CANCELLED, "enough");
}

static void
test_reading(void)
{
	struct pieces p = { .same = true };
	struct chunk c;
	struct err e;
	uint8_t *out = malloc(RAW_BYTES);

	T_CHECK(chunk_parse(&c, good, &e) == 0);
	T_CHECK(c.ext.nfragments == 3);
	T_CHECK(c.ext.fragments[0].windows == 2);
	T_CHECK(c.ext.fragments[2].windows == 3);
	T_CHECK(c.ext.fragments[1].zero);
	T_CHECK(c.ext.fragments[1].windows == ZERO_WINDOWS);
	T_CHECK(chunk_verify(&c, good, dec, &e) == 0);
	T_CHECK(chunk_decode(&c, good, dec, out, &e) == 0);
	T_CHECK(memcmp(out, raw, RAW_BYTES) == 0);
	T_CHECK(chunk_pieces(&c, good, dec, NULL, NULL, &e) == 0);
	T_CHECK(chunk_pieces(&c, good, dec, compare, &p, &e) == 0);
	T_CHECK(p.same);
	T_CHECK(p.at == RAW_BYTES);
	T_CHECK(chunk_pieces(&c, good, dec, stop, NULL, &e) != 0);
	T_CHECK(e.kind == ERR_CANCELLED);
	T_CHECK(chunk_packed_bytes(&c) == WINDOWS * FRAGMENT_WINDOW_BYTES);
	T_CHECK(chunk_decode_packed(&c, good, dec, out, &e) == 0);
	T_CHECK(memcmp(out, raw, 2 * FRAGMENT_WINDOW_BYTES) == 0);
	T_CHECK(memcmp(out + 2 * FRAGMENT_WINDOW_BYTES, raw + 5 * FRAGMENT_WINDOW_BYTES,
		3 * FRAGMENT_WINDOW_BYTES) == 0);
	chunk_free(&c);
	free(out);
}

/* A change that the checksum of the extension area does not tell about. */
static void
test_table(void)
{
	size_t at = ext_at(), end = NDZ_CHUNK_BYTES;
	unsigned accepted = 0;

	while (good[end - 1] == 0)
		end--;
	/* Codec of the table, its entries, their windows, all of the area. */
	for (size_t bit = (at + 16) * 8; bit < end * 8; bit++) {
		memcpy(bad, good, sizeof bad);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		right_crc(bad);
		accepted += how_refused(bad) == ERR_NONE;
	}
	/* The UUID, what the image is, reserved bits: nothing says that they are wrong.
	 */
	printf("# %zu bits, %u make no difference\n", (end - at - 16) * 8, accepted);
	T_CHECK(accepted < 120 * 8);
	memcpy(bad, good, sizeof bad);
	memset(bad + at, 0, NDZ_CHUNK_BYTES - at);
	T_CHECK(how_refused(bad) == ERR_FORMAT);
}

static void
test_damage(void)
{
	size_t at = ext_at(), end = NDZ_CHUNK_BYTES;
	unsigned wrong = 0;

	while (good[end - 1] == 0)
		end--;
	for (size_t bit = 0; bit < end * 8;
	     bit += bit / 8 < 80 || bit / 8 >= at ? 1 : 5) {
		bool padding = bit / 8 >= NDZ_HEADER_BYTES && bit / 8 < at &&
		               bit / 8 >= at - 7 && good[bit / 8] == 0;
		memcpy(bad, good, sizeof bad);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		wrong += how_refused(bad) == ERR_NONE && !padding;
	}
	T_CHECK(wrong == 0);
	for (size_t cut = 0; cut < end; cut++) {
		memcpy(bad, good, cut);
		memset(bad + cut, 0, sizeof bad - cut);
		wrong += how_refused(bad) == ERR_NONE &&
		         memcmp(bad, good, sizeof bad) != 0;
	}
	T_CHECK(wrong == 0);
}

/* Without the digests, the Adler-32 still covers all data. */
static void
test_adler(void)
{
	struct chunk c;
	struct err e;
	uint8_t *out = malloc(RAW_BYTES);

	T_CHECK(chunk_parse(&c, good, &e) == 0);
	memcpy(bad, good, sizeof bad);
	bad[NDZ_HEADER_BYTES + c.h.size - 1] ^= 1;
	T_CHECK(chunk_decode(&c, bad, dec, out, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(chunk_decode_packed(&c, bad, dec, out, &e) != 0);
	T_CHECK(chunk_pieces(&c, bad, dec, NULL, NULL, &e) != 0);
	chunk_free(&c);
	free(out);
}

static void
test_identity(void)
{
	struct image_identity id = { 0 };
	struct chunk c;
	struct err e;

	T_CHECK(chunk_parse(&c, good, &e) == 0);
	T_CHECK(image_identity_check(&id, &c.h, &c.ext, &e) == 0);
	c.h.codec = 0;
	T_CHECK(image_identity_check(&id, &c.h, &c.ext, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	chunk_free(&c);
}

int
main(void)
{
	if (codec_zstd.lacks != NULL) {
		printf("built without zstd\n");
		return 77;
	}
	dec = decoder_new();
	make_chunk();
	test_bytes();
	test_reading();
	test_table();
	test_damage();
	test_adler();
	test_identity();
	decoder_free(dec);
	return t_done();
}
