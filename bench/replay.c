/* replay.c: writes to a device what a list says, in order, one write after the other and past the page
 * cache.  bench/paper_dsync_guest runs it in its machine; one thread.
 *
 *	replay DEVICE < LIST
 *
 * LIST has two numbers of 64 bits for each write, in this machine's byte order: where it begins, and how
 * many bytes it has; 0 bytes: what was written is flushed.  Each page that is written is another one than before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFER = 1 << 20 };

static int
fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Bytes that are no zeros and do not repeat; write_all() gives each page a number of its own. */
static void
fill(uint8_t *buffer)
{
	uint64_t x = 88172645463325252U;

	for (size_t i = 0; i < BUFFER; i += sizeof x) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(buffer + i, &x, sizeof x);
	}
}

static int
write_all(int fd, uint8_t *buffer, uint64_t at, uint64_t n, uint64_t *page)
{
	while (n > 0) {
		size_t now = n < BUFFER ? (size_t)n : BUFFER;
		for (size_t i = 0; i < now; i += PAGE) {
			++*page;
			memcpy(buffer + i, page, sizeof *page);
		}
		if (pwrite(fd, buffer, now, (off_t)at) != (ssize_t)now)
			return -1;
		at += now;
		n -= now;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	uint8_t *buffer = aligned_alloc(PAGE, BUFFER);
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_DIRECT) : -1;
	uint64_t step[2], page = (uint64_t)time(NULL) << 32; /* the same list writes other pages each time */

	if (buffer == NULL || fd < 0)
		return fail(argc == 2 ? argv[1] : "DEVICE");
	fill(buffer);
	while (fread(step, sizeof step, 1, stdin) == 1)
		if ((step[1] == 0 ? fdatasync(fd) : write_all(fd, buffer, step[0], step[1], &page)) != 0)
			return fail(argv[1]);
	return fdatasync(fd) == 0 && close(fd) == 0 ? 0 : fail(argv[1]);
}
