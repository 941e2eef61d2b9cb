/* What a confined scan tells: frames and messages there and back, cut anywhere, and modules
 * whose process crashes, hangs or lies: the partition is stored completely, and why is said. */
#include "fsmods/relay.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/frame.h"
#include "fsmods/sink.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { PART_SECTORS = 2000, RANGES = 3000 };

static void
test_frames(void)
{
	uint8_t bytes[100];
	struct wr w = wr_to(bytes, sizeof bytes);
	struct frame f;

	frame_put(&w, 5, "hello", 5);
	frame_put(&w, 6, NULL, 0);
	T_CHECK(wr_ok(&w));
	struct rd r = rd_from(bytes, wr_len(&w));
	T_CHECK(frame_get(&r, &f) == 1);
	T_CHECK(f.kind == 5);
	T_CHECK(rd_left(&f.payload) == 5);
	T_CHECK(memcmp(rd_bytes(&f.payload, 5), "hello", 5) == 0);
	T_CHECK(frame_get(&r, &f) == 1);
	T_CHECK(f.kind == 6);
	T_CHECK(rd_left(&f.payload) == 0);
	T_CHECK(frame_get(&r, &f) == 0);
}

/* Cut anywhere, a frame is one that is not all there yet. */
static void
test_frames_cut(void)
{
	uint8_t bytes[100];
	struct wr w = wr_to(bytes, sizeof bytes);
	struct frame f;
	bool waits = true, stays = true;

	frame_put(&w, 5, "hello", 5);
	for (size_t n = 0; n < wr_len(&w); n++) {
		struct rd r = rd_from(bytes, n);
		waits = waits && frame_get(&r, &f) == 0;
		stays = stays && rd_ok(&r) && rd_left(&r) == n;
	}
	T_CHECK(waits);
	T_CHECK(stays);
}

static void
test_frames_long(void)
{
	static uint8_t bytes[2 * FRAME_BYTES_MAX], payload[FRAME_PAYLOAD_MAX + 1];
	struct wr w = wr_to(bytes, sizeof bytes);
	struct frame f;

	frame_put(&w, 1, payload, FRAME_PAYLOAD_MAX);
	T_CHECK(wr_ok(&w));
	struct rd r = rd_from(bytes, wr_len(&w));
	T_CHECK(frame_get(&r, &f) == 1);
	frame_put(&w, 1, payload, FRAME_PAYLOAD_MAX + 1);
	T_CHECK(!wr_ok(&w));
	const uint8_t claims[] = { 1, 1, 0x40, 0, 0 };
	r = rd_from(claims, sizeof claims);
	T_CHECK(frame_get(&r, &f) == -1);
}

/* A sink as the parent's. */
static void
sink_init(struct skip_sink *s, struct fs_scan *f)
{
	memset(f, 0, sizeof *f);
	rangeset_init(&f->skip);
	rangeset_init(&f->zero);
	rangeset_init(&f->hot);
	f->fs_end = PART_SECTORS;
	*s = (struct skip_sink){ .scan = f, .part_sectors = PART_SECTORS };
}

static int
tell(struct fs_scan *f, uint64_t ranges_left, uint8_t kind, const void *bytes, size_t n,
    struct err *e)
{
	struct rd r = rd_from(bytes, n);
	struct skip_sink s;

	sink_init(&s, f);
	int rc = relay_hear(&s, &ranges_left, kind, &r, e);
	rangeset_seal(&f->skip);
	rangeset_seal(&f->zero);
	return rc;
}

