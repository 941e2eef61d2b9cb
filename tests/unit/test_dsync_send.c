/* A disk whose first sector cannot be read, and whose changes are many small pieces: what is said is
 * the error of the disk, whichever of the threads is the fastest. */
#include <string.h>

#include "dsync/extract/send.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { BLOCK = 4096, BYTES = 1 << 20, TIMES = 3000 };

static ssize_t
drop(void *ctx, const void *buf, size_t len, uint64_t off)
{
	(void)ctx, (void)buf, (void)off;
	return (ssize_t)len;
}

static int
send_once(struct disk *from, struct disk *to, const struct rangeset *changed, struct err *e)
{
	const struct stream_head h = { .device_bytes = BYTES, .block_bytes = BLOCK,
		.id = { { 1 } } };
	const struct rangeset none = { 0 };
	const struct send_config c = { .from = from, .changed = changed, .unused = &none,
		.to = to, .jobs = 2 };
	struct stream_totals totals;
	uint64_t at = 0;

	return send_changed(&c, &h, &totals, &at, e);
}

int
main(void)
{
	static const struct disk_ops nowhere = { .pwrite = drop };
	struct mem bad = { .len = BYTES, .bad = 0 };
	struct rangeset changed;
	struct disk *from = mem_open(&bad, "bad", DISK_BLOCK), *to;
	unsigned said = 0;
	struct err e;

	rangeset_init(&changed);
	for (uint64_t at = 0; at < BYTES; at += 2 * (uint64_t)BLOCK)
		T_CHECK(rangeset_add(&changed, (struct range){ at, BLOCK }, &e) == 0);
	rangeset_seal(&changed);
	T_CHECK(disk_open_ops(&to, "nowhere", DISK_FILE, 0, &nowhere, NULL, &e) == 0);
	for (unsigned i = 0; i < TIMES; i++)
		said += send_once(from, to, &changed, &e) != 0 && e.kind == ERR_IO &&
		        strstr(e.text, "bad: reading sector 0") != NULL;
	T_CHECK(said == TIMES);
	disk_close(from, &e);
	disk_close(to, &e);
	rangeset_free(&changed);
	return t_done();
}
