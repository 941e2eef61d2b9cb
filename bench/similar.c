/* similar.c: a study: measures what a store would save that kept a fragment which is
 * like another one as its difference from that one.  bench/differences runs this
 * program; it has one thread.
 *	similar BLOCK_BYTES FEATURES LEVEL IMAGE.ndz... [-- IMAGE.ndz...]
 * BLOCK_BYTES is 0 for the fragments that the images have, else the data is cut into
 * aligned blocks of that size, as dedup.c does.  FEATURES says how super-features are
 * made (features.h). A difference is a zstd frame of LEVEL that has the other
 * fragment's data as its prefix (ZSTD_CCtx_refPrefix).
 *
 * Each fragment that is new costs what deflate makes of it.  The most similar of those
 * that are kept whole, the one that has most super-features in common with it, is made
 * its base, and where the difference, with 32 bytes that name the base, is at most
 * three quarters of that cost, it is what the store keeps.  A difference is no base
 * itself.
 *
 * Prints JSON: for each image what is new in it; for each group of images (those behind
 * `--` are the second) what it is the first to have; and microseconds of CPU.  Every
 * eighth difference is made whole again, compressed, and compared with the fragment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bench/cpu.h"
#include "bench/features.h"
#include "common/base/json.h"
#include "common/base/sha256.h"
#include "common/base/zero.h"
#include "common/image/codec/deflate.h"
#include "common/image/read/sectors.h"

enum {
	FRAGMENT_MAX = 1 << 20,
	DIGEST_BYTES = 16,
	BASE_NAME_BYTES = 32,
	SAME_MAX = 4, /* fragments that are remembered for one super-feature */
	WHOLE = -1,
	GROUPS = 2,
	AGAIN_EVERY = 8,
	WINDOW_LOG = 21, /* a base and the fragment, 1 MiB each */
};

struct fragment {
	uint8_t digest[DIGEST_BYTES];
	uint32_t raw, packed, kept;
	int64_t base;  /* a number of a fragment, or WHOLE */
	uint8_t *data; /* compressed; NULL: it is kept as a difference */
};

/* A fragment that is kept whole, by one of its super-features. */
struct known {
	uint64_t super;
	uint32_t fragment;
	bool used;
};

struct sum {
	uint64_t fragments, raw, packed, kept, differences;
};

/* What an image is when it is served. */
struct image {
	const char *path;
	struct sum added;
	uint64_t references; /* to fragments, those that occur again counted each time */
	uint64_t packed, packed_differences;
};

struct study {
	size_t block_bytes;
	enum features_kind kind;
	unsigned group;
	struct image *image; /* the one that is read */
	struct fragment *fragments;
	size_t n, cap;
	uint32_t *slots; /* open addressing: a fragment's number, and 1; 0: empty */
	size_t nslots;
	struct known *known; /* open addressing */
	size_t nknown, known_cap;
	struct sum groups[GROUPS];
	struct deflater *deflater;
	struct inflater *inflater;
	ZSTD_CCtx *encoder;
	ZSTD_DCtx *decoder;
	/* The fragment, compressed; its base; the difference; what is made of that. */
	uint8_t *data, *packed, *base, *difference, *again;
	double features_us, deflate_us, encode_us, again_us;
	uint64_t tried, made, again_raw, again_packed;
};

static uint64_t
first_of(const uint8_t *digest)
{
	uint64_t h;

	memcpy(&h, digest, sizeof h);
	return h;
}

static uint32_t *
slot_of(struct study *s, const uint8_t *digest)
{
	for (uint64_t i = first_of(digest);; i++) {
		uint32_t *at = &s->slots[i & (s->nslots - 1)];
		if (*at == 0 ||
		    memcmp(s->fragments[*at - 1].digest, digest, DIGEST_BYTES) == 0)
			return at;
	}
}