static void
test_messages(void)
{
	uint8_t two[32], end[8];
	struct wr w = wr_to(two, sizeof two);
	struct fs_scan f;
	struct err e;

	wr_le64(&w, 10);
	wr_le64(&w, 5);
	wr_le64(&w, 1990);
	wr_le64(&w, 10);
	T_CHECK(tell(&f, 2, RELAY_SKIP, two, 32, &e) == 0);
	T_CHECK(rangeset_total(&f.skip) == 15);
	fs_scan_free(&f);
	T_CHECK(tell(&f, 2, RELAY_ZERO, two, 32, &e) == 0);
	T_CHECK(rangeset_total(&f.zero) == 15);
	fs_scan_free(&f);
	T_CHECK(tell(&f, 2, RELAY_ZONE, two, 32, &e) == 0);
	T_CHECK(f.nzones == 2 && f.zones[1].off == 1990 && f.zones[1].len == 10);
	fs_scan_free(&f);
	T_CHECK(tell(&f, 1, RELAY_SKIP, two, 32, &e) == -1); /* too many */
	fs_scan_free(&f);
	T_CHECK(tell(&f, 2, RELAY_WARN, "beware", 6, &e) == 0);
	T_CHECK(strcmp(f.warning, "beware") == 0);
	w = wr_to(end, sizeof end);
	wr_le64(&w, 1000);
	T_CHECK(tell(&f, 2, RELAY_FS_END, end, 8, &e) == 0);
	T_CHECK(f.fs_end == 1000 && !f.suspended);
	T_CHECK(tell(&f, 2, RELAY_SUSPENDED, NULL, 0, &e) == 0);
	T_CHECK(f.suspended);
	T_CHECK(tell(&f, 2, RELAY_SUSPENDED, end, 1, &e) == -1);
	T_CHECK(tell(&f, 2, 77, end, 8, &e) == -1);
}

/* Hot places of a filesystem have a limit; a container has those of several filesystems. */
static void
test_hot_limit(void)
{
	static const struct fsmod plain = { .name = "x" }, box = { .container = true };
	const struct range most = { 0, FS_HOT_SECTORS - 5 }, more = { 2 * FS_HOT_SECTORS, 9 };
	struct fs_scan f;
	struct skip_sink s;
	struct err e;

	for (int i = 0; i < 2; i++) {
		sink_init(&s, &f);
		s.part_sectors = 3 * FS_HOT_SECTORS;
		f.mod = i == 0 ? &plain : &box;
		T_CHECK(skip_hot(&s, most, &e) == 0 && skip_hot(&s, more, &e) == 0 &&
			skip_hot(&s, more, &e) == 0);
		rangeset_seal(&f.hot);
		T_CHECK(rangeset_total(&f.hot) == most.len + (i == 0 ? 5 : more.len));
		T_CHECK(skip_hot(&s, (struct range){ s.part_sectors, 1 }, &e) == -1);
		fs_scan_free(&f);
	}
}

/* Cut anywhere but between ranges: refused. */
static void
test_messages_cut(void)
{
	uint8_t bytes[32] = { 0 };
	struct fs_scan f;
	struct err e;
	bool right = true;

	for (size_t n = 0; n <= sizeof bytes; n++) {
		right = right && (tell(&f, 9, RELAY_SKIP, bytes, n, &e) == 0) ==
		                     (n % 16 == 0);
		fs_scan_free(&f);
		right = right &&
		        (tell(&f, 9, RELAY_FS_END, bytes, n, &e) == 0) == (n == 8);
	}
	T_CHECK(right);
}

static void
test_messages_outside(void)
{
	uint8_t bytes[16];
	struct wr w = wr_to(bytes, sizeof bytes);
	struct fs_scan f;
	struct err e;

	wr_le64(&w, PART_SECTORS - 1);
	wr_le64(&w, 2);
	T_CHECK(tell(&f, 9, RELAY_SKIP, bytes, 16, &e) == -1);
	T_CHECK(strstr(e.text, "outside the partition") != NULL);
	fs_scan_free(&f);
}

/* Modules, whose scan is run in a child. */

static int
scan_many(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	(void)d;
	for (uint64_t i = 0; i < RANGES; i++)
		if (skip_add(s, (struct range){ i * 2 % part.len, 1 }, e) != 0)
			return -1;
	if (skip_zero(s, (struct range){ 100, 3 }, e) != 0 ||
	    skip_hot(s, (struct range){ 1001, 2 }, e) != 0)
		return -1;
	skip_warn(s, "a %s", "word");
	skip_fs_end(s, part.len - 7);
	return skip_add(s, (struct range){ 1001, 1 }, e);
}

