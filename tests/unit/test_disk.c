/* Disks of every kind: files, block devices, pipes, terminals, null; and a
 * back end that fails on purpose. */
#include "common/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "tests/unit/scratch.h"

enum { RW = DISK_READ | DISK_WRITE, FILE_BYTES = 3 << 20 };

static struct err e;

static struct disk *
must_open(const char *path, unsigned flags)
{
	struct disk *d;

	e.text[0] = '\0';
	if (!T_CHECK(disk_open(&d, path, flags, &e) == 0)) {
		printf("# %s\n", e.text);
		exit(1);
	}
	return d;
}

static bool
refused(const char *path, unsigned flags, enum err_kind kind, const char *words)
{
	struct disk *d;
	bool ok = disk_open(&d, path, flags, &e) == -1 && d == NULL && e.kind == kind &&
	          strstr(e.text, words) != NULL;

	if (!ok)
		printf("# %s\n", e.text);
	return ok;
}

static bool
is_filled(const uint8_t *p, size_t n, uint8_t with)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != with)
			return false;
	return true;
}

/* Zero [off, off+len) of a disk full of 0xa5 and see that exactly that changed. */
static bool
zero_is_exact(struct disk *d, uint64_t off, uint64_t len)
{
	size_t size = FILE_BYTES;
	uint8_t *b = malloc(size);

	memset(b, 0xa5, size);
	bool ok = disk_write(d, b, size, 0, &e) == 0 &&
	          disk_zero(d, off, len, &e) == 0 &&
	          disk_read(d, b, size, 0, &e) == 0 && is_filled(b, off, 0xa5) &&
	          is_filled(b + off, len, 0) &&
	          is_filled(b + off + len, size - off - len, 0xa5) &&
	          disk_size_bytes(d) == FILE_BYTES;
	free(b);
	return ok;
}

static void
test_zero(struct disk *d)
{
	T_CHECK(zero_is_exact(d, 0, FILE_BYTES));
	T_CHECK(zero_is_exact(d, 1 << 20, 1 << 20));
	T_CHECK(zero_is_exact(d, 512, 512));
	T_CHECK(zero_is_exact(d, 4095, 2));
	T_CHECK(zero_is_exact(d, 17, 5));
	T_CHECK(zero_is_exact(d, 511, 1));
	T_CHECK(zero_is_exact(d, 1, 0));
	T_CHECK(zero_is_exact(d, 3, FILE_BYTES - 4));
	T_CHECK(zero_is_exact(d, 100001, 1234567));
}