static int
more_fragments(struct study *s, struct err *e)
{
	size_t cap = s->cap == 0 ? 1 << 14 : 2 * s->cap;
	struct fragment *f = realloc(s->fragments, cap * sizeof *f);

	if (f == NULL)
		return err_nomem(e, "the fragments");
	s->fragments = f;
	s->cap = cap;
	free(s->slots);
	s->nslots = 4 * cap;
	s->slots = calloc(s->nslots, sizeof *s->slots);
	if (s->slots == NULL)
		return err_nomem(e, "the fragments");
	for (size_t i = 0; i < s->n; i++)
		*slot_of(s, f[i].digest) = (uint32_t)i + 1;
	return 0;
}

/* The first place for this super-feature from *at on that is empty or has it. */
static struct known *
known_next(struct study *s, uint64_t super, size_t *at)
{
	for (;; ++*at) {
		struct known *k = &s->known[*at & (s->known_cap - 1)];
		if (!k->used || k->super == super)
			return k;
	}
}

static void
remember(struct study *s, uint64_t super, uint32_t fragment)
{
	size_t at = super & (s->known_cap - 1);

	for (unsigned same = 0; same < SAME_MAX; same++, at++) {
		struct known *k = known_next(s, super, &at);
		if (!k->used) {
			*k = (struct known){ super, fragment, true };
			s->nknown++;
			return;
		}
	}
}

static int
more_known(struct study *s, struct err *e)
{
	struct known *old = s->known;
	size_t n = s->known_cap;

	s->known_cap = n == 0 ? 1 << 18 : 2 * n;
	s->known = calloc(s->known_cap, sizeof *s->known);
	if (s->known == NULL)
		return err_nomem(e, "the super-features");
	s->nknown = 0;
	for (size_t i = 0; i < n; i++)
		if (old[i].used)
			remember(s, old[i].super, old[i].fragment);
	free(old);
	return 0;
}

static int
remember_all(struct study *s, const struct features *f, uint32_t fragment, struct err *e)
{
	for (unsigned tier = 0; tier < FEATURES_TIERS; tier++)
		for (unsigned i = 0; i < f->n[tier]; i++) {
			if (2 * s->nknown >= s->known_cap && more_known(s, e) != 0)
				return -1;
			remember(s, f->super[tier][i], fragment);
		}
	return 0;
}

/* Fragments that have super-features in common with one, and how many. */
struct votes {
	unsigned n;
	uint32_t fragment[FEATURES_SUPER_MAX * SAME_MAX];
	unsigned count[FEATURES_SUPER_MAX * SAME_MAX];
};

static void
vote(struct votes *v, uint32_t fragment)
{
	unsigned i = 0;

	while (i < v->n && v->fragment[i] != fragment)
		i++;
	if (i == v->n) {
		v->fragment[v->n] = fragment;
		v->count[v->n++] = 0;
	}
	v->count[i]++;
}

/* The fragment with most super-features of the strictest tier that has any, or WHOLE. */
static int64_t
most_similar(struct study *s, const struct features *f)
{
	for (unsigned tier = 0; tier < FEATURES_TIERS; tier++) {
		struct votes v = { 0 };
		unsigned best = 0;
		for (unsigned i = 0; i < f->n[tier]; i++) {
			size_t at = f->super[tier][i] & (s->known_cap - 1);
			for (unsigned same = 0; same < SAME_MAX; same++, at++) {
				struct known *k = known_next(s, f->super[tier][i], &at);
				if (!k->used)
					break;
				vote(&v, k->fragment);
			}
		}
		for (unsigned i = 1; i < v.n; i++)
			best = v.count[i] > v.count[best] ? i : best;
		if (v.n > 0)
			return v.fragment[best];
	}
	return WHOLE;
}

static int
whole_data(struct study *s, int64_t base, struct err *e)
{
	const struct fragment *b = &s->fragments[base];

	return inflater_fragment(s->inflater, b->data, b->packed, s->base, b->raw, e);
}

