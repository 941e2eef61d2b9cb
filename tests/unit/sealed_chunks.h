/* sealed_chunks.h: the few chunks (three, or CHUNKS_MADE) of an image, plain, and signed or
 * encrypted by keys in the current folder. */
#ifndef TESTS_UNIT_SEALED_CHUNKS_H
#define TESTS_UNIT_SEALED_CHUNKS_H

#include <string.h>

#include "common/image/format/sealer.h"
#include "common/image/write/packer.h"
#include "tests/t.h"

#ifndef CHUNKS_MADE
#define CHUNKS_MADE 3
#endif
enum { CHUNKS = CHUNKS_MADE };

static uint8_t plain[CHUNKS][NDZ_CHUNK_BYTES], sealed[CHUNKS][NDZ_CHUNK_BYTES];
static unsigned emitted;
static struct err e;

static inline int
keep(void *arg, const void *chunk, struct err *err)
{
	(void)arg, (void)err;
	memcpy(plain[emitted++], chunk, NDZ_CHUNK_BYTES);
	return 0;
}

/* Makes the plain chunks, of windows of zeros, so that their streams are small. */
static inline void
make_plain(const struct sealer_config *s, uint8_t id)
{
	struct packer_config cfg = {
		.version = 5, .emit = keep, .codec = { &codec_deflate, 6 }
	};
	struct window w = { .nregions = 1 };
	struct fragment f = { .windows = &w, .nwindows = 1, .zero = true };
	struct packer *p;

	memset(cfg.uuid, id, sizeof cfg.uuid);
	packer_config_seal(&cfg, s);
	emitted = 0;
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	for (unsigned i = 0; i < CHUNKS; i++) {
		w.regions[0] = (struct range){ (uint64_t)i * WINDOW_SECTORS,
			WINDOW_SECTORS };
		T_CHECK(packer_add(p, &f, &e) == 0);
		packer_end_chunk(p);
	}
	T_CHECK(packer_finish(p, CHUNKS * WINDOW_SECTORS, &e) == 0);
	T_CHECK(emitted == CHUNKS);
	packer_free(p);
}

static inline void
make_sealed(const struct sealer_config *cfg, uint8_t id)
{
	struct sealer *s;

	make_plain(cfg, id);
	T_CHECK(sealer_new(&s, cfg, &e) == 0);
	T_CHECK(s != NULL);
	for (unsigned i = 0; i < CHUNKS; i++) {
		const void *chunk = plain[i];
		T_CHECK(sealer_seal(s, &chunk, &e) == 0);
		memcpy(sealed[i], chunk, NDZ_CHUNK_BYTES);
	}
	sealer_free(s);
}

#endif /* TESTS_UNIT_SEALED_CHUNKS_H */