static void
test_file(void)
{
	struct disk *d;
	struct stat st;
	uint8_t b[1024];

	T_CHECK(refused(in_scratch("none"), DISK_READ, ERR_IO, "none: No such file"));
	T_CHECK(refused(in_scratch("none"), DISK_WRITE, ERR_IO, "none: No such file"));
	T_CHECK(refused(scratch_dir, DISK_READ, ERR_IO, "is a directory"));
	d = must_open(in_scratch("f"), RW | DISK_CREATE);
	T_CHECK(disk_kind(d) == DISK_FILE);
	T_CHECK(disk_seekable(d));
	T_CHECK(disk_sector_bytes(d) == 512);
	T_CHECK(disk_size_bytes(d) == 0);
	T_CHECK(disk_fd(d) >= 0);
	T_CHECK(strstr(disk_name(d), "/f") != NULL);
	T_CHECK(disk_write(d, "abc", 3, 1021, &e) == 0);
	T_CHECK(disk_size_bytes(d) == 1024);
	T_CHECK(disk_write(d, "xyz", 3, 0, &e) == 0);
	T_CHECK(disk_size_bytes(d) == 1024);
	T_CHECK(disk_read(d, b, 1024, 0, &e) == 0);
	T_CHECK(memcmp(b, "xyz", 3) == 0);
	T_CHECK(memcmp(b + 1021, "abc", 3) == 0);
	T_CHECK(is_filled(b + 3, 1018, 0));
	T_CHECK(disk_read_upto(d, b, 1024, 1000, &e) == 24);
	T_CHECK(disk_read_upto(d, b, 1024, 2000, &e) == 0);
	T_CHECK(disk_read_upto(d, b, 1024, UINT64_MAX, &e) == 0);
	T_CHECK(disk_read(d, b, 1024, 1, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strstr(e.text, "/f: ends at sector 2, too early") != NULL);
	T_CHECK(disk_write(d, b, 1024, UINT64_MAX - 5, &e) == -1);
	T_CHECK(e.os == EFBIG);
	T_CHECK(disk_zero(d, 5, UINT64_MAX, &e) == -1);
	T_CHECK(e.os == EFBIG);
	/* Zeroing may reach behind the end. */
	T_CHECK(disk_zero(d, 1023, 5000, &e) == 0);
	T_CHECK(disk_size_bytes(d) == 6023);
	T_CHECK(stat(in_scratch("f"), &st) == 0);
	T_CHECK(st.st_size == 6023);
	T_CHECK(disk_read(d, b, 3, 1021, &e) == 0);
	T_CHECK(memcmp(b, "ab\0", 3) == 0);
	T_CHECK(disk_truncate(d, FILE_BYTES, &e) == 0);
	T_CHECK(disk_size_bytes(d) == FILE_BYTES);
	T_CHECK(disk_truncate(d, UINT64_MAX, &e) == -1);
	T_CHECK(e.os == EFBIG);
	test_zero(d);
	T_CHECK(disk_sync(d, &e) == 0);
	T_CHECK(disk_reread_partitions(d, &e) == 0);
	T_CHECK(disk_close(d, &e) == 0);
	d = must_open(in_scratch("f"), DISK_READ);
	T_CHECK(disk_size_bytes(d) == FILE_BYTES);
	T_CHECK(disk_write(d, b, 1, 0, &e) == -1);
	T_CHECK(e.os == EBADF);
	T_CHECK(strstr(e.text, "/f: writing sector 0: ") != NULL);
	disk_close(d, &e);
	d = must_open(in_scratch("f"), DISK_WRITE | DISK_CREATE | DISK_TRUNC);
	T_CHECK(disk_size_bytes(d) == 0);
	T_CHECK(stat(in_scratch("f"), &st) == 0);
	T_CHECK(st.st_size == 0);
	disk_close(d, &e);
	T_CHECK(disk_close(NULL, &e) == 0);
}

/* What is zeroed in a file must not take room any more, where holes exist. */
static void
test_holes(void)
{
	struct stat st;

	if (sh("truncate -s 3M h && fallocate -p -o 0 -l 1M h") != 0) {
		skip("holes", "the temporary directory cannot punch holes");
		return;
	}
	struct disk *d = must_open(in_scratch("h"), RW);
	T_CHECK(zero_is_exact(d, 0, FILE_BYTES));
	T_CHECK(disk_sync(d, &e) == 0);
	T_CHECK(stat(in_scratch("h"), &st) == 0);
	T_CHECK(st.st_blocks < 64);
	T_CHECK(disk_zero(d, FILE_BYTES, 1ull << 30, &e) == 0);
	T_CHECK(disk_sync(d, &e) == 0);
	T_CHECK(stat(in_scratch("h"), &st) == 0);
	T_CHECK(st.st_blocks < 64);
	T_CHECK(st.st_size == FILE_BYTES + (1ll << 30));
	T_CHECK(disk_size_bytes(d) == FILE_BYTES + (1ull << 30));
	disk_close(d, &e);
}

/* A back end in memory that transfers a few bytes at a time, is interrupted
 * every third call and fails for good in one sector. */
struct bad {
	uint8_t bytes[FILE_BYTES];
	unsigned calls, zeroed;
	uint64_t bad_sector;
	size_t piece;
};

static ssize_t
bad_transfer(struct bad *b, size_t len, uint64_t off)
{
	size_t n = len < b->piece ? len : b->piece;

	if (b->calls++ % 3 == 0) {
		errno = EINTR;
		return -1;
	}
	if (off / 512 == b->bad_sector) {
		errno = EIO;
		return -1;
	}
	if (off / 512 < b->bad_sector && (off + n) / 512 >= b->bad_sector)
		n = (size_t)(b->bad_sector * 512 - off);
	return off >= FILE_BYTES
	           ? 0
	           : (ssize_t)(n < FILE_BYTES - off ? n : FILE_BYTES - off);
}

static ssize_t
bad_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct bad *b = ctx;
	ssize_t n = bad_transfer(b, len, off);

	if (n > 0)
		memcpy(buf, b->bytes + off, (size_t)n);
	return n;
}

static ssize_t
bad_pwrite(void *ctx, const void *buf, size_t len, uint64_t off)
{
	struct bad *b = ctx;
	ssize_t n = bad_transfer(b, len, off);

	if (n > 0)
		memcpy(b->bytes + off, buf, (size_t)n);
	return n;
}

static int
bad_zero(void *ctx, uint64_t off, uint64_t len)
{
	struct bad *b = ctx;

	errno = b->zeroed++ % 2 ? EIO : EBUSY;
	(void)off, (void)len;
	return -1;
}