/* Make the fragment again of its base and the difference, and compare it. */
static int
make_again(struct study *s, const struct fragment *f, size_t difference, struct err *e)
{
	double start = cpu_us();
	size_t base_bytes = s->fragments[f->base].raw;

	if (whole_data(s, f->base, e) != 0)
		return -1;
	ZSTD_DCtx_refPrefix(s->decoder, s->base, base_bytes);
	size_t n = ZSTD_decompressDCtx(
	    s->decoder, s->again, FRAGMENT_MAX, s->difference, difference);
	if (ZSTD_isError(n) || n != f->raw || memcmp(s->again, s->data, n) != 0)
		return err_set(e, ERR_FORMAT, "a difference makes other data");
	n = deflater_fragment(
	    s->deflater, s->again, n, s->base, deflater_bound(FRAGMENT_MAX));
	if (n != f->packed || memcmp(s->base, s->packed, n) != 0)
		return err_set(e, ERR_FORMAT, "a fragment is compressed to other bytes");
	s->again_us += cpu_us() - start;
	s->again_raw += f->raw;
	s->again_packed += f->packed;
	return 0;
}

/* f->base is the most similar fragment: is the difference from it what is kept? */
static int
try_difference(struct study *s, struct fragment *f, struct err *e)
{
	double start = cpu_us();

	if (whole_data(s, f->base, e) != 0)
		return -1;
	ZSTD_CCtx_refPrefix(s->encoder, s->base, s->fragments[f->base].raw);
	size_t n = ZSTD_compress2(s->encoder, s->difference,
	    ZSTD_compressBound(FRAGMENT_MAX), s->data, f->raw);
	if (ZSTD_isError(n))
		return err_set(e, ERR_NOMEM, "zstd: %s", ZSTD_getErrorName(n));
	s->encode_us += cpu_us() - start;
	s->tried++;
	if (4 * (n + BASE_NAME_BYTES) > 3 * (size_t)f->packed) {
		f->base = WHOLE;
		return 0;
	}
	f->kept = (uint32_t)n + BASE_NAME_BYTES;
	return s->made++ % AGAIN_EVERY == 0 ? make_again(s, f, n, e) : 0;
}

/* Find out how a new fragment is kept. */
static int
keep(struct study *s, struct fragment *f, struct err *e)
{
	double start = cpu_us();
	struct features super = features_make(s->kind, s->data, f->raw);

	f->base = most_similar(s, &super);
	s->features_us += cpu_us() - start;
	if (f->base != WHOLE && try_difference(s, f, e) != 0)
		return -1;
	if (f->base != WHOLE)
		return 0;
	f->data = malloc(f->packed);
	if (f->data == NULL)
		return err_nomem(e, "the fragments");
	memcpy(f->data, s->packed, f->packed);
	return remember_all(s, &super, (uint32_t)s->n, e);
}

static void
add(struct sum *sum, const struct fragment *f)
{
	sum->fragments++;
	sum->raw += f->raw;
	sum->packed += f->packed;
	sum->kept += f->kept;
	sum->differences += f->base != WHOLE;
}

static int
new_fragment(struct study *s, struct fragment *f, struct err *e)
{
	double start = cpu_us();

	f->packed = (uint32_t)deflater_fragment(
	    s->deflater, s->data, f->raw, s->packed, deflater_bound(FRAGMENT_MAX));
	s->deflate_us += cpu_us() - start;
	f->kept = f->packed;
	if (keep(s, f, e) != 0)
		return -1;
	add(&s->groups[s->group], f);
	add(&s->image->added, f);
	return 0;
}

/* The first n bytes of s->data are a fragment of the image. */
static int
take(struct study *s, size_t n, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	if (is_zero(s->data, n))
		return 0;
	if (s->n == s->cap && more_fragments(s, e) != 0)
		return -1;
	sha256(s->data, n, digest);
	uint32_t *slot = slot_of(s, digest);
	if (*slot == 0) {
		struct fragment *f = &s->fragments[s->n];
		*f = (struct fragment){ .raw = (uint32_t)n };
		memcpy(f->digest, digest, DIGEST_BYTES);
		if (new_fragment(s, f, e) != 0)
			return -1;
		*slot = (uint32_t)++s->n;
	}
	const struct fragment *f = &s->fragments[*slot - 1];
	s->image->references++;
	s->image->packed += f->packed;
	s->image->packed_differences += f->base != WHOLE ? f->packed : 0;
	return 0;
}

