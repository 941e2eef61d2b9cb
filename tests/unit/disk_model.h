/* disk_model.h: a disk that is an array, with runs of noise and of zeros, and images of it in the
 * temporary directory of scratch.h; and what deltas change on it. */
#ifndef TESTS_UNIT_DISK_MODEL_H
#define TESTS_UNIT_DISK_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "common/image/format/sealer.h"
#include "common/image/read/walk.h"
#include "common/image/write/encode.h"
#include "common/image/write/packer.h"
#include "tests/random.h"
#include "tests/unit/scratch.h"

enum { DISK_SECTORS = 16384 }; /* 8 MiB: a few chunks of noise */

/* A disk, and which of its sectors are stored. */
struct model {
	uint8_t data[DISK_SECTORS * SECTOR_BYTES];
	bool stored[DISK_SECTORS];
	uint64_t total;
};

static inline void
fill(struct model *m, uint64_t from, uint64_t n, bool zero)
{
	uint8_t *p = m->data + from * SECTOR_BYTES;

	if (zero)
		memset(p, 0, n * SECTOR_BYTES);
	else
		draw_bytes(p, n * SECTOR_BYTES);
}

/* Fills the model with runs of any length, every fifth of zeros. */
static inline void
make_model(struct model *m, unsigned runs)
{
	memset(m, 0, sizeof *m);
	m->total = DISK_SECTORS;
	for (unsigned i = 0; i < runs; i++) {
		uint64_t from = draw(DISK_SECTORS), n = 1 + draw(900);
		if (n > DISK_SECTORS - from)
			n = DISK_SECTORS - from;
		fill(m, from, n, i % 5 == 0);
		memset(m->stored + from, true, n);
	}
}

static inline void
stored_set(const struct model *m, struct rangeset *s)
{
	struct err e;

	rangeset_init(s);
	for (uint64_t i = 0; i < m->total; i++)
		if (m->stored[i] && rangeset_add(s, (struct range){ i, 1 }, &e) != 0)
			abort();
	rangeset_seal(s);
}

static inline int
write_chunk(void *arg, const void *chunk, struct err *e)
{
	(void)e;
	return fwrite(chunk, NDZ_CHUNK_BYTES, 1, arg) == 1 ? 0 : -1;
}

struct feed {
	const struct model *m;
	struct walk walk;
};

static inline ssize_t
feed_next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct feed *x = arg;
	size_t n = 0;

	(void)e;
	w->nregions = walk_next(&x->walk, w->regions);
	for (unsigned i = 0; i < w->nregions; i++) {
		memcpy((uint8_t *)buf + n,
		    x->m->data + w->regions[i].off * SECTOR_BYTES,
		    w->regions[i].len * SECTOR_BYTES);
		n += w->regions[i].len * SECTOR_BYTES;
	}
	return (ssize_t)n;
}

/* The codec of the images that are written. */
static struct codec_choice codec;

/* The seal that the chunks of these images have room for. */
static struct sealer_config sealing;

/* The states that the next image names by UUID: its own, and, when it is a delta, that of its
 * base. */
static struct ext_state model_state, model_base;

static inline void
write_image(const char *name, const struct model *m, bool delta, struct rangeset *freed)
{
	FILE *f = fopen(in_scratch(name), "wb");
	struct packer_config cfg = { .version = 5,
		.codec = codec,
		.emit = write_chunk,
		.arg = f,
		.freed = freed };
	struct feed x = { .m = m };
	struct encode_config enc = {
		.codec = codec, .jobs = 2, .next = feed_next, .arg = &x
	};
	struct rangeset set;
	struct packer *p;
	struct err e;

	cfg.uuid[0] = (uint8_t)name[0];
	packer_config_seal(&cfg, &sealing);
	cfg.state = model_state;
	if (delta) {
		cfg.base = model_base;
		cfg.base.kind = EXT_STATE_UUID;
	}
	stored_set(m, &set);
	x.walk.set = &set;
	T_CHECK(packer_new(&p, &cfg, &e) == 0);
	T_CHECK(encode_all(&enc, p, &e) == 0);
	T_CHECK(packer_finish(p, m->total, &e) == 0);
	packer_free(p);
	rangeset_free(&set);
	fclose(f);
}

/* Does the set contain exactly the sectors that the model stores? */
static inline bool
same_set(const struct rangeset *set, const struct model *m)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < m->total; i++)
		n += m->stored[i];
	if (rangeset_total(set) != n)
		return false;
	for (uint64_t i = 0; i < m->total; i++)
		if (m->stored[i] != rangeset_contains(set, i))
			return false;
	return true;
}

/* Applies a delta to the model. */
static inline void
apply(struct model *m, const struct model *delta, const struct rangeset *freed)
{
	m->total = delta->total;
	for (uint64_t i = 0; i < DISK_SECTORS; i++) {
		if (i >= m->total || rangeset_contains(freed, i))
			m->stored[i] = false;
		if (i >= m->total || !delta->stored[i])
			continue;
		m->stored[i] = true;
		memcpy(m->data + i * SECTOR_BYTES, delta->data + i * SECTOR_BYTES,
		    SECTOR_BYTES);
	}
}

/* Makes a set of ranges that the delta does not store. */
static inline void
free_some(struct rangeset *freed, const struct model *delta)
{
	struct err e;

	rangeset_init(freed);
	for (unsigned i = 0; i < 30; i++) {
		uint64_t from = draw(delta->total), n = draw(300);
		for (uint64_t k = from; k < from + n && k < delta->total; k++)
			if (!delta->stored[k] &&
			    rangeset_add(freed, (struct range){ k, 1 }, &e) != 0)
				abort();
	}
	rangeset_seal(freed);
}

#endif /* TESTS_UNIT_DISK_MODEL_H */
