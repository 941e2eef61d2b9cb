/* dedup.c: measures how much data images share if they are cut into blocks of one size.  bench/ runs
 * this program; it has one thread.
 *	dedup BLOCK_BYTES BASE.ndz... [-- USER.ndz...]
 * A block is the stored sectors of one window of the disk, as a fragment is.  Prints as
 * JSON, for the base images, the user images and all images: how many blocks there are, how
 * many are different, and how many bytes those have, plain and each compressed on its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/sha256.h"
#include "common/image/codec/deflate.h"
#include "common/image/read/sectors.h"

enum { DIGEST_BYTES = 16, BLOCK_MAX = 1 << 20, GROUP_BASE = 0, GROUP_USER = 1 };

struct unique {
	uint8_t digest[DIGEST_BYTES];
	uint32_t raw, packed; /* raw 0: an empty slot */
	uint8_t groups;       /* bit 0: in base images, bit 1: in user images */
};

struct study {
	size_t block_bytes;
	int group; /* of the image that is being read */
	uint64_t blocks[2], raw[2];
	struct unique *table; /* open addressing */
	size_t n, cap;
	struct deflater *deflater;
	uint8_t *block, *packed;
};

static struct unique *
find(struct unique *table, size_t cap, const uint8_t *digest)
{
	uint64_t h;

	memcpy(&h, digest, sizeof h);
	for (size_t i = (size_t)h & (cap - 1);; i = (i + 1) & (cap - 1))
		if (table[i].raw == 0 ||
		    memcmp(table[i].digest, digest, DIGEST_BYTES) == 0)
			return &table[i];
}

static int
grow(struct study *s, struct err *e)
{
	size_t cap = s->cap == 0 ? 1 << 16 : 2 * s->cap;
	struct unique *table = calloc(cap, sizeof *table);

	if (table == NULL)
		return err_nomem(e, "the blocks");
	for (size_t i = 0; i < s->cap; i++)
		if (s->table[i].raw != 0)
			*find(table, cap, s->table[i].digest) = s->table[i];
	free(s->table);
	s->table = table;
	s->cap = cap;
	return 0;
}

static int
count_block(struct study *s, size_t n, struct err *e)
{
	uint8_t digest[SHA256_BYTES];

	if (2 * s->n >= s->cap && grow(s, e) != 0)
		return -1;
	s->blocks[s->group]++;
	s->raw[s->group] += n;
	sha256(s->block, n, digest);
	struct unique *u = find(s->table, s->cap, digest);
	if (u->raw == 0) {
		memcpy(u->digest, digest, DIGEST_BYTES);
		u->raw = (uint32_t)n;
		u->packed = (uint32_t)deflater_fragment(
		    s->deflater, s->block, n, s->packed, deflater_bound(BLOCK_MAX));
		s->n++;
	}
	u->groups |= (uint8_t)(1 << s->group);
	return 0;
}

static int
study_stored(struct study *s, struct sectors *img, struct err *e)
{
	const struct rangeset *stored = sectors_stored(img);
	uint64_t window = s->block_bytes / SECTOR_BYTES, current = UINT64_MAX;
	size_t have = 0;

	for (size_t i = 0; i < rangeset_count(stored); i++) {
		struct range r = rangeset_get(stored, i), part;
		for (; r.len > 0; r.off += part.len, r.len -= part.len) {
			uint64_t w = r.off / window;
			part = range_clip(r, r.off, (w + 1) * window);
			if (w != current && have > 0 && count_block(s, have, e) != 0)
				return -1;
			have = w == current ? have : 0;
			current = w;
			if (sectors_read(img, part, s->block + have, e) != 0)
				return -1;
			have += (size_t)part.len * SECTOR_BYTES;
		}
	}
	if (have > 0 && count_block(s, have, e) != 0)
		return -1;
	return sectors_done(img, e);
}

static int
study_image(struct study *s, const char *path, struct err *e)
{
	struct sectors *img;

	if (sectors_open(&img, path, e) != 0)
		return -1;
	int rc = study_stored(s, img, e);
	sectors_close(img);
	return rc;
}

static void
put_group(struct json *j, const struct study *s, const char *name, unsigned groups)
{
	uint64_t n = 0, raw = 0, packed = 0, blocks = 0, all_raw = 0;

	for (unsigned g = 0; g < 2; g++) {
		blocks += groups & 1u << g ? s->blocks[g] : 0;
		all_raw += groups & 1u << g ? s->raw[g] : 0;
	}
	for (size_t i = 0; i < s->cap; i++) {
		const struct unique *u = &s->table[i];
		bool in = u->raw != 0 && (u->groups & groups) != 0;
		n += in;
		raw += in ? u->raw : 0;
		packed += in ? u->packed : 0;
	}
	json_object(j, name);
	json_uint(j, "blocks", blocks);
	json_uint(j, "bytes", all_raw);
	json_uint(j, "unique_blocks", n);
	json_uint(j, "unique_bytes", raw);
	json_uint(j, "packed_bytes", packed);
	json_end(j);
}

static int
print_study(const struct study *s, struct err *e)
{
	struct json *j = json_new();

	if (j == NULL)
		return err_nomem(e, "the result");
	json_object(j, NULL);
	json_uint(j, "block_bytes", s->block_bytes);
	put_group(j, s, "base", 1u << GROUP_BASE);
	put_group(j, s, "user", 1u << GROUP_USER);
	put_group(j, s, "all", 1u << GROUP_BASE | 1u << GROUP_USER);
	json_end(j);
	return json_show(j, e);
}

static int
study_all(struct study *s, char **paths, struct err *e)
{
	s->deflater = deflater_new(DEFLATE_LEVEL_DEFAULT);
	s->block = malloc(BLOCK_MAX);
	s->packed = malloc(deflater_bound(BLOCK_MAX));
	if (s->deflater == NULL || s->block == NULL || s->packed == NULL ||
	    grow(s, e) != 0)
		return err_nomem(e, "a block");
	for (; *paths != NULL; paths++) {
		if (strcmp(*paths, "--") == 0)
			s->group = GROUP_USER;
		else if (study_image(s, *paths, e) != 0)
			return -1;
	}
	return print_study(s, e);
}

int
main(int argc, char **argv)
{
	struct study s = { 0 };
	struct err e;

	s.block_bytes = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (s.block_bytes < SECTOR_BYTES || s.block_bytes > BLOCK_MAX ||
	    s.block_bytes % SECTOR_BYTES != 0) {
		fprintf(stderr, "usage: dedup BLOCK_BYTES BASE.ndz... [-- USER.ndz...]"
				" (blocks of at most 1 MiB, in sectors)\n");
		return 2;
	}
	int rc = study_all(&s, argv + 2, &e);
	deflater_free(s.deflater);
	free(s.block);
	free(s.packed);
	free(s.table);
	if (rc != 0)
		fprintf(stderr, "dedup: %s\n", e.text);
	return rc != 0 ? err_exit_status(&e) : 0;
}
