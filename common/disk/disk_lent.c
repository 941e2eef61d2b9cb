/* disk_lent.c: a disk is lent to a child of fork(2).  Code that forks calls disk_lend() and
 * disk_lent_end(), in one thread; borrowed_pread() runs in the child, lend() in a thread of
 * the parent.
 *
 * A question is two numbers (le64): the offset and the number of bytes.  The answer is the number
 * of bytes that follow (le64; NO_BYTES: they cannot be read), and these bytes. */
#include "common/disk/disk_lent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/rd.h"
#include "common/base/wr.h"

enum { PIECE_BYTES = 64 << 10, QUESTION_BYTES = 16, ANSWER_BYTES = 8 };

#define NO_BYTES UINT64_MAX

struct disk_lent {
	struct disk *disk, *borrowed;
	int ours, theirs; /* the two ends of the socket */
	pthread_t thread;
	uint8_t answer[ANSWER_BYTES + PIECE_BYTES];
};

/* Send n bytes, by send(2) with these flags, or by write(2) when flags is 0: the child may not
 * call send(2).  -1: the other side is gone. */
static int
send_all(int fd, const void *buf, size_t n, int flags)
{
	const uint8_t *p = buf;

	while (n > 0) {
		ssize_t now = flags != 0 ? send(fd, p, n, flags) : write(fd, p, n);
		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0)
			return -1;
		p += now;
		n -= (size_t)now;
	}
	return 0;
}

static int
receive_all(int fd, void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n > 0) {
		ssize_t now = read(fd, p, n);
		if (now < 0 && errno == EINTR)
			continue;
		if (now <= 0)
			return -1;
		p += now;
		n -= (size_t)now;
	}
	return 0;
}

/* --- in the parent --- */

static int
answer(struct disk_lent *l, const uint8_t question[QUESTION_BYTES])
{
	struct rd r = rd_from(question, QUESTION_BYTES);
	uint64_t off = rd_le64(&r), len = rd_le64(&r);
	struct wr w = wr_to(l->answer, ANSWER_BYTES);
	struct err ignored; /* the child says that it cannot read */

	len = len < PIECE_BYTES ? len : PIECE_BYTES;
	ssize_t n = disk_read_upto(
	    l->disk, l->answer + ANSWER_BYTES, (size_t)len, off, &ignored);
	wr_le64(&w, n < 0 ? NO_BYTES : (uint64_t)n);
	return send_all(
	    l->ours, l->answer, ANSWER_BYTES + (n < 0 ? 0 : (size_t)n), MSG_NOSIGNAL);
}

static void *
lend(void *arg)
{
	struct disk_lent *l = arg;
	uint8_t question[QUESTION_BYTES];

	while (receive_all(l->ours, question, sizeof question) == 0 &&
	       answer(l, question) == 0)
		;
	return NULL;
}

/* --- in the child --- */

static ssize_t
borrowed_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct disk_lent *l = ctx;
	uint8_t question[QUESTION_BYTES], head[ANSWER_BYTES];
	struct wr w = wr_to(question, sizeof question);

	len = len < PIECE_BYTES ? len : PIECE_BYTES;
	wr_le64(&w, off);
	wr_le64(&w, len);
	errno = EPIPE;
	if (send_all(l->theirs, question, sizeof question, 0) != 0 ||
	    receive_all(l->theirs, head, sizeof head) != 0)
		return -1;
	struct rd r = rd_from(head, sizeof head);
	uint64_t n = rd_le64(&r);
	errno = EIO;
	return n <= len && receive_all(l->theirs, buf, (size_t)n) == 0 ? (ssize_t)n : -1;
}

static int
borrow(struct disk_lent *l, struct err *e)
{
	static const struct disk_ops ops = { .pread = borrowed_pread };

	return disk_open_view(&l->borrowed, l->disk, &ops, l, e);
}

static void
free_lent(struct disk_lent *l)
{
	struct err ignored; /* nothing was written */

	disk_close(l->borrowed, &ignored);
	if (l->ours >= 0) {
		close(l->ours);
		close(l->theirs);
	}
	free(l);
}

static int
begin(struct disk_lent *l, struct err *e)
{
	int ends[2];

	if (borrow(l, e) != 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return err_os(e, "%s: a socket for a child process", disk_name(l->disk));
	l->ours = ends[0];
	l->theirs = ends[1];
	errno = thread_start(&l->thread, lend, l);
	return errno == 0 ? 0 : err_os(e, "cannot start a thread");
}

int
disk_lend(struct disk_lent **out, struct disk *d, struct disk **borrowed, struct err *e)
{
	struct disk_lent *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, disk_name(d));
	l->disk = d;
	l->ours = l->theirs = -1;
	if (begin(l, e) != 0) {
		free_lent(l);
		return -1;
	}
	*out = l;
	*borrowed = l->borrowed;
	return 0;
}

int
disk_lent_fd(const struct disk_lent *l)
{
	return l->theirs;
}

void
disk_lent_end(struct disk_lent *l)
{
	if (l == NULL)
		return;
	shutdown(l->ours, SHUT_RDWR);
	pthread_join(l->thread, NULL);
	free_lent(l);
}
