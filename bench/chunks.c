/* chunks.c: measures what it costs to read a chunk from a store, and from an image file.  bench/ runs
 * this program; the reading thread is the first one.
 *	chunks STORE NAME IMAGE.ndz
 * Every chunk in order from both, in turn, compared.  Prints JSON: microseconds of CPU,
 * mean and largest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cpu.h"
#include "common/base/json.h"
#include "common/disk/disk.h"
#include "emustore/store/stored.h"

struct cost {
	double sum, most;
};

static void
add(struct cost *c, double us)
{
	c->sum += us;
	c->most = us > c->most ? us : c->most;
}

static int
measure(struct stored *image, struct disk *file, struct cost cost[2], struct err *e)
{
	static uint8_t a[NDZ_CHUNK_BYTES], b[NDZ_CHUNK_BYTES];
	uint32_t chunks = stored_about(image)->chunks;

	/* The first round brings everything to memory. */
	for (unsigned round = 0; round < 2; round++) {
		cost[0] = cost[1] = (struct cost){ 0 };
		for (uint32_t i = 0; i < chunks; i++) {
			double start = cpu_us();
			if (stored_chunk(image, i, a, e) != 0)
				return -1;
			double middle = cpu_us();
			if (disk_read(file, b, sizeof b, (uint64_t)i * sizeof b, e) !=
			    0)
				return -1;
			add(&cost[1], cpu_us() - middle);
			add(&cost[0], middle - start);
			if (memcmp(a, b, sizeof a) != 0)
				return err_set(e, ERR_FORMAT,
				    "chunk %u is not that of the file", i);
		}
	}
	return 0;
}

static int
print_costs(struct stored *image, const struct cost cost[2], struct err *e)
{
	struct json *j = json_new();
	double n = stored_about(image)->chunks;

	if (j == NULL)
		return err_nomem(e, "the result");
	json_object(j, NULL);
	json_uint(j, "chunks", stored_about(image)->chunks);
	json_uint(j, "recipe_bytes", stored_recipe_bytes(image));
	json_double(j, "store_us", cost[0].sum / n);
	json_double(j, "store_most_us", cost[0].most);
	json_double(j, "file_us", cost[1].sum / n);
	json_double(j, "file_most_us", cost[1].most);
	json_end(j);
	return json_show(j, e);
}

static int
run(char **argv, struct err *e)
{
	struct cost cost[2];
	struct store_name name;
	struct stored *image;
	struct disk *file;
	struct store s;

	if (store_name_get(&name, argv[2], e) != 0 ||
	    store_open(&s, argv[1], STORE_READ, e) != 0)
		return -1;
	int rc = stored_open(&image, &s, &name, e);
	if (rc == 0) {
		rc = disk_open(&file, argv[3], DISK_READ, e);
		if (rc == 0) {
			rc = measure(image, file, cost, e);
			disk_close(file, NULL);
		}
		if (rc == 0)
			rc = print_costs(image, cost, e);
		stored_free(image);
	}
	store_close(&s);
	return rc;
}

int
main(int argc, char **argv)
{
	struct err e;

	if (argc != 4) {
		fprintf(stderr, "usage: chunks STORE NAME IMAGE.ndz\n");
		return 2;
	}
	if (run(argv, &e) == 0)
		return 0;
	fprintf(stderr, "chunks: %s\n", e.text);
	return err_exit_status(&e);
}
