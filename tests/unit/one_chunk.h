/* one_chunk.h: makes a chunk of a small image, with digests, and with windows of zeros among the
 * others. */
#ifndef TESTS_UNIT_ONE_CHUNK_H
#define TESTS_UNIT_ONE_CHUNK_H

#include <string.h>

#include "common/base/sha256.h"
#include "common/image/read/fragments.h"
#include "common/image/write/packer.h"
#include "tests/t.h"
#include "tests/unit/sample.h"

enum { WINDOWS = 24, ZERO_FROM = 10, ZERO_TO = 14 };

static uint8_t good[NDZ_CHUNK_BYTES], raw[WINDOWS][FRAGMENT_WINDOW_BYTES];

static inline int
keep(void *arg, const void *bytes, struct err *e)
{
	(void)e;
	memcpy(arg, bytes, NDZ_CHUNK_BYTES);
	return 0;
}

static inline void
add_window(struct packer *p, const struct codec_choice *z, void *encoder, unsigned i)
{
	static uint8_t out[FRAGMENT_WINDOW_BYTES + 8192];
	struct window w = { .nregions = 1,
		.regions[0] = { i * WINDOW_SECTORS, WINDOW_SECTORS } };
	struct fragment f = { .windows = &w, .nwindows = 1, .data = out };
	uint8_t digest[32];
	struct err e;

	f.zero = i >= ZERO_FROM && i < ZERO_TO;
	if (!f.zero)
		sample_fill(raw[i], sizeof raw[i], i % 3);
	f.bytes = (uint32_t)z->codec->window(
	    encoder, sizeof raw[i], raw[i], sizeof raw[i], out, sizeof out);
	z->codec->end(out, f.bytes);
	f.adler = adler_of(raw[i], sizeof raw[i]);
	sha256(raw[i], sizeof raw[i], digest);
	memcpy(f.digest, digest, sizeof f.digest);
	T_CHECK(packer_add(p, &f, &e) == 0);
}

/* Makes the chunk in good[], and its contents in raw[]. */
static inline void
make_chunk(void)
{
	struct codec_choice z;
	/* It says how far it reaches; otherwise the whole chunk would be looked at before. */
	const struct reach all = { .n = 1,
		.parts[0].sectors = { 0, WINDOWS * WINDOW_SECTORS } };
	struct packer_config cfg = { .version = 3, .emit = keep, .arg = good, .reach = &all };
	struct packer *p;
	struct err e;

	T_CHECK(codec_parse(&z, "deflate", &e) == 0);
	cfg.codec = z;
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	void *encoder = z.codec->encoder_new(z.level);
	for (unsigned i = 0; i < WINDOWS; i++)
		add_window(p, &z, encoder, i);
	z.codec->encoder_free(encoder);
	T_CHECK(packer_finish(p, WINDOWS * WINDOW_SECTORS, &e) == 0);
	packer_free(p);
}

#endif /* TESTS_UNIT_ONE_CHUNK_H */