/* How many sectors from r.off on belong to one fragment or block; *ends: it ends with
 * them, as far as is known here. */
static int
piece_of(struct study *s, struct sectors *img, struct range r, uint64_t *sectors,
    bool *ends, struct err *e)
{
	struct sectors_id id;

	*sectors = r.len;
	if (s->block_bytes != 0) {
		uint64_t block = s->block_bytes / SECTOR_BYTES;
		uint64_t left = block - r.off % block;
		*sectors = left < r.len ? left : r.len;
		*ends = *sectors == left;
		return 0;
	}
	size_t most = r.len < FRAGMENT_MAX / SECTOR_BYTES ? (size_t)r.len * SECTOR_BYTES
	                                                  : FRAGMENT_MAX;
	int rc = sectors_identify(img, r.off, most, &id, e);
	if (rc == 0)
		return err_set(e, ERR_USAGE, "the image has no fragments");
	if (rc < 0)
		return -1;
	*sectors = id.covers / SECTOR_BYTES;
	*ends = id.zero || id.at + id.covers == id.bytes;
	return 0;
}

/* Read what the image stores of r.  *have: bytes of an unfinished fragment or block,
 * whose number, if it is a block, is *block. */
static int
read_range(struct study *s, struct sectors *img, struct range r, size_t *have,
    uint64_t *block, struct err *e)
{
	uint64_t grid = s->block_bytes != 0 ? s->block_bytes / SECTOR_BYTES : UINT64_MAX;
	struct range part = { r.off, 0 };
	bool ends = false;

	for (; r.len > 0; r.off += part.len, r.len -= part.len) {
		uint64_t now = r.off / grid;
		if (now != *block && *have > 0) {
			if (take(s, *have, e) != 0)
				return -1;
			*have = 0;
		}
		*block = now;
		part.off = r.off;
		if (piece_of(s, img, r, &part.len, &ends, e) != 0 ||
		    sectors_read(img, part, s->data + *have, e) != 0)
			return -1;
		*have += (size_t)part.len * SECTOR_BYTES;
		if (!ends)
			continue;
		if (take(s, *have, e) != 0)
			return -1;
		*have = 0;
	}
	return 0;
}

static int
study_image(struct study *s, const char *path, struct err *e)
{
	struct sectors *img;
	size_t have = 0;
	uint64_t block = 0;
	int rc = 0;

	if (sectors_open(&img, path, e) != 0)
		return -1;
	const struct rangeset *stored = sectors_stored(img);
	for (size_t i = 0; rc == 0 && i < rangeset_count(stored); i++)
		rc = read_range(s, img, rangeset_get(stored, i), &have, &block, e);
	if (rc == 0 && have > 0)
		rc = take(s, have, e);
	if (rc == 0)
		rc = sectors_done(img, e);
	sectors_close(img);
	return rc;
}

static void
put_sum(struct json *j, const struct sum *sum)
{
	json_uint(j, "fragments", sum->fragments);
	json_uint(j, "raw_bytes", sum->raw);
	json_uint(j, "packed_bytes", sum->packed);
	json_uint(j, "kept_bytes", sum->kept);
	json_uint(j, "differences", sum->differences);
}

static void
put_images(struct json *j, const struct image *images, size_t n)
{
	json_array(j, "images");
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_string(j, "image", images[i].path);
		json_object(j, "new");
		put_sum(j, &images[i].added);
		json_end(j);
		json_uint(j, "references", images[i].references);
		json_uint(j, "served_bytes", images[i].packed);
		json_uint(j, "served_differences_bytes", images[i].packed_differences);
		json_end(j);
	}
	json_end(j);
}

