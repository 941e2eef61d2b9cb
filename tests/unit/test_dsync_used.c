/* A first copy without what no filesystem uses: the copy is whole, and free blocks are zeros. */
#include <stdlib.h>
#include <string.h>

#include "dsync/extract/noted.h"
#include "dsync/extract/send.h"
#include "dsync/extract/used.h"
#include "dsync/stream/stream.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

enum { BYTES = 16 << 20 };

/* Send all of the disk but `unused`, and write what arrives to `to`, which begins full of 0xee. */
static bool
copy(struct disk *d, const struct rangeset *unused, uint8_t *to, uint64_t *data_bytes)
{
	struct stream_head h = { .device_bytes = BYTES, .block_bytes = 4096, .flags = STREAM_FULL,
		.id = { { 1 } } };
	struct stream_end end = { 0 };
	struct rangeset all;
	struct stream_in *in;
	struct stream_record r;
	struct disk *out;
	uint8_t tail[STREAM_END_BYTES];
	uint64_t at = 0;
	struct err e;
	int rc;

	rangeset_init(&all);
	if (rangeset_add(&all, (struct range){ 0, BYTES }, &e) != 0)
		return false;
	rangeset_seal(&all);
	if (disk_open(&out, in_scratch("stream"), DISK_READ | DISK_WRITE | DISK_CREATE | DISK_TRUNC,
		&e) != 0)
		return false;
	struct send_config c = { .from = d, .changed = &all, .unused = unused, .to = out, .jobs = 2 };
	if (send_changed(&c, &h, &end.totals, &at, &e) != 0)
		return false;
	stream_put_end(&end, tail);
	if (disk_write(out, tail, sizeof tail, at, &e) != 0)
		return false;
	memset(to, 0xee, BYTES);
	rc = stream_in_open(&in, out, 0, UINT64_MAX, &e);
	while (rc == 0 && (rc = stream_in_next(in, &r, &e)) == 1) {
		if (r.type == STREAM_DATA)
			memcpy(to + r.bytes.off, r.data, (size_t)r.bytes.len);
		else
			memset(to + r.bytes.off, 0, (size_t)r.bytes.len);
		rc = 0;
	}
	if (rc != 0)
		printf("# %s\n", e.text);
	*data_bytes = end.totals.data_bytes;
	stream_in_close(in);
	disk_close(out, &e);
	rangeset_free(&all);
	return rc == 0;
}

/* An ext4 whose free space is full of bytes that nobody needs. */
static bool
make_filesystem(void)
{
	return sh("head -c %d /dev/urandom > fs && mkdir files && head -c 3000000 /dev/urandom > files/a &&"
		  " mke2fs -q -F -t ext4 -E nodiscard -d files fs", BYTES) == 0;
}

static void
test_copy(void)
{
	struct rangeset used, unused;
	uint8_t *got = malloc(BYTES), *was = malloc(BYTES);
	uint64_t data = 0;
	struct disk *d;
	struct err e;

	if (!make_filesystem())
		return skip("used blocks", "needs mke2fs -d");
	T_CHECK(disk_open(&d, in_scratch("fs"), DISK_READ, &e) == 0);
	T_CHECK(disk_read(d, was, BYTES, 0, &e) == 0);
	T_CHECK(used_find(d, &used, &e) == 0);
	T_CHECK(rangeset_total(&used) > 3000000 && rangeset_total(&used) < BYTES / 2);
	rangeset_init(&unused);
	T_CHECK(rangeset_union(&unused, &used, &e) == 0);
	T_CHECK(rangeset_invert(&unused, 0, BYTES, &e) == 0);
	T_CHECK(copy(d, &unused, got, &data));
	T_CHECK(data <= rangeset_total(&used));
	bool same = true, zeros = true;
	for (size_t i = 0; i < BYTES; i++)
		if (rangeset_contains(&used, i))
			same &= got[i] == was[i];
		else
			zeros &= got[i] == 0;
	T_CHECK(same);
	T_CHECK(zeros);
	FILE *f = fopen(in_scratch("copy"), "w");
	T_CHECK(f != NULL && fwrite(got, 1, BYTES, f) == BYTES && fclose(f) == 0);
	T_CHECK(sh("e2fsck -fn copy && debugfs -R 'dump /a a' copy && cmp a files/a") == 0);
	disk_close(d, &e);
	rangeset_free(&used);
	rangeset_free(&unused);
	free(got);
	free(was);
}

/* What was never sent is remembered, and where the copy differs. */
static void
test_noted(enum noted what)
{
	struct rangeset set, again;
	struct err e;
	const char *state = in_scratch("state");

	rangeset_init(&set);
	rangeset_init(&again);
	T_CHECK(rangeset_add(&set, (struct range){ 512, 1024 }, &e) == 0);
	T_CHECK(rangeset_add(&set, (struct range){ 8192, 4096 }, &e) == 0);
	rangeset_seal(&set);
	T_CHECK(noted_read(state, what, BYTES, &again, &e) == 0 && rangeset_count(&again) == 0);
	T_CHECK(noted_write(state, what, &set, &e) == 0);
	T_CHECK(noted_read(state, what, BYTES, &again, &e) == 0 && rangeset_count(&again) == 2);
	T_CHECK(rangeset_total(&again) == 5120 && rangeset_get(&again, 0).off == 512);
	rangeset_free(&again);
	T_CHECK(noted_read(state, what, 1000, &again, &e) != 0 && e.kind == ERR_FORMAT);
	rangeset_free(&again);
	rangeset_free(&set);
	T_CHECK(noted_write(state, what, &set, &e) == 0);
	T_CHECK(noted_read(state, what, BYTES, &again, &e) == 0 && rangeset_count(&again) == 0);
	rangeset_free(&again);
}

int
main(void)
{
	scratch_init();
	test_copy();
	test_noted(NOTED_UNSENT);
	test_noted(NOTED_DIFFERS);
	scratch_done();
	return t_done();
}
