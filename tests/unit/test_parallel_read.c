/* Pieces of a file that are read together: of any place and length, up to an end that is no multiple of
 * a page, where direct reads or io_uring are refused, and where reads fail. */
#include "dsync/read/parallel_read.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>

#include "tests/random.h"
#include "tests/unit/scratch.h"

enum { FILE_BYTES = 3 * 1000 * 1000 + 1, PIECES = 200, BYTES = 1 << 20 };

/* What the library asks of the system.  Waiting for the ring fails from this call on; 0: never. */
static unsigned calls, fails_from;

int
io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	if (++calls >= fails_from && fails_from != 0)
		return -EINVAL;
	int rc = io_uring_submit(ring);
	struct io_uring_cqe *cqe;
	return rc < 0 || io_uring_wait_cqe_nr(ring, &cqe, n) == 0 ? rc : -EINTR;
}

static uint8_t expected[FILE_BYTES];
static struct err e;

/* Pieces that ascend, the last of which ends with the file; of `most` bytes at most. */
static size_t
make_pieces(struct range pieces[PIECES], size_t most, uint64_t seed)
{
	uint64_t at = 0;
	size_t n = 0;

	draw_seed = seed;
	for (; n < PIECES - 1; n++) {
		pieces[n] = (struct range){ at + draw(9000), 1 + draw(most) };
		at = range_end(pieces[n]);
	}
	pieces[n++] = (struct range){ FILE_BYTES - 5000, 5000 };
	return n;
}

static bool
right(const struct range *pieces, size_t n, uint8_t *const *data)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(data[i], expected + pieces[i].off, (size_t)pieces[i].len) != 0)
			return false;
	return true;
}

/* Read all pieces of three kinds, by one reader. */
static int
read_all(const char *path)
{
	static struct range pieces[PIECES];
	uint8_t *data[PIECES];
	struct disk *d;
	struct uncached *p;
	struct parallel_read *m;

	if (disk_open(&d, path, DISK_READ, &e) != 0 || uncached_new(&p, d, &e) != 0 ||
	    parallel_read_new(&m, p, PIECES, BYTES, &e) != 0)
		return -1;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < 12; i++) {
		size_t n = make_pieces(pieces, i % 3 == 0 ? 5000 : 4096, i);
		size_t few = i % 4 == 3 ? 3 : n; /* too few to be worth it */
		rc = parallel_read_get(m, pieces, few, data, &e);
		T_CHECK(rc != 0 || right(pieces, few, data));
	}
	parallel_read_free(m);
	uncached_free(p);
	disk_close(d, &e);
	return rc;
}

int
main(void)
{
	scratch_init();
	for (size_t i = 0; i < FILE_BYTES; i++)
		expected[i] = (uint8_t)(i * 2654435761u >> 11);
	FILE *f = fopen(in_scratch("f"), "w");
	T_CHECK(f != NULL && fwrite(expected, 1, FILE_BYTES, f) == FILE_BYTES && fclose(f) == 0);

	T_CHECK(read_all(in_scratch("f")) == 0);
	unsigned with = calls;
	printf("# %u calls\n", with);
	for (fails_from = 1; fails_from < 8; fails_from++) {
		calls = 0;
		T_CHECK(read_all(in_scratch("f")) == 0);
	}
	fails_from = 0;
	setenv("FRISBEE_NO_URING", "1", 1);
	calls = 0;
	T_CHECK(read_all(in_scratch("f")) == 0 && calls == 0);
	unsetenv("FRISBEE_NO_URING");

	/* What is missing is said, with its place. */
	T_CHECK(truncate(in_scratch("f"), 1000 * 1000) == 0);
	T_CHECK(read_all(in_scratch("f")) != 0 && strstr(e.text, "f: ") != NULL);
	T_CHECK(truncate(in_scratch("f"), 0) == 0);
	T_CHECK(read_all(in_scratch("f")) != 0);
	return t_done();
}