static int
scan_reading(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	uint8_t byte;

	skip_suspended(s);
	if (disk_read(d, &byte, 1, part.off * SECTOR_BYTES, e) != 0)
		return -1;
	return err_set(e, ERR_REFUSED, "the first byte is %u", byte);
}

static int
scan_crash(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	scan_many(d, part, s, e);
	raise(SIGKILL);
	return 0;
}

static int
scan_abort(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	(void)d, (void)part, (void)s, (void)e;
	abort();
}

static int
scan_leave(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	scan_many(d, part, s, e);
	_exit(3);
}

/* It writes past its own sink, which would not let it. */
static int
scan_lie(struct disk *d, struct range part, struct skip_sink *s, struct err *e)
{
	(void)d;
	return relay_range(s->relay, RELAY_SKIP, (struct range){ part.len - 1, 2 }, e);
}

static bool
scan(int (*fn)(struct disk *, struct range, struct skip_sink *, struct err *),
    struct fs_scan *f)
{
	struct fsmod mod = { .name = "x", .title = "X", .confined = true, .scan = fn };
	static uint8_t bytes[PART_SECTORS * 512 + 1024] = { [1024] = 42 };
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, SECTOR_BYTES);
	struct err e;

	bool done = fsmods_scan_as(&mod, d, (struct range){ 2, PART_SECTORS }, f, &e) == 0;
	disk_close(d, &e);
	return done;
}

static void
test_scan(void)
{
	struct fs_scan f;

	T_CHECK(scan(scan_many, &f));
	T_CHECK(!f.failed);
	T_CHECK(rangeset_total(&f.skip) == PART_SECTORS / 2 + 1 - 2);
	T_CHECK(rangeset_total(&f.zero) == 3);
	T_CHECK(rangeset_total(&f.hot) == 2 && rangeset_contains(&f.hot, 1002));
	T_CHECK(strcmp(f.warning, "a word") == 0);
	T_CHECK(f.fs_end == PART_SECTORS - 7);
	T_CHECK(strstr(f.confinement, "was read by a process of its own") != NULL);
	T_CHECK(!f.suspended);
	fs_scan_free(&f);
	/* What is suspended is known although the scan has failed. */
	T_CHECK(scan(scan_reading, &f));
	T_CHECK(f.failed && f.suspended);
	fs_scan_free(&f);
}

/* Nothing is skipped, and the warning has these words. */
static bool
kept(int (*fn)(struct disk *, struct range, struct skip_sink *, struct err *),
    const char *words)
{
	struct fs_scan f;
	bool right = scan(fn, &f) && f.failed && rangeset_count(&f.skip) == 0 &&
	             rangeset_count(&f.zero) == 0 && f.fs_end == PART_SECTORS &&
	             strncmp(f.warning, "stored completely: ", 19) == 0 &&
	             strstr(f.warning, words) != NULL;

	if (!right)
		printf("# said: %s\n", f.warning);
	fs_scan_free(&f);
	return right;
}

static void
test_kept_whole(void)
{
	T_CHECK(kept(scan_reading, "the first byte is 42"));
	T_CHECK(kept(scan_crash, "the process that reads it crashed (SIGKILL)"));
	T_CHECK(kept(scan_abort, "the process that reads it crashed (SIGABRT)"));
	T_CHECK(kept(scan_leave, "the process that reads it ended with status 3"));
	T_CHECK(kept(scan_lie, "lies outside the partition"));
}

int
main(void)
{
	test_frames();
	test_frames_cut();
	test_frames_long();
	test_messages();
	test_hot_limit();
	test_messages_cut();
	test_messages_outside();
	test_scan();
	test_kept_whole();
	return t_done();
}
