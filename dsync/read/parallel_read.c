/* parallel_read.c: direct reads that are under way together, by io_uring where the kernel
 * has it.  The threads of an extract call this.  Read one by one, small blocks at random
 * places come slowly, because a disk is fast only with several requests at once, and each
 * read costs the thread two changes of context.  Whatever cannot be read in this way is
 * read by uncached_read_into(), which also says what is wrong. */
#include "dsync/read/parallel_read.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	DEPTH = 32,   /* reads of one thread that are under way */
	WORTH_IT = 4, /* fewer pieces are read one by one */
};

struct parallel_read {
	struct uncached *uncached;
	size_t n_max, bytes_max;
	uint8_t *room;    /* the units of all pieces, one piece behind the other */
	uint8_t **base;   /* where the units of each piece begin */
	bool *got;        /* the piece was read */
	bool may_ring;    /* the ring was not refused yet */
	bool has_ring;    /* it is made for the first pieces that are worth it */
	struct io_uring ring;
};

int
parallel_read_new(struct parallel_read **out, struct uncached *uncached, size_t n,
    size_t bytes, struct err *e)
{
	struct parallel_read *m = calloc(1, sizeof *m);
	/* A piece has at most two units that it shares with what is before and behind it. */
	size_t room = (bytes / UNCACHED_UNIT_BYTES + 2 * n + 1) * UNCACHED_UNIT_BYTES;

	*out = NULL;
	if (m == NULL)
		return err_nomem(e, "reading");
	m->uncached = uncached;
	m->n_max = n;
	m->bytes_max = bytes;
	m->room = aligned_alloc(UNCACHED_UNIT_BYTES, room);
	m->base = calloc(n, sizeof *m->base);
	m->got = calloc(n, sizeof *m->got);
	if (m->room == NULL || m->base == NULL || m->got == NULL) {
		parallel_read_free(m);
		return err_nomem(e, "reading");
	}
	m->may_ring = getenv("FRISBEE_NO_URING") == NULL;
	*out = m;
	return 0;
}

static bool
begin_ring(struct parallel_read *m)
{
	if (!m->has_ring && m->may_ring)
		m->may_ring = m->has_ring = io_uring_queue_init(DEPTH, &m->ring, 0) == 0;
	return m->has_ring;
}

static void
end_ring(struct parallel_read *m)
{
	if (m->has_ring)
		io_uring_queue_exit(&m->ring);
	m->has_ring = m->may_ring = false;
}

void
parallel_read_free(struct parallel_read *m)
{
	if (m == NULL)
		return;
	end_ring(m);
	free(m->room);
	free(m->base);
	free(m->got);
	free(m);
}

/* Bytes from the beginning of the first unit to the end of the piece. */
static size_t
reach(struct range piece)
{
	return (size_t)(piece.off % UNCACHED_UNIT_BYTES + piece.len);
}

static size_t
units_bytes(struct range piece)
{
	return (reach(piece) + UNCACHED_UNIT_BYTES - 1) / UNCACHED_UNIT_BYTES * UNCACHED_UNIT_BYTES;
}

static void
lay_out(struct parallel_read *m, const struct range *pieces, size_t n)
{
	size_t at = 0, bytes = 0;

	for (size_t i = 0; i < n; i++) {
		m->base[i] = m->room + at;
		m->got[i] = false;
		at += units_bytes(pieces[i]);
		bytes += (size_t)pieces[i].len;
	}
	assert(n <= m->n_max && bytes <= m->bytes_max);
}

/* Put reads into the ring, while there is room: *under_way of them are there. */
static void
launch(struct parallel_read *m, int fd, const struct range *pieces, size_t n, size_t *next,
    unsigned *under_way)
{
	for (; *next < n && *under_way < DEPTH; (*next)++, (*under_way)++) {
		struct range r = pieces[*next];
		struct io_uring_sqe *sqe = io_uring_get_sqe(&m->ring);
		io_uring_prep_read(sqe, fd, m->base[*next], (unsigned)units_bytes(r),
		    r.off - r.off % UNCACHED_UNIT_BYTES);
		io_uring_sqe_set_data64(sqe, *next);
	}
}

/* Take the results that are there.  Returns how many. */
static unsigned
collect(struct parallel_read *m, const struct range *pieces)
{
	struct io_uring_cqe *cqe;
	unsigned n = 0;

	for (; io_uring_peek_cqe(&m->ring, &cqe) == 0; n++) {
		size_t i = (size_t)io_uring_cqe_get_data64(cqe);
		m->got[i] = cqe->res >= 0 && (size_t)cqe->res >= reach(pieces[i]);
		io_uring_cqe_seen(&m->ring, cqe);
	}
	return n;
}

/* The kernel takes no more reads.  Those that it has taken still write into the room. */
static void
give_up(struct parallel_read *m, const struct range *pieces, unsigned taken)
{
	struct io_uring_cqe *cqe;

	while (taken > 0)
		if (io_uring_wait_cqe(&m->ring, &cqe) == 0)
			taken -= collect(m, pieces);
	end_ring(m);
}

/* Read what can be read in this way; got[] says which pieces were. */
static void
read_together(struct parallel_read *m, const struct range *pieces, size_t n)
{
	int fd = begin_ring(m) ? uncached_direct_fd(m->uncached) : -1;
	unsigned under_way = 0, taken = 0; /* in the ring, and by the kernel */
	size_t next = 0;

	while (fd >= 0 && (next < n || under_way > 0)) {
		launch(m, fd, pieces, n, &next, &under_way);
		int rc = io_uring_submit_and_wait(&m->ring, (under_way + 1) / 2);
		if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY) {
			give_up(m, pieces, taken);
			return;
		}
		taken += rc > 0 ? (unsigned)rc : 0;
		unsigned done = collect(m, pieces);
		under_way -= done;
		taken -= done;
	}
}

int
parallel_read_get(struct parallel_read *m, const struct range *pieces, size_t n,
    uint8_t **data, struct err *e)
{
	lay_out(m, pieces, n);
	if (n >= WORTH_IT)
		read_together(m, pieces, n);
	for (size_t i = 0; i < n; i++) {
		data[i] = m->base[i] + pieces[i].off % UNCACHED_UNIT_BYTES;
		if (!m->got[i] && uncached_read_into(m->uncached, m->base[i], pieces[i].off,
				      (size_t)pieces[i].len, &data[i], e) != 0)
			return -1;
	}
	return 0;
}
