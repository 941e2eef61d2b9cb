/* The source of change "scan" of a device that is written between being read for its digests
 * and being sent: the digests that are kept are those of what was sent. */
#include <string.h>

#include "dsync/change/change.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

enum { BLOCK = 4096, BYTES = 3 * BLOCK + 1000 };

static char device[300], state[300];
static uint8_t data[BYTES];
static struct base base;

static void
put_device(void)
{
	FILE *f = fopen(device, "w");

	T_CHECK(f != NULL && fwrite(data, 1, BYTES, f) == BYTES && fclose(f) == 0);
}

struct open_scan {
	struct change_job job;
	struct change_about about;
	void *self;
};

static void
open_scan(struct open_scan *s)
{
	struct err e;

	memset(s, 0, sizeof *s);
	s->job = (struct change_job){ .args = state, .device = device, .device_bytes = BYTES,
		.state_path = state };
	T_CHECK(disk_open(&s->job.disk, device, DISK_READ, &e) == 0);
	T_CHECK(change_scan.open(&s->self, &s->job, &s->about, &e) == 0);
	T_CHECK(s->about.block_bytes == BLOCK);
}

static void
close_scan(struct open_scan *s)
{
	struct err e;

	change_scan.close(s->self);
	disk_close(s->job.disk, &e);
}

/* Which bytes have changed since the base (none: n 0). */
static uint64_t
changed_bytes(struct open_scan *s, unsigned n, struct range *first)
{
	struct rangeset changed;
	char warning[512];
	struct err e;

	rangeset_init(&changed);
	T_CHECK(change_since(&change_scan, s->self, &s->job, &s->about, &base, n, &changed,
		    warning, &e) == 0);
	T_CHECK(warning[0] == '\0');
	uint64_t total = rangeset_total(&changed);
	*first = rangeset_count(&changed) > 0 ? rangeset_get(&changed, 0)
	                                      : (struct range){ 0, 0 };
	rangeset_free(&changed);
	return total;
}

static void
keep(struct open_scan *s)
{
	struct err e;

	stream_id_make(&base.id);
	T_CHECK(change_scan.keep(s->self, &base.id, base.token, &e) == 0);
}

static void
test_sent_is_kept(void)
{
	struct open_scan s;
	struct range r;
	struct err e;

	memset(data, 1, sizeof data);
	put_device();
	open_scan(&s);
	T_CHECK(changed_bytes(&s, 0, &r) == BYTES);
	T_CHECK(change_scan.sent(s.self, (struct range){ 0, BYTES }, data, &e) == 0);
	keep(&s);
	close_scan(&s);

	/* Block 1 is 2 when it is read, and 3 when it is sent. */
	memset(data + BLOCK, 2, BLOCK);
	put_device();
	open_scan(&s);
	T_CHECK(changed_bytes(&s, 1, &r) == BLOCK && r.off == BLOCK);
	uint8_t other[BLOCK];
	memset(other, 3, sizeof other);
	T_CHECK(change_scan.sent(s.self, (struct range){ BLOCK, BLOCK }, other, &e) == 0);
	keep(&s);
	close_scan(&s);

	/* It is 2 again, and the copy has 3. */
	open_scan(&s);
	T_CHECK(changed_bytes(&s, 1, &r) == BLOCK && r.off == BLOCK);
	close_scan(&s);
}

/* Zeros that nobody has read, and the short end. */
static void
test_zeros(void)
{
	struct open_scan s;
	struct range r;
	struct err e;

	memset(data, 0, sizeof data);
	put_device();
	open_scan(&s);
	T_CHECK(change_scan.sent(s.self, (struct range){ 0, BYTES }, NULL, &e) == 0);
	keep(&s);
	close_scan(&s);
	open_scan(&s);
	T_CHECK(changed_bytes(&s, 1, &r) == 0);
	close_scan(&s);
	data[BYTES - 1] = 1;
	put_device();
	open_scan(&s);
	T_CHECK(changed_bytes(&s, 1, &r) == 1000 && r.off == 3 * BLOCK);
	close_scan(&s);
}

/* Send the device in pieces that begin and end within blocks; zero: a piece of zeros is told as
 * such, without data. */
static void
send_pieces(struct open_scan *s, const size_t *ends, bool zero)
{
	struct err e;

	for (size_t at = 0; at < BYTES; at = *ends++) {
		struct range r = { at, *ends - at };
		bool none = zero;
		for (size_t i = at; i < *ends; i++)
			none = none && data[i] == 0;
		T_CHECK(change_scan.sent(s->self, r, none ? NULL : data + at, &e) == 0);
	}
}

/* Block 0 begins with 512 zeros, which are a piece of their own: the digest of the block is that of
 * the whole block, and not of the bytes behind the zeros. */
static void
test_pieces_within_blocks(void)
{
	static const size_t ends[][6] = { { 512, BYTES }, { 512, 700, BLOCK + 100, BYTES - 1, BYTES },
		{ 1, BLOCK, BYTES }, { BLOCK + 1, 3 * BLOCK + 1, 3 * BLOCK + 2, BYTES } };

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct open_scan s;
		struct range r;
		memset(data, 0x41, sizeof data);
		memset(data, 0, 512);
		put_device();
		open_scan(&s);
		T_CHECK(changed_bytes(&s, 0, &r) == BYTES);
		send_pieces(&s, ends[i], i % 2 == 0);
		keep(&s);
		close_scan(&s);
		open_scan(&s);
		T_CHECK(changed_bytes(&s, 1, &r) == 0);
		close_scan(&s);

		/* The copy has the zeros, and the device has not. */
		memset(data, 0x41, 512);
		put_device();
		open_scan(&s);
		T_CHECK(changed_bytes(&s, 1, &r) == BLOCK && r.off == 0);
		close_scan(&s);
	}
}

int
main(void)
{
	scratch_init();
	snprintf(device, sizeof device, "%s/device", scratch_dir);
	snprintf(state, sizeof state, "%s/state", scratch_dir);
	test_sent_is_kept();
	test_zeros();
	test_pieces_within_blocks();
	scratch_done();
	return t_done();
}
