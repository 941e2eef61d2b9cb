/* Writes in flight: every byte arrives, whatever their alignment, by io_uring and
 * by threads. */
#include "common/disk/flight.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/random.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

enum { SIZE = 8 << 20, ROUNDS = 300 };

static void
test_writes(const char *means)
{
	uint8_t *buf = aligned_alloc(4096, SIZE), *want = calloc(1, SIZE),
		*got = malloc(SIZE);
	struct flight *f;
	struct disk *d;
	struct err e;

	T_CHECK(sh("rm -f disk && truncate -s %d disk", SIZE) == 0);
	T_CHECK(disk_open(&d, "disk", DISK_READ | DISK_WRITE, &e) == 0);
	T_CHECK(flight_new(&f, d, false, &e) == 0);
	if (f == NULL) {
		skip(means, "this filesystem has no O_DIRECT");
		disk_close(d, &e);
		goto out;
	}
	if (strcmp(flight_means(f), means) != 0)
		skip(means, "the kernel has no io_uring for us");
	draw_bytes(buf, SIZE);
	/* Sectors, side by side and never twice, in any order and of any length. */
	uint64_t at = 0;
	bool good = true;
	while (at < SIZE) {
		uint64_t n = (1 + draw(3000)) * 512;
		n = n < SIZE - at ? n : SIZE - at;
		if (draw(4) != 0) {
			good &= flight_write(f, buf + at, n, at, &e) == 0;
			memcpy(want + at, buf + at, n);
		}
		at += n;
		if (draw(8) == 0)
			good &= flight_land(f, &e) == 0;
	}
	T_CHECK(good);
	T_CHECK(flight_land(f, &e) == 0);
	T_CHECK(disk_read(d, got, SIZE, 0, &e) == 0);
	T_CHECK(memcmp(got, want, SIZE) == 0);
	flight_free(f);
	T_CHECK(disk_close(d, &e) == 0);
out:
	free(buf);
	free(want);
	free(got);
}

/* What was started before a ticket is on the disk when it has landed, and its buffer
 * free, while later writes go on. */
static void
test_tickets(void)
{
	uint8_t *buf = aligned_alloc(4096, SIZE), *got = malloc(SIZE);
	struct flight *f;
	struct disk *d;
	struct err e;
	bool good = true;

	T_CHECK(sh("rm -f disk && truncate -s %d disk", SIZE) == 0);
	T_CHECK(disk_open(&d, "disk", DISK_READ | DISK_WRITE, &e) == 0);
	T_CHECK(flight_new(&f, d, false, &e) == 0);
	for (unsigned round = 0; f != NULL && round < 20; round++) {
		memset(buf, 1 + (int)round, SIZE);
		good &= flight_write(f, buf, SIZE / 2, 0, &e) == 0;
		uint64_t ticket = flight_ticket(f);
		good &= flight_write(f, buf + SIZE / 2, SIZE / 2, SIZE / 2, &e) == 0;
		good &= flight_ticket(f) > ticket;
		good &= flight_land_upto(f, ticket, &e) == 0;
		memset(buf, 0xee, SIZE / 2);
		good &= flight_land(f, &e) == 0 && disk_read(d, got, SIZE, 0, &e) == 0;
		good &= got[0] == 1 + round && memcmp(got, got + 1, SIZE - 1) == 0;
	}
	T_CHECK(good);
	flight_free(f);
	T_CHECK(disk_close(d, &e) == 0);
	free(buf);
	free(got);
}

/* A full device: the error names the place, and all have landed. */
static void
test_errors(void)
{
	uint8_t *buf = aligned_alloc(4096, SIZE);
	struct flight *f;
	struct disk *d;
	struct err e = { 0 };

	memset(buf, 1, SIZE);
	T_CHECK(disk_open(&d, "/dev/null", DISK_WRITE, &e) == 0);
	T_CHECK(flight_new(&f, d, false, &e) == 0);
	flight_free(f);
	disk_close(d, &e);
	if (sh("mkdir -p small && mount -t tmpfs -o size=1M none small") != 0) {
		skip("a full filesystem", "needs root to mount");
		free(buf);
		return;
	}
	at_end("umount small");
	T_CHECK(
	    disk_open(&d, "small/disk", DISK_READ | DISK_WRITE | DISK_CREATE, &e) == 0);
	T_CHECK(flight_new(&f, d, false, &e) == 0);
	if (f != NULL) {
		int rc = flight_write(f, buf, SIZE, 0, &e);
		T_CHECK((flight_land(f, &e) != 0 || rc != 0));
		T_CHECK(e.os == ENOSPC);
		T_CHECK(strstr(e.text, "small/disk") != NULL);
		flight_free(f);
	} else {
		skip("a full filesystem", "this tmpfs has no O_DIRECT");
	}
	disk_close(d, &e);
	free(buf);
}

/* A write of which the first half alone reaches the disk, as no file may be larger: what is
 * missing is written again, and the error of this is told. */
static void
test_short(void)
{
	enum { PIECE = 256 << 10 };
	uint8_t *buf = aligned_alloc(4096, PIECE);
	struct rlimit was, half;
	struct flight *f;
	struct disk *d;
	struct err e = { 0 };

	memset(buf, 1, PIECE);
	T_CHECK(sh("rm -f disk && touch disk") == 0);
	T_CHECK(disk_open(&d, "disk", DISK_READ | DISK_WRITE, &e) == 0);
	T_CHECK(flight_new(&f, d, false, &e) == 0);
	T_CHECK(getrlimit(RLIMIT_FSIZE, &was) == 0);
	half = (struct rlimit){ PIECE / 2, was.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	T_CHECK(setrlimit(RLIMIT_FSIZE, &half) == 0);
	if (f != NULL) {
		T_CHECK(flight_write(f, buf, PIECE, 0, &e) == 0);
		T_CHECK(flight_land(f, &e) != 0);
		T_CHECK(e.os == EFBIG);
		T_CHECK(sh("test $(stat -c %%s disk) = %d", PIECE / 2) == 0);
	}
	T_CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
	flight_free(f);
	disk_close(d, &e);
	free(buf);
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	test_writes("io_uring");
	test_tickets();
	test_short();
	setenv("FRISBEE_NO_URING", "1", 1);
	test_writes("threads");
	test_tickets();
	test_short();
	unsetenv("FRISBEE_NO_URING");
	test_errors();
	return t_done();
}
