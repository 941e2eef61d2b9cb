/* Blocks of packs that are far away: what the folder of the cache has is not fetched
 * again, unless it was damaged there. */
#include "emustore/store/blocks.h"

#include <stdatomic.h>

#include "tests/unit/scratch.h"

enum { PACK_BYTES = 5000, FOLDER_BYTES = 1 << 20, BLOCKS = 16 };

static const char id[PACK_ID_CHARS + 1] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static uint8_t pack[PACK_BYTES];
static atomic_uint fetched;
static struct err e;

static int
get(void *ctx, const char *key, uint64_t from, size_t bytes, void *out, struct err *why)
{
	(void)ctx;
	if (strstr(key, id) == NULL || from > sizeof pack || bytes > sizeof pack - from)
		return err_set(why, ERR_FORMAT, "%s: is not there", key);
	memcpy(out, pack + from, bytes);
	fetched++;
	return 0;
}

static void
close_nothing(void *ctx)
{
	(void)ctx;
}

/* Another process with the same folder: what it reads, and how often it asks the
 * bucket. */
static unsigned
read_anew(uint8_t out[PACK_BYTES])
{
	static const struct object_ops ops = { .get = get, .close = close_nothing };
	struct objects *objects = objects_new(&ops, NULL, "bucket", "bucket");
	struct blocks *b = NULL;
	struct buf digests = { 0 };
	unsigned before = fetched;

	sha256(pack, sizeof pack, buf_room(&digests, SHA256_BYTES));
	T_CHECK(blocks_new(&b, objects, in_scratch("blocks"), FOLDER_BYTES, &e) == 0);
	T_CHECK(blocks_add_pack(b, 1, id, sizeof pack, &digests, &e) == 0);
	T_CHECK(blocks_read(b, 1, out, PACK_BYTES, 0, &e) == PACK_BYTES);
	blocks_release(b);
	objects_release(objects);
	buf_free(&digests);
	return fetched - before;
}

static int
get_zeros(void *ctx, const char *key, uint64_t from, size_t bytes, void *out, struct err *why)
{
	(void)ctx, (void)key, (void)from, (void)why;
	memset(out, 0, bytes);
	fetched++;
	return 0;
}

/* Who reads here and there gets the blocks of these places, and no others are asked for. */
static void
test_here_and_there(void)
{
	static const struct object_ops ops = { .get = get_zeros, .close = close_nothing };
	static const uint8_t zeros[TOC_BLOCK_BYTES];
	struct objects *objects = objects_new(&ops, NULL, "bucket", "bucket");
	struct blocks *b = NULL;
	struct buf digests = { 0 };
	uint8_t byte, digest[SHA256_BYTES];

	sha256(zeros, sizeof zeros, digest);
	for (unsigned i = 0; i < BLOCKS; i++)
		buf_bytes(&digests, digest, sizeof digest);
	fetched = 0;
	T_CHECK(blocks_new(&b, objects, in_scratch("none"), FOLDER_BYTES, &e) == 0);
	T_CHECK(blocks_add_pack(b, 1, id, (uint64_t)BLOCKS * TOC_BLOCK_BYTES, &digests, &e) ==
		0);
	for (unsigned i = 1; i < BLOCKS; i += 2)
		T_CHECK(blocks_read(b, 1, &byte, 1, (uint64_t)i * TOC_BLOCK_BYTES, &e) == 1);
	blocks_release(b);
	objects_release(objects);
	T_CHECK(fetched == BLOCKS / 2);
}

int
main(void)
{
	uint8_t got[PACK_BYTES];

	scratch_init();
	for (size_t i = 0; i < sizeof pack; i++)
		pack[i] = (uint8_t)(i * 7 + i / 256);
	T_CHECK(read_anew(got) == 1);
	T_CHECK(read_anew(got) == 0);
	T_CHECK(memcmp(got, pack, sizeof pack) == 0);
	T_CHECK(sh("printf x | dd of=blocks/%s.0+5000 bs=1 seek=4000 conv=notrunc", id) == 0);
	T_CHECK(read_anew(got) == 1);
	T_CHECK(memcmp(got, pack, sizeof pack) == 0);
	T_CHECK(read_anew(got) == 0);
	T_CHECK(memcmp(got, pack, sizeof pack) == 0);
	test_here_and_there();
	scratch_done();
	return t_done();
}
