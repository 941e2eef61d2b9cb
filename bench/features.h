/* features.h: super-features of raw data: numbers of which two pieces of data have some
 * in common when they are alike, though not the same.
 *
 * Twelve features are made of a piece, and super-features are hashes of several of
 * them.  How the features are made:
 *	finesse		of each twelfth of the data the largest rolling hash; a
 *			super-feature has those of the same rank of each three that
 *			follow one another (Finesse, FAST 2019)
 *	odess		of one position in 128, which the content selects, the largest
 *			value of each of twelve linear functions of the rolling hash;
 *			three super-features of four each (Odess, ICDE 2021)
 *	palantir	the same, and when nothing has one of the three in common, four of
 *			three features, then six of two (Palantir, ASPLOS 2024)
 */
#ifndef BENCH_FEATURES_H
#define BENCH_FEATURES_H

#include <stddef.h>
#include <stdint.h>

enum features_kind { FEATURES_FINESSE, FEATURES_ODESS, FEATURES_PALANTIR };

enum { FEATURES = 12, FEATURES_TIERS = 3, FEATURES_SUPER_MAX = 6 };

/* The super-features of a piece, the strictest tier first. */
struct features {
	unsigned n[FEATURES_TIERS];
	uint64_t super[FEATURES_TIERS][FEATURES_SUPER_MAX];
};

/* Mixes a number (the finalizer of splitmix64); the numbers 0, 1, 2... make constants. */
static inline uint64_t
features_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The rolling hash of the 64 bytes that end with this one. */
static inline uint64_t
features_roll(const uint64_t gear[256], uint64_t h, uint8_t byte)
{
	return (h << 1) + gear[byte];
}

static inline void
features_sampled(
    const uint64_t gear[256], const uint8_t *data, size_t n, uint64_t f[FEATURES])
{
	const uint64_t selected = (uint64_t)127 << 40;
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++) {
		h = features_roll(gear, h, data[i]);
		if ((h & selected) != 0)
			continue;
		for (unsigned k = 0; k < FEATURES; k++) {
			uint64_t v = h * (gear[k] | 1) + gear[FEATURES + k];
			f[k] = v > f[k] ? v : f[k];
		}
	}
}

static inline void
features_of_parts(
    const uint64_t gear[256], const uint8_t *data, size_t n, uint64_t f[FEATURES])
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++) {
		h = features_roll(gear, h, data[i]);
		size_t part = i * FEATURES / n;
		f[part] = h > f[part] ? h : f[part];
	}
	/* Each three in descending order: those of one rank are three apart. */
	for (unsigned g = 0; g < FEATURES; g += 3)
		for (unsigned a = 0; a < 2; a++)
			for (unsigned k = g; k < g + 2; k++)
				if (f[k] < f[k + 1]) {
					uint64_t larger = f[k + 1];
					f[k + 1] = f[k];
					f[k] = larger;
				}
}

/* A tier of n super-features, each of FEATURES / n features that are `apart` from each
 * other. */
static inline void
features_tier(struct features *s, unsigned tier, unsigned n, unsigned apart,
    const uint64_t f[FEATURES])
{
	unsigned of = FEATURES / n, first = apart == 1 ? of : 1;

	s->n[tier] = n;
	for (unsigned k = 0; k < n; k++) {
		uint64_t h = features_mix(tier * FEATURES_SUPER_MAX + k);
		for (unsigned i = 0; i < of; i++)
			h = features_mix(h ^ f[k * first + i * apart]);
		s->super[tier][k] = h;
	}
}

/* The super-features of data[n]; there are none where too little of it is selected. */
static inline struct features
features_make(enum features_kind kind, const uint8_t *data, size_t n)
{
	static uint64_t gear[256];
	struct features s = { 0 };
	uint64_t f[FEATURES] = { 0 };

	for (unsigned i = 0; gear[255] == 0 && i < 256; i++)
		gear[i] = features_mix(i);
	if (kind == FEATURES_FINESSE)
		features_of_parts(gear, data, n, f);
	else
		features_sampled(gear, data, n, f);
	if (f[0] == 0)
		return s;
	features_tier(&s, 0, 3, kind == FEATURES_FINESSE ? 3 : 1, f);
	if (kind == FEATURES_PALANTIR) {
		features_tier(&s, 1, 4, 1, f);
		features_tier(&s, 2, 6, 1, f);
	}
	return s;
}

#endif /* BENCH_FEATURES_H */
