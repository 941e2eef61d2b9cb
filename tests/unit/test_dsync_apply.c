/* Records that are written to a target and read back from it: more of them than are gathered at a
 * time, reads that give other bytes, and a target that has no room or cannot be flushed. */
#include "dsync/merge/apply.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/random.h"
#include "tests/unit/scratch.h"

enum { MIB = 1 << 20, TARGET_BYTES = 48 * MIB, FOUR_GATHERS = 32 * MIB, HALF = 2048 };

static atomic_long wrong_at = -1; /* the byte of the target that every read has wrong; -1: none */

/* What the library asks of the system. */
ssize_t
pread(int fd, void *to, size_t n, off_t at)
{
	ssize_t got = syscall(SYS_pread64, fd, to, n, at);
	long wrong = atomic_load(&wrong_at);

	if (wrong >= at && wrong < at + got)
		((uint8_t *)to)[wrong - at] ^= 1;
	return got;
}

static bool no_flush; /* the medium takes nothing */

int
fsync(int fd)
{
	errno = EIO;
	return no_flush ? -1 : (int)syscall(SYS_fsync, fd);
}

static uint8_t expected[TARGET_BYTES], got[TARGET_BYTES];
static struct err e;

/* The next record: data of up to a mebibyte or zeros, after a gap or none, in halves of pages. */
static struct stream_record
next_record(uint64_t from, unsigned seed)
{
	static uint8_t data[MIB];

	draw_seed = seed;
	struct range bytes = { from + draw(3) * HALF, (draw(MIB / HALF) + 1) * HALF };
	bool zeros = draw(5) == 0;

	draw_bytes(data, sizeof data);
	return (struct stream_record){ .type = zeros ? STREAM_ZEROS : STREAM_DATA, .bytes = bytes, .data = data };
}

/* Applies all records.  Returns what the first failing call did, and sets *at to the byte behind the
 * last record that was taken. */
static int
apply_all(struct disk *target, bool verify, uint64_t *at)
{
	struct stream_record r = next_record(0, 0);
	struct apply *a;
	int rc = apply_new(&a, target, verify, false, &e);

	*at = 0;
	for (unsigned i = 1; rc == 0 && range_end(r.bytes) <= TARGET_BYTES; i++) {
		rc = apply_record(a, &r, &e);
		*at = range_end(r.bytes);
		r = next_record(*at, i);
	}
	if (rc == 0)
		rc = apply_finish(a, &e);
	apply_free(a);
	return rc;
}

static struct disk *
new_target(void)
{
	struct disk *d = NULL;

	T_CHECK(sh("rm -f target; head -c %d /dev/zero | tr '\\0' x > target", TARGET_BYTES) == 0);
	T_CHECK(disk_open(&d, in_scratch("target"), DISK_READ | DISK_WRITE, &e) == 0);
	return d;
}

static void
close_target(struct disk *d)
{
	T_CHECK(disk_close(d, &e) == 0);
}

/* What the target holds then: x where no record is. */
static void
expect(void)
{
	struct stream_record r = next_record(0, 0);

	memset(expected, 'x', sizeof expected);
	for (unsigned i = 1; range_end(r.bytes) <= TARGET_BYTES; i++) {
		if (r.type == STREAM_DATA)
			memcpy(expected + r.bytes.off, r.data, r.bytes.len);
		else
			memset(expected + r.bytes.off, 0, r.bytes.len);
		r = next_record(range_end(r.bytes), i);
	}
}

static void
test_all_arrives(void)
{
	uint64_t at;

	expect();
	for (int verify = 0; verify < 2; verify++) {
		struct disk *d = new_target();
		T_CHECK(apply_all(d, verify, &at) == 0 && at > FOUR_GATHERS);
		close_target(d);
		FILE *f = fopen(in_scratch("target"), "rb");
		T_CHECK(fread(got, 1, sizeof got, f) == sizeof got && fclose(f) == 0);
		T_CHECK(memcmp(got, expected, sizeof got) == 0);
	}
}

/* A byte that is read back wrong is found wherever it is, unless it is not asked for. */
static void
test_read_back(void)
{
	static const uint64_t near[] = { 0, 10 * MIB, 20 * MIB, 30 * MIB, 40 * MIB, TARGET_BYTES };
	struct stream_record last = { .type = STREAM_END };
	uint64_t at;

	for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
		struct stream_record r = next_record(0, 0);
		for (unsigned k = 1; range_end(r.bytes) <= TARGET_BYTES; k++) {
			last = r;
			if (range_end(r.bytes) > near[i])
				break;
			r = next_record(range_end(r.bytes), k);
		}
		atomic_store(&wrong_at, (long)(range_end(last.bytes) - 1));
		struct disk *d = new_target();
		T_CHECK(apply_all(d, false, &at) == 0);
		T_CHECK(apply_all(d, true, &at) != 0 && e.kind == ERR_IO &&
			strstr(e.text, "does not hold what was written") != NULL);
		atomic_store(&wrong_at, -1);
		close_target(d);
	}
}

/* What has been written is on the medium at the end, or that is an error. */
static void
test_flushed(void)
{
	struct disk *d = new_target();
	uint64_t at;

	no_flush = true;
	T_CHECK(apply_all(d, true, &at) == -1);
	T_CHECK(at > FOUR_GATHERS);
	T_CHECK(e.os == EIO);
	no_flush = false;
	close_target(d);
}

/* A write that fails is an error of a later record or of the end, and nothing hangs. */
static void
test_no_room(void)
{
	struct rlimit was, less;
	uint64_t at;

	T_CHECK(getrlimit(RLIMIT_FSIZE, &was) == 0);
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t limit = 5 * MIB; limit < TARGET_BYTES - MIB; limit += 20 * MIB) {
		struct disk *d = new_target();
		less = was;
		less.rlim_cur = limit;
		T_CHECK(setrlimit(RLIMIT_FSIZE, &less) == 0);
		int rc = apply_all(d, true, &at);
		T_CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
		T_CHECK(rc != 0 && e.kind == ERR_IO);
		close_target(d);
	}
}

int
main(void)
{
	scratch_init();
	test_all_arrives();
	test_read_back();
	test_flushed();
	test_no_room();
	scratch_done();
	return t_done();
}
