/* A source over a file, a pipe and a store's kind of disk: what it gives out in which order,
 * behind the end, and to several threads at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/image/read/source.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { CHUNKS = 3, LAST_BYTES = 5000, BYTES = (CHUNKS - 1) * SOURCE_CHUNK_BYTES + LAST_BYTES };

static uint8_t bytes[BYTES];

static struct mem mem = { .b = bytes, .len = BYTES, .bad = SIZE_MAX };

static struct source
open_it(enum disk_kind kind)
{
	struct source s = { NULL, NULL };
	struct err e;

	T_CHECK(source_of_disk(&s, mem_open(&mem, "memory", kind), &e) == 0);
	return s;
}

static void
test_info(void)
{
	struct source file = open_it(DISK_FILE), pipe = open_it(DISK_STREAM);
	struct source_info info;
	struct err e;

	T_CHECK(strcmp(source_name(&file), "memory") == 0);
	T_CHECK(source_info(&file, &info, &e) == 0);
	T_CHECK(info.chunks == CHUNKS);
	T_CHECK(info.bytes == BYTES);
	T_CHECK(!info.in_order);
	T_CHECK(!info.live);
	T_CHECK(source_info(&pipe, &info, &e) == 0);
	T_CHECK(info.chunks == SOURCE_CHUNKS_UNKNOWN);
	T_CHECK(info.bytes == UINT64_MAX);
	T_CHECK(info.in_order);
	source_close(&file);
	source_close(&file); /* again is nothing */
	source_close(&pipe);
}

/* Only the blocks that are needed are touched, and zeros are behind the end. */
static void
test_blocks(void)
{
	static uint8_t got[SOURCE_CHUNK_BYTES], expect[SOURCE_CHUNK_BYTES];
	struct source s = open_it(DISK_FILE);
	struct blockmap need = blockmap_range(3, 2);
	struct err e;

	blockmap_set(&need, 1023);
	memset(got, 0xee, sizeof got);
	memset(expect, 0xee, sizeof expect);
	memcpy(expect + 3072, bytes + SOURCE_CHUNK_BYTES + 3072, 2048);
	memcpy(expect + 1023 * 1024, bytes + SOURCE_CHUNK_BYTES + 1023 * 1024, 1024);
	T_CHECK(source_read(&s, 1, &need, got, &e) == 0);
	T_CHECK(memcmp(got, expect, sizeof got) == 0);
	T_CHECK(source_read_run(&s, 1, 7, 3, got, &e) == 0);
	T_CHECK(memcmp(got, bytes + SOURCE_CHUNK_BYTES + 7 * 1024, 3 * 1024) == 0);
	T_CHECK(got[3 * 1024] == expect[3 * 1024]);
	memset(expect, 0, sizeof expect);
	memcpy(expect, bytes + (CHUNKS - 1) * SOURCE_CHUNK_BYTES, LAST_BYTES);
	T_CHECK(source_read(&s, CHUNKS - 1, NULL, got, &e) == 0);
	T_CHECK(memcmp(got, expect, sizeof got) == 0);
	T_CHECK(source_read(&s, CHUNKS, NULL, got, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "memory: has no chunk 3") != NULL);
	need = blockmap_range(2, 4);
	source_want(&s, 1, &need, SOURCE_NOW);
	T_CHECK(mem.wanted_at == SOURCE_CHUNK_BYTES + 2048);
	T_CHECK(mem.wanted_bytes == 4096);
	source_close(&s);
}

static void
test_order(enum disk_kind kind)
{
	static uint8_t got[SOURCE_CHUNK_BYTES];
	struct source s = open_it(kind);
	uint32_t chunk;
	struct err e;
	size_t n;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		size_t all = i < CHUNKS - 1 ? SOURCE_CHUNK_BYTES : LAST_BYTES;
		T_CHECK(source_next(&s, &chunk, got, &n, &e) == 1);
		T_CHECK(chunk == i);
		T_CHECK(n == all);
		T_CHECK(memcmp(got, bytes + (size_t)i * SOURCE_CHUNK_BYTES, n) == 0);
	}
	T_CHECK(got[LAST_BYTES] == 0);
	T_CHECK(got[SOURCE_CHUNK_BYTES - 1] == 0);
	T_CHECK(source_next(&s, &chunk, got, &n, &e) == 0);
	if (kind == DISK_STREAM) {
		T_CHECK(source_read(&s, 0, NULL, got, &e) == -1);
		T_CHECK(e.kind == ERR_UNSUPPORTED);
	}
	source_cancel(&s);
	source_close(&s);
}

static void *
read_all(void *arg)
{
	uint8_t *got = malloc(SOURCE_CHUNK_BYTES);
	struct err e;
	bool same = true;

	for (int round = 0; round < 20; round++)
		for (uint32_t i = 0; i < CHUNKS - 1; i++)
			same &= source_read(arg, i, NULL, got, &e) == 0 &&
			        memcmp(got, bytes + (size_t)i * SOURCE_CHUNK_BYTES,
				    SOURCE_CHUNK_BYTES) == 0;
	free(got);
	return same ? arg : NULL;
}

static void
test_threads(void)
{
	struct source s = open_it(DISK_FILE);
	pthread_t t[4];
	void *ok;

	for (int i = 0; i < 4; i++)
		T_CHECK(pthread_create(&t[i], NULL, read_all, &s) == 0);
	for (int i = 0; i < 4; i++) {
		T_CHECK(pthread_join(t[i], &ok) == 0);
		T_CHECK(ok != NULL);
	}
	source_close(&s);
}

int
main(void)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)(1 + i * 7 + i / 251);
	test_info();
	test_blocks();
	test_order(DISK_FILE);
	test_order(DISK_STREAM);
	test_threads();
	return t_done();
}