static int
bad_sync(void *ctx)
{
	struct bad *b = ctx;

	errno = b->calls++ % 2 ? EINTR : EIO;
	return -1;
}

static void
test_faults(void)
{
	static struct bad b = { .bad_sector = UINT64_MAX, .piece = 7001 };
	static const struct disk_ops ops = { .pread = bad_pread,
		.pwrite = bad_pwrite,
		.zero = bad_zero,
		.sync = bad_sync };
	static const struct disk_ops none;
	uint8_t buf[8192];
	struct disk *d;

	T_CHECK(disk_open_ops(&d, "mem", DISK_FILE, FILE_BYTES, &ops, &b, &e) == 0);
	test_zero(d);
	T_CHECK(b.zeroed > 0);
	b.bad_sector = 9;
	T_CHECK(disk_read(d, buf, 8192, 1000, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(e.os == EIO);
	T_CHECK(strcmp(e.text, "mem: reading sector 9: Input/output error") == 0);
	T_CHECK(disk_write(d, buf, 8192, 1000, &e) == -1);
	T_CHECK(strcmp(e.text, "mem: writing sector 9: Input/output error") == 0);
	T_CHECK(disk_zero(d, 1000, 8192, &e) == -1);
	T_CHECK(strstr(e.text, "sector 9:") != NULL);
	T_CHECK(disk_read(d, buf, 8192, 10 * 512, &e) == 0);
	/* A file that is shorter now than it was: nothing is written where nothing
	 * fits. */
	T_CHECK(disk_write(d, buf, 2, FILE_BYTES - 1, &e) == -1);
	T_CHECK(e.os == EIO);
	T_CHECK(disk_sync(d, &e) == -1);
	T_CHECK(strcmp(e.text, "mem: flushing: Input/output error") == 0);
	T_CHECK(disk_truncate(d, 1, &e) == -1);
	T_CHECK(e.os == ENOTSUP);
	T_CHECK(disk_close(d, &e) == 0);
	T_CHECK(disk_open_ops(&d, "nil", DISK_BLOCK, 1024, &none, NULL, &e) == 0);
	T_CHECK(disk_read(d, buf, 1, 0, &e) == -1);
	T_CHECK(e.os == ENOTSUP);
	T_CHECK(disk_write(d, buf, 1, 0, &e) == -1);
	T_CHECK(e.os == ENOTSUP);
	T_CHECK(disk_write(d, buf, 2, 1023, &e) == -1);
	T_CHECK(e.os == ENOSPC);
	T_CHECK(strstr(e.text, "at sector 1, behind the end") != NULL);
	T_CHECK(disk_truncate(d, 1, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(disk_sync(d, &e) == 0);
	T_CHECK(disk_close(d, &e) == 0);
}

struct feed {
	int fd;
	size_t total;
};

static void *
feed_slowly(void *arg)
{
	const struct feed *f = arg;
	uint8_t b[997];

	memset(b, 0x5a, sizeof b);
	for (size_t done = 0, n; done < f->total; done += n) {
		n = f->total - done < sizeof b ? f->total - done : sizeof b;
		if (write(f->fd, b, n) != (ssize_t)n)
			break;
	}
	close(f->fd);
	return NULL;
}

/* Standard input is a pipe that does not block and is fed in small pieces. */
static void
test_stdin(void)
{
	enum { TOTAL = 300000 };
	static uint8_t b[TOTAL];
	int p[2], saved = dup(STDIN_FILENO);
	pthread_t t;
	struct disk *d;

	T_CHECK(pipe2(p, O_CLOEXEC) == 0);
	T_CHECK(fcntl(p[0], F_SETFL, O_NONBLOCK) == 0);
	struct feed f = { p[1], TOTAL };
	T_CHECK(dup2(p[0], STDIN_FILENO) == STDIN_FILENO);
	T_CHECK(close(p[0]) == 0);
	d = must_open("-", DISK_READ);
	T_CHECK(disk_kind(d) == DISK_STREAM);
	T_CHECK(!disk_seekable(d));
	T_CHECK(disk_size_bytes(d) == UINT64_MAX);
	T_CHECK(strcmp(disk_name(d), "stdin") == 0);
	T_CHECK(pthread_create(&t, NULL, feed_slowly, &f) == 0);
	T_CHECK(disk_read(d, b, 100000, 0, &e) == 0);
	T_CHECK(is_filled(b, 100000, 0x5a));
	T_CHECK(disk_read(d, b, 10, 0, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(strstr(e.text, "stdin: is at byte 100000") != NULL);
	T_CHECK(disk_read_upto(d, b, TOTAL, 100000, &e) == TOTAL - 100000);
	T_CHECK(disk_read_upto(d, b, 1, TOTAL, &e) == 0);
	T_CHECK(disk_read(d, b, 1, TOTAL, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(strcmp(e.text, "stdin: ends at byte 300000, too early") == 0);
	pthread_join(t, NULL);
	T_CHECK(disk_close(d, &e) == 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void
test_stdout(void)
{
	int p[2], saved = dup(STDOUT_FILENO);
	uint8_t b[2000];
	struct disk *d;

	fflush(stdout);
	bool piped = pipe2(p, O_CLOEXEC) == 0 &&
	             dup2(p[1], STDOUT_FILENO) == STDOUT_FILENO;
	close(p[1]);
	bool both = disk_open(&d, "-", RW, &e) == -1 && e.kind == ERR_USAGE;
	bool ok = disk_open(&d, "-", DISK_WRITE, &e) == 0 &&
	          disk_kind(d) == DISK_STREAM && disk_write(d, "abcd", 4, 0, &e) == 0 &&
	          disk_zero(d, 4, 1000, &e) == 0 &&
	          disk_write(d, "efgh", 4, 1004, &e) == 0;
	bool backwards = disk_write(d, "x", 1, 4, &e) == -1 &&
	                 e.kind == ERR_UNSUPPORTED && disk_zero(d, 4, 1, &e) == -1;
	bool done = disk_truncate(d, 5, &e) == -1 && disk_sync(d, &e) == 0 &&
	            disk_close(d, &e) == 0;
	dup2(saved, STDOUT_FILENO);
	close(saved);
	T_CHECK(piped);
	T_CHECK(both);
	T_CHECK(ok);
	T_CHECK(backwards);
	T_CHECK(done);
	T_CHECK(read(p[0], b, sizeof b) == 1008);
	T_CHECK(memcmp(b, "abcd", 4) == 0);
	T_CHECK(is_filled(b + 4, 1000, 0));
	T_CHECK(memcmp(b + 1004, "efgh", 4) == 0);
	close(p[0]);
}

static void
test_characters(void)
{
	uint8_t b[100];
	struct disk *d = must_open("/dev/null", RW | DISK_TRUNC);
	int tty = posix_openpt(O_RDWR | O_NOCTTY);

	T_CHECK(disk_kind(d) == DISK_NULL);
	T_CHECK(disk_size_bytes(d) == UINT64_MAX);
	T_CHECK(disk_write(d, b, 0, 0, &e) == 0);
	T_CHECK(disk_write(d, "ab", 2, 1ull << 40, &e) == 0);
	T_CHECK(disk_zero(d, 5, 3 << 20, &e) == 0);
	T_CHECK(disk_sync(d, &e) == 0);
	T_CHECK(disk_read_upto(d, b, 100, 0, &e) == 0);
	T_CHECK(disk_close(d, &e) == 0);
	d = must_open("/dev/full", DISK_WRITE);
	T_CHECK(disk_write(d, "ab", 2, 0, &e) == -1);
	T_CHECK(e.os == ENOSPC);
	T_CHECK(
	    strcmp(e.text, "/dev/full: writing byte 0: No space left on device") == 0);
	T_CHECK(disk_close(d, &e) == 0);
	T_CHECK(refused(
	    "/dev/no-such-disk", DISK_WRITE | DISK_CREATE, ERR_IO, "No such file"));
	T_CHECK(access("/dev/no-such-disk", F_OK) != 0);
	if (tty < 0 || grantpt(tty) != 0 || unlockpt(tty) != 0 ||
	    ptsname(tty) == NULL) {
		skip("terminal", "no pseudo-terminals here");
		return;
	}
	T_CHECK(refused(ptsname(tty), DISK_WRITE, ERR_REFUSED, "is a terminal"));
	d = must_open(ptsname(tty), DISK_WRITE | DISK_FORCE);
	T_CHECK(disk_kind(d) == DISK_STREAM);
	T_CHECK(disk_close(d, &e) == 0);
	close(tty);
}

/* With sectors of 4096 bytes, so that "unaligned" means something. */
static void
test_block(void)
{
	char dev[64];
	uint8_t b[5000], c[5000];
	struct disk *d;

	T_CHECK(sh("truncate -s %d disk", FILE_BYTES) == 0);
	if (!loop_attach("disk", "-b 4096", dev, sizeof dev)) {
		skip("block device", "no loop device to be had (not root?)");
		return;
	}
	d = must_open(dev, RW | DISK_CREATE | DISK_TRUNC);
	T_CHECK(disk_kind(d) == DISK_BLOCK);
	T_CHECK(disk_size_bytes(d) == FILE_BYTES);
	T_CHECK(disk_sector_bytes(d) == 4096);
	memset(b, 0x77, sizeof b);
	T_CHECK(disk_write(d, b, sizeof b, 4096 * 3 - 77, &e) == 0);
	T_CHECK(disk_read(d, c, sizeof c, 4096 * 3 - 77, &e) == 0);
	T_CHECK(memcmp(b, c, 5000) == 0);
	T_CHECK(disk_read(d, c, 77, 4096 * 3 - 154, &e) == 0);
	T_CHECK(is_filled(c, 77, 0));
	test_zero(d);
	T_CHECK(disk_write(d, b, 5000, FILE_BYTES - 4999, &e) == -1);
	T_CHECK(e.os == ENOSPC);
	T_CHECK(disk_read(d, b, 5000, FILE_BYTES - 4999, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	T_CHECK(disk_truncate(d, 5, &e) == -1);
	T_CHECK(disk_size_bytes(d) == FILE_BYTES);
	T_CHECK(disk_reread_partitions(d, &e) == 0);
	T_CHECK(disk_sync(d, &e) == 0);
	/* A lock is of one open disk, and nobody overrules it. */
	setenv("FRISBEE_TEST_TIMES", "hold=0.01", 1);
	T_CHECK(refused(dev, DISK_WRITE, ERR_REFUSED, "in use: another program has locked it"));
	T_CHECK(refused(dev, DISK_WRITE | DISK_FORCE, ERR_REFUSED, "has locked it"));
	T_CHECK(refused(in_scratch("disk"), RW | DISK_FORCE, ERR_REFUSED, "has locked it"));
	T_CHECK(disk_close(d, &e) == 0);
	struct disk *forced = must_open(dev, DISK_WRITE | DISK_FORCE);
	T_CHECK(disk_close(forced, &e) == 0);
	unsetenv("FRISBEE_TEST_TIMES");
}

/* A back end of its own errors, in units of seven bytes, of which byte i is i. */
static int
read_units(void *ctx, void *buf, size_t len, uint64_t off, struct err *why)
{
	unsigned *bad = ctx;

	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(off + i);
	err_set(why, ERR_IO, "tried in vain");
	*bad += len == 0 || len % 7 != 0 || off % 7 != 0;
	return off <= 70 && 70 < off + len ? err_set(why, ERR_FORMAT, "70 is bad") : 0;
}

static bool
is_right(const struct disk_units *u, size_t len, uint64_t off)
{
	uint8_t got[40];
	bool right = disk_read_units(u, got, len, off, &e) == 0;

	for (size_t i = 0; i < len; i++)
		right &= got[i] == off + i;
	return right;
}

static void
test_units(void)
{
	unsigned bad = 0;
	const struct disk_units u = { 7, read_units, &bad };
	const struct disk_ops ops = { .read = read_units };
	bool right = true;
	struct disk *d;
	uint8_t got[14];

	for (uint64_t off = 0; off < 30; off++)
		for (size_t len = 0; len < 40; len++)
			right &= is_right(&u, len, off);
	T_CHECK(right && bad == 0);
	T_CHECK(!is_right(&u, 1, 71) && e.kind == ERR_FORMAT);
	/* The error of a read that succeeds in the end says nothing. */
	T_CHECK(disk_open_ops(&d, "units", DISK_FILE, 84, &ops, &bad, &e) == 0);
	e.kind = ERR_NONE;
	T_CHECK(disk_read(d, got, 14, 7, &e) == 0 && got[13] == 20 && e.kind == ERR_NONE);
	T_CHECK(disk_read_upto(d, got, 14, 77, &e) == 7);
	T_CHECK(disk_read(d, got, 14, 77, &e) == -1);
	T_CHECK(strcmp(e.text, "units: ends at sector 0, too early") == 0);
	T_CHECK(disk_read(d, got, 14, 63, &e) == -1 && strcmp(e.text, "70 is bad") == 0);
	T_CHECK(disk_close(d, &e) == 0);
}

int
main(void)
{
	scratch_init();
	test_units();
	test_file();
	test_holes();
	test_faults();
	test_stdin();
	test_stdout();
	test_characters();
	test_block();
	return t_done();
}