static void
put_cost(struct json *j, const struct study *s)
{
	json_uint(j, "differences_tried", s->tried);
	json_double(j, "features_us", s->features_us);
	json_double(j, "deflate_us", s->deflate_us);
	json_double(j, "encode_us", s->encode_us);
	json_double(j, "again_us", s->again_us);
	json_uint(j, "again_raw_bytes", s->again_raw);
	json_uint(j, "again_packed_bytes", s->again_packed);
}

static int
print_study(const struct study *s, const struct image *images, size_t n, struct err *e)
{
	static const char *const group[GROUPS] = { "first", "second" };
	struct json *j = json_new();

	json_object(j, NULL);
	json_uint(j, "block_bytes", s->block_bytes);
	put_images(j, images, n);
	for (unsigned i = 0; i < GROUPS; i++) {
		json_object(j, group[i]);
		put_sum(j, &s->groups[i]);
		json_end(j);
	}
	put_cost(j, s);
	json_end(j);
	return json_show(j, e);
}

static int
study_all(struct study *s, char **paths, struct image *images, struct err *e)
{
	size_t n = 0;

	for (; *paths != NULL; paths++) {
		if (strcmp(*paths, "--") == 0 && s->group == 0) {
			s->group = 1;
			continue;
		}
		s->image = &images[n++];
		s->image->path = *paths;
		if (study_image(s, *paths, e) != 0)
			return err_ctx(e, "%s", *paths);
	}
	return print_study(s, images, n, e);
}

static int
setup(struct study *s, int level, struct err *e)
{
	uint8_t **buffers[] = { &s->data, &s->packed, &s->base, &s->difference,
		&s->again };

	s->deflater = deflater_new(DEFLATE_LEVEL_DEFAULT);
	s->inflater = inflater_new();
	s->encoder = ZSTD_createCCtx();
	s->decoder = ZSTD_createDCtx();
	for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
		*buffers[i] = malloc(2 * FRAGMENT_MAX); /* and so much for any codec */
		if (*buffers[i] == NULL)
			return err_nomem(e, "a fragment");
	}
	if (s->deflater == NULL || s->inflater == NULL || s->encoder == NULL ||
	    s->decoder == NULL)
		return err_nomem(e, "a codec");
	ZSTD_CCtx_setParameter(s->encoder, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(s->encoder, ZSTD_c_windowLog, WINDOW_LOG);
	return more_known(s, e);
}

static void
teardown(struct study *s)
{
	deflater_free(s->deflater);
	inflater_free(s->inflater);
	ZSTD_freeCCtx(s->encoder);
	ZSTD_freeDCtx(s->decoder);
	for (size_t i = 0; i < s->n; i++)
		free(s->fragments[i].data);
	free(s->fragments);
	free(s->slots);
	free(s->known);
	free(s->data);
	free(s->packed);
	free(s->base);
	free(s->difference);
	free(s->again);
}

/* false: the words are wrong. */
static bool
read_words(struct study *s, char **words)
{
	static const char *const kinds[] = { "finesse", "odess", "palantir" };

	s->block_bytes = strtoul(words[0], NULL, 10);
	while (strcmp(words[1], kinds[s->kind]) != 0)
		if (++s->kind == sizeof kinds / sizeof kinds[0])
			return false;
	return s->block_bytes <= FRAGMENT_MAX && s->block_bytes % SECTOR_BYTES == 0;
}

int
main(int argc, char **argv)
{
	struct study s = { 0 };
	struct err e;

	if (argc < 5 || !read_words(&s, argv + 1)) {
		fprintf(stderr, "usage: similar BLOCK_BYTES finesse|odess|palantir LEVEL"
				" IMAGE.ndz... [-- IMAGE.ndz...]\n");
		return 2;
	}
	struct image *images = calloc((size_t)argc, sizeof *images);
	int rc = images == NULL ? err_nomem(&e, "the images")
	                        : setup(&s, atoi(argv[3]), &e);
	if (rc == 0)
		rc = study_all(&s, argv + 4, images, &e);
	teardown(&s);
	free(images);
	if (rc != 0)
		fprintf(stderr, "similar: %s\n", e.text);
	return rc != 0 ? err_exit_status(&e) : 0;
}
