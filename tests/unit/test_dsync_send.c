/* A disk whose first sector cannot be read, and whose changes are many small pieces: what is said is
 * the error of the disk, whichever of the threads is the fastest. */
#include <errno.h>
#include <string.h>

#include "dsync/extract/send.h"
#include "tests/t.h"

enum { BLOCK = 4096, BYTES = 1 << 20, TIMES = 3000 };

static ssize_t
bad_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	(void)ctx;
	errno = EIO;
	if (off == 0)
		return -1;
	memset(buf, 0x41, len);
	return (ssize_t)len;
}

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
	static const struct disk_ops bad = { .pread = bad_pread }, nowhere = { .pwrite = drop };
	struct rangeset changed;
	struct disk *from, *to;
	unsigned said = 0;
	struct err e;

	rangeset_init(&changed);
	for (uint64_t at = 0; at < BYTES; at += 2 * (uint64_t)BLOCK)
		T_CHECK(rangeset_add(&changed, (struct range){ at, BLOCK }, &e) == 0);
	rangeset_seal(&changed);
	T_CHECK(disk_open_ops(&from, "bad", DISK_BLOCK, BYTES, &bad, NULL, &e) == 0);
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
