/* A chunk that comes in parts: what is asked for, what is believed, and that nothing
 * is looked at that has not come. */
#include "common/image/read/partial.h"

#include <stdlib.h>

#include "tests/unit/one_chunk.h"

static uint8_t part[NDZ_CHUNK_BYTES];

/* The blocks come from `from`; what has not come is something else. */
static void
arrive(const uint8_t *from, struct blockmap *here, const struct blockmap *more)
{
	for (uint32_t b = blockmap_next(more, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(more, b + 1)) {
		size_t at = (size_t)b * WIRE_BLOCK_BYTES;
		memcpy(part + at, from + at, WIRE_BLOCK_BYTES);
	}
	blockmap_add(here, more);
}

static enum partial_step
follow(const uint8_t *from, struct blockmap *here, struct chunk *c)
{
	struct blockmap need;
	enum partial_step step;

	memset(part, 0xa5, sizeof part);
	*here = (struct blockmap){ { 0 } };
	while ((step = partial_next(part, here, &need, c)) == PARTIAL_MORE) {
		struct blockmap fresh = blockmap_minus(need, here);
		if (blockmap_empty(&fresh))
			return T_CHECK(!"it asks for what has come"), PARTIAL_WHOLE;
		arrive(from, here, &need);
	}
	return step;
}

/* Nothing is believed of these bytes. */
static bool
refused(const uint8_t *bytes)
{
	struct blockmap here;
	struct chunk c;

	if (follow(bytes, &here, &c) != PARTIAL_TABLE)
		return true;
	chunk_free(&c);
	return false;
}

static void
test_parts(void)
{
	static uint8_t out[WINDOWS * FRAGMENT_WINDOW_BYTES];
	struct decoder *d = decoder_new();
	struct blockmap here, need;
	struct chunk c;
	struct err e;

	T_CHECK(follow(good, &here, &c) == PARTIAL_TABLE);
	T_CHECK(blockmap_count(&here) <= 8);
	bool *same = calloc(c.ext.nfragments, sizeof *same);
	for (size_t i = 0; i < c.ext.nfragments; i++)
		same[i] = i % 5 != 2;
	need = partial_differing(&c, same);
	struct blockmap whole = partial_digested(&c);
	struct blockmap beyond = blockmap_minus(need, &whole);
	T_CHECK(blockmap_empty(&beyond));
	T_CHECK(blockmap_count(&need) < blockmap_count(&whole) / 2);
	T_CHECK(chunk_decode_others(&c, part, d, same, out, &e) != 0); /* not there */
	arrive(good, &here, &need);
	T_CHECK(chunk_decode_others(&c, part, d, same, out, &e) == 0);
	struct fragments f = fragments_of(&c);
	uint8_t *at = out;
	bool right = true;
	for (; fragments_next(&f); at += f.entry->zero ? 0 : f.raw_bytes)
		right &= same[f.number] || f.entry->zero ||
		         memcmp(at, &raw[0][0] + f.raw_at, f.raw_bytes) == 0;
	T_CHECK(right);
	free(same);
	chunk_free(&c);
	decoder_free(d);
}

/* Any bit of the header, and any byte of the area; and the area cut anywhere. */
static void
test_damage(void)
{
	static uint8_t bad[NDZ_CHUNK_BYTES];
	struct ndz_header h;
	struct err e;
	unsigned taken = 0;

	memcpy(bad, good, sizeof bad);
	for (size_t i = 0; i < 200 * 8; i++) {
		bad[i / 8] ^= (uint8_t)(1 << i % 8);
		taken += !refused(bad);
		bad[i / 8] = good[i / 8];
	}
	T_CHECK(taken == 0);
	bad[NDZ_HEADER_BYTES - 1] ^= 1;
	T_CHECK(refused(bad));
	bad[NDZ_HEADER_BYTES - 1] ^= 1;
	T_CHECK(ndz_header_get(&h, good, sizeof good, &e) == 0);
	size_t at = ext_area_at(&h), n = ext_area_bytes(&h, good);
	T_CHECK(n > 0);
	for (size_t i = 0; i < n; i++) {
		bad[at + i] ^= 0x10;
		taken += !refused(bad);
		bad[at + i] ^= 0x10;
	}
	T_CHECK(taken == 0);
	for (size_t i = n; i-- > 0;) {
		taken += bad[at + i] != 0 ? (bad[at + i] = 0, !refused(bad)) : 0;
	}
	T_CHECK(taken == 0);
}

/* Without a digest of the header: as images were before. */
static void
test_without(void)
{
	static uint8_t old[NDZ_CHUNK_BYTES];
	struct chunk c;
	struct err e;

	T_CHECK(chunk_parse(&c, good, &e) == 0);
	T_CHECK(chunk_header_proved(&c, good));
	c.ext.has_header_digest = false;
	memcpy(old, good, NDZ_HEADER_BYTES + c.h.size);
	T_CHECK(ext_put(&c.ext, &c.h, old, &e) == 0);
	T_CHECK(refused(old));
	c.ext.has_header_digest = true;
	T_CHECK(ext_put(&c.ext, &c.h, old, &e) == 0);
	T_CHECK(!refused(old));
	chunk_free(&c);
}

/* All has come, and something is wrong with it: where? */
static void
test_damaged(void)
{
	struct chunk c;
	struct err e;

	T_CHECK(chunk_parse(&c, good, &e) == 0);
	size_t stream = c.h.size;
	bool right = true;
	unsigned loose = 0;
	for (size_t at = NDZ_HEADER_BYTES + 2; at < NDZ_HEADER_BYTES + stream - 8;
	     at += 977) {
		memcpy(part, good, sizeof part);
		part[at] ^= 0x10;
		right &= chunk_check_digest(&c, part, &e) != 0;
		struct blockmap bad = partial_damaged(&c, part);
		uint32_t n = blockmap_count(&bad);
		right &= blockmap_test(&bad, (uint32_t)(at / WIRE_BLOCK_BYTES));
		loose += n > FRAGMENT_WINDOW_BYTES / WIRE_BLOCK_BYTES + 2;
	}
	/* A bit may change without a fragment that decodes to anything else. */
	T_CHECK(right);
	T_CHECK(loose <= 2);
	/* The header, which no fragment explains: all of it. */
	memcpy(part, good, sizeof part);
	part[NDZ_HEADER_BYTES - 1] ^= 1;
	struct blockmap bad = partial_damaged(&c, part);
	T_CHECK(blockmap_count(&bad) == WIRE_CHUNK_BLOCKS);
	chunk_free(&c);
}

int
main(void)
{
	make_chunk();
	test_parts();
	test_damage();
	test_without();
	test_damaged();
	return t_done();
}
