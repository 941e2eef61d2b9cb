/* flight.c: several writes to one disk are under way at once.  target.c owns a flight and
 * calls this in the thread that writes; without io_uring, threads of its own do the
 * writes (thread_main()). */
#include "common/disk/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/queue.h"
#include "common/disk/disk_impl.h"

enum {
	DEPTH = 32,
	THREADS = 4,
	/* From an unaligned buffer, a piece of more than 256 pages takes more than one
	 * request, and io_uring hands such a write to a thread of its own. */
	PIECE_BYTES = 512 << 10,
	PAGE_BYTES = 4096,
	MEMORY_ALIGN = 512, /* devices want a buffer's address to be a multiple */
};

struct piece {
	const uint8_t *buf;
	size_t len;
	uint64_t off;
	uint64_t ticket; /* 0: idle */
	int result;      /* bytes, or -errno */
};

struct flight {
	struct disk *disk;
	int fd; /* the disk, opened with O_DIRECT */
	bool uring;
	struct io_uring ring;
	/* Without io_uring: pieces go to the threads in `out`, and come back in `back`. */
	struct queue *out, *back;
	pthread_t thread[THREADS];
	unsigned nthreads;
	struct piece piece[DEPTH];
	struct piece *idle[DEPTH];
	unsigned nidle;
	uint64_t launched; /* the newest ticket */
};

static void *
thread_main(void *arg)
{
	struct flight *f = arg;
	void *item;

	while (queue_get(f->out, &item) == QUEUE_OK) {
		struct piece *p = item;
		ssize_t n = pwrite(f->fd, p->buf, p->len, (off_t)p->off);
		p->result = n < 0 ? -errno : (int)n;
		queue_put(f->back, p);
	}
	return NULL;
}

static int
start_threads(struct flight *f, struct err *e)
{
	f->out = queue_new(DEPTH);
	f->back = queue_new(DEPTH);
	if (f->out == NULL || f->back == NULL)
		return err_nomem(e, "writes in flight");
	for (; f->nthreads < THREADS; f->nthreads++) {
		errno = thread_start(&f->thread[f->nthreads], thread_main, f);
		if (errno != 0 && f->nthreads == 0)
			return err_os(e, "cannot start a thread");
		if (errno != 0)
			break;
	}
	return 0;
}

int
flight_new(struct flight **out, struct disk *d, bool must, struct err *e)
{
	int fd = disk_fd(d) >= 0 ? disk_fd_direct(disk_fd(d), O_WRONLY) : -1;

	*out = NULL;
	if (fd < 0)
		return must ? err_set(e, ERR_UNSUPPORTED,
				  "%s: does not allow direct writes (-f)", disk_name(d))
		            : 0;
	struct flight *f = calloc(1, sizeof *f);
	if (f == NULL) {
		close(fd);
		return err_nomem(e, "writes in flight");
	}
	f->disk = d;
	f->fd = fd;
	while (f->nidle < DEPTH) {
		f->idle[f->nidle] = &f->piece[f->nidle];
		f->nidle++;
	}
	f->uring = getenv("FRISBEE_NO_URING") == NULL &&
	           io_uring_queue_init(DEPTH, &f->ring, 0) == 0;
	if (!f->uring && start_threads(f, e) != 0) {
		flight_free(f);
		return -1;
	}
	*out = f;
	return 0;
}

void
flight_free(struct flight *f)
{
	if (f == NULL)
		return;
	if (f->uring)
		io_uring_queue_exit(&f->ring);
	if (f->out != NULL)
		queue_close(f->out);
	for (unsigned i = 0; i < f->nthreads; i++)
		pthread_join(f->thread[i], NULL);
	queue_free(f->out);
	queue_free(f->back);
	close(f->fd);
	free(f);
}

const char *
flight_means(const struct flight *f)
{
	return f->uring ? "io_uring" : "threads";
}

/* Wait until one piece is done, and return it; it is idle again. */
static struct piece *
next_done(struct flight *f)
{
	struct io_uring_cqe *cqe;
	struct piece *p;
	void *item;

	if (!f->uring) {
		queue_get(f->back, &item);
		p = item;
	} else {
		while (io_uring_wait_cqe(&f->ring, &cqe) != 0)
			; /* a signal; nothing else can happen here */
		p = io_uring_cqe_get_data(cqe);
		p->result = cqe->res;
		io_uring_cqe_seen(&f->ring, cqe);
	}
	p->ticket = 0;
	f->idle[f->nidle++] = p;
	return p;
}

static int
collect(struct flight *f, struct err *e)
{
	const struct piece *p = next_done(f);

	if (p->result == (int)p->len)
		return 0;
	/* The write failed, or only a part was written: repeat it through the page cache. */
	return disk_write(f->disk, p->buf, p->len, p->off, e);
}

uint64_t
flight_ticket(const struct flight *f)
{
	return f->launched;
}

static bool
all_landed(const struct flight *f, uint64_t ticket)
{
	for (unsigned i = 0; i < DEPTH; i++)
		if (f->piece[i].ticket != 0 && f->piece[i].ticket <= ticket)
			return false;
	return true;
}

int
flight_land_upto(struct flight *f, uint64_t ticket, struct err *e)
{
	struct err later;
	int rc = 0;

	while (!all_landed(f, ticket))
		if (collect(f, rc == 0 ? e : &later) != 0)
			rc = -1;
	return rc;
}

int
flight_land(struct flight *f, struct err *e)
{
	return flight_land_upto(f, UINT64_MAX, e);
}

static int
launch(struct flight *f, const uint8_t *buf, size_t len, uint64_t off, struct err *e)
{
	if (f->nidle == 0 && collect(f, e) != 0)
		return -1;
	struct piece *p = f->idle[--f->nidle];
	*p = (struct piece){ buf, len, off, ++f->launched, 0 };
	if (!f->uring) {
		queue_put(f->out, p);
		return 0;
	}
	/* An entry is free: the ring has as many as there are pieces. */
	struct io_uring_sqe *sqe = io_uring_get_sqe(&f->ring);
	io_uring_prep_write(sqe, f->fd, buf, (unsigned)len, off);
	io_uring_sqe_set_data(sqe, p);
	int rc;
	do
		rc = io_uring_submit(&f->ring);
	while (rc == -EINTR || rc == -EAGAIN || rc == -EBUSY);
	if (rc < 0) {
		p->ticket = 0;
		f->idle[f->nidle++] = p;
		errno = -rc;
		return err_os(e, "%s: submitting a write", disk_name(f->disk));
	}
	return 0;
}

int
flight_write(
    struct flight *f, const void *data, size_t len, uint64_t off, struct err *e)
{
	const uint8_t *buf = data;
	uint64_t from = (off + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	uint64_t to = (off + len) / PAGE_BYTES * PAGE_BYTES;

	if (from >= to || ((uintptr_t)buf + (from - off)) % MEMORY_ALIGN != 0)
		return disk_write(f->disk, buf, len, off, e);
	if (from > off && disk_write(f->disk, buf, from - off, off, e) != 0)
		return -1;
	for (uint64_t at = from; at < to; at += PIECE_BYTES) {
		size_t n = to - at < PIECE_BYTES ? (size_t)(to - at) : PIECE_BYTES;
		if (launch(f, buf + (at - off), n, at, e) != 0)
			return -1;
	}
	if (off + len > to &&
	    disk_write(f->disk, buf + (to - off), off + len - to, to, e) != 0)
		return -1;
	return 0;
}
