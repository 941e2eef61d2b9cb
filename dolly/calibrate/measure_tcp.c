/* measure_tcp.c: TCP over the loopback interface and over a link (measure_tcp.h).
 * calibrate.c and the command call it, in the program's first thread; over the loopback
 * interface a thread of its own receives. */
#include "dolly/calibrate/measure_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/pipeline.h"
#include "common/net/accepting.h"
#include "common/net/await.h"
#include "common/net/border.h"
#include "dolly/calibrate/measure_cpu.h"

enum {
	PIECE_BYTES = 64
	              << 10, /* of one call: what the program's own connections use */
	SILENT_S = 5,        /* the longest time without a byte on a connection */
	SECOND_US = 1000000,
	SILENT_US = SILENT_S * SECOND_US,
	ASKERS_MAX = 64,     /* connections to one that waits for measurements */
	PIECES = 16,         /* that are moved for one of them before others have a turn */
	FAST_BYTES = 128 << 10, /* whoever moves so many in a second is measuring */
	/* A connection is slow at first, and its first bytes are in buffers: a third of
	 * the time passes before bytes are counted. */
	WARM_PART = 3,
};

/* One end of a connection, and the bytes that it sends or takes. */
struct end {
	int fd;
	uint8_t *piece; /* PIECE_BYTES */
};

static int
end_new(struct end *x, int fd, struct err *e)
{
	const struct timeval silent = { SILENT_S, 0 };
	int off = 0;

	*x = (struct end){ fd, malloc(PIECE_BYTES) };
	if (x->piece == NULL)
		return err_nomem(e, "a connection");
	if (ioctl(fd, FIONBIO, &off) != 0)
		return err_os(e, "a socket");
	fill_with_noise(x->piece, PIECE_BYTES);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silent, sizeof silent);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silent, sizeof silent);
	return 0;
}

static void
end_free(struct end *x)
{
	if (x->fd >= 0)
		close(x->fd);
	free(x->piece);
}

static int
failed(const char *what, struct err *e)
{
	if (errno == EAGAIN)
		return err_set(
		    e, ERR_IO, "%s: no byte has passed for %d seconds", what, SILENT_S);
	return err_os(e, "%s", what);
}

static int
send_piece(void *arg, double *bytes, struct err *e)
{
	struct end *x = arg;
	ssize_t n = send(x->fd, x->piece, PIECE_BYTES, MSG_NOSIGNAL);

	if (n < 0 && errno != EINTR)
		return failed("sending to measure TCP", e);
	*bytes += n > 0 ? (double)n : 0;
	return 0;
}

static int
take_piece(void *arg, double *bytes, struct err *e)
{
	struct end *x = arg;
	ssize_t n = recv(x->fd, x->piece, PIECE_BYTES, 0);

	if (n == 0)
		return err_set(e, ERR_IO, "the other side has closed the connection");
	if (n < 0 && errno != EINTR)
		return failed("receiving to measure TCP", e);
	*bytes += n > 0 ? (double)n : 0;
	return 0;
}

static int
connect_to(const uint8_t address[4], uint16_t port, struct err *e)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(&a.sin_addr, address, sizeof a.sin_addr);
	if (fd < 0)
		return err_os(e, "a socket");
	int rc = connect(fd, (const struct sockaddr *)&a, sizeof a);
	if (rc != 0)
		rc = errno == EINPROGRESS
		         ? await_connection(fd, clock_us() + SILENT_S * 1000000, e)
		         : err_os(e, "cannot connect");
	if (rc == 0)
		return fd;
	close(fd);
	return err_ctx(e, "%s, port %u", inet_ntoa(a.sin_addr), port);
}

/* --- over the loopback interface --- */

struct receiver {
	struct end end;
	double cpu_s;
};

/* Takes all that comes, in a thread of its own. */
static int
take_all(void *arg, struct err *e)
{
	struct receiver *r = arg;
	double start_s = measure_cpu_s();
	ssize_t n;

	(void)e;
	while ((n = recv(r->end.fd, r->end.piece, PIECE_BYTES, 0)) > 0)
		;
	r->cpu_s = measure_cpu_s() - start_s;
	return 0;
}

static int
send_and_take(struct measured *m, struct end *from, struct receiver *to, double seconds,
    struct err *e)
{
	struct pipeline *p = pipeline_new();

	if (p == NULL)
		return err_nomem(e, "a thread");
	int rc = pipeline_start(p, take_all, to);
	if (rc == 0)
		rc = measure_repeat(m, seconds, send_piece, from, e);
	(void)shutdown(from->fd, SHUT_RDWR);
	if (pipeline_join(p, rc == 0 ? e : &(struct err){ 0 }) != 0)
		rc = -1;
	pipeline_free(p);
	m->cpu_s = (m->cpu_s + to->cpu_s) / 2;
	return rc;
}

int
measure_loopback(struct measured *m, double seconds, struct err *e)
{
	static const uint8_t here[4] = { 127, 0, 0, 1 };
	struct end from = { .fd = -1 };
	struct receiver to = { .end = { .fd = -1 } };
	struct accepting a = { 0 };
	uint16_t port = 0;
	int rc = accepting_port(&a, here, &port, false, e), fd = -1;

	if (rc == 0) {
		fd = connect_to(here, port, e);
		rc = fd < 0 ? -1 : end_new(&from, fd, e);
	}
	if (rc == 0) {
		fd = accepting_next(&a, NULL, NULL);
		rc = fd < 0 ? err_os(e, "a connection") : end_new(&to.end, fd, e);
	}
	if (rc == 0)
		rc = send_and_take(m, &from, &to, seconds, e);
	end_free(&from);
	end_free(&to.end);
	if (a.listener >= 0)
		close(a.listener);
	return rc;
}

/* --- over a link --- */

static int
open_link(struct end *x, const uint8_t address[4], uint16_t port, const char *word,
    struct err *e)
{
	int fd = connect_to(address, port, e);

	x->fd = -1;
	x->piece = NULL;
	if (fd < 0 || end_new(x, fd, e) != 0)
		return -1;
	if (send(fd, word, LINK_WORD_BYTES, MSG_NOSIGNAL) != LINK_WORD_BYTES)
		return err_os(e, "the connection");
	return 0;
}

/* Bytes that were sent and that the other side has not acknowledged. */
static double
under_way(const struct end *x)
{
	int n = 0;

	return ioctl(x->fd, SIOCOUTQ, &n) == 0 ? n : 0;
}

static int
measure_out(struct measured *m, struct end *x, double seconds, struct err *e)
{
	struct measured warm;

	if (measure_repeat(&warm, seconds / WARM_PART, send_piece, x, e) != 0)
		return -1;
	double before = under_way(x);
	if (measure_repeat(m, seconds - seconds / WARM_PART, send_piece, x, e) != 0)
		return -1;
	m->bytes += before - under_way(x);
	return 0;
}

static int
measure_in(struct measured *m, struct end *x, double seconds, struct err *e)
{
	struct measured warm;

	if (measure_repeat(&warm, seconds / WARM_PART, take_piece, x, e) != 0)
		return -1;
	return measure_repeat(m, seconds - seconds / WARM_PART, take_piece, x, e);
}

int
measure_link(struct measured *out, struct measured *in, const uint8_t address[4],
    uint16_t port, double seconds, struct err *e)
{
	struct end x;
	int rc = open_link(&x, address, port, LINK_TAKE, e);

	if (rc == 0)
		rc = measure_out(out, &x, seconds / 2, e);
	end_free(&x);
	if (rc != 0)
		return -1;
	rc = open_link(&x, address, port, LINK_SEND, e);
	if (rc == 0)
		rc = measure_in(in, &x, seconds / 2, e);
	end_free(&x);
	return rc;
}

/* Whoever has connected. */
struct asker {
	struct caller caller;
	size_t n; /* bytes of its word that have come */
	char word[LINK_WORD_BYTES];
	uint64_t since_us;           /* when its word was complete */
	uint64_t bytes, told;        /* that were moved; when it last counted as being there */
	uint64_t second_us, by_then; /* when its second began, and its bytes by then */
};

/* One that waits for measurements. */
struct link {
	struct border *border;
	unsigned *served;
	uint64_t pieces;    /* that were moved for all */
	struct asker *fast; /* it measures, and the others wait; NULL: nobody does */
	uint8_t out[PIECE_BYTES], in[PIECE_BYTES];
};

static bool
is_word(const struct asker *a, const char *word)
{
	return a->n == sizeof a->word && memcmp(a->word, word, sizeof a->word) == 0;
}

/* Nobody measures now: all may go on. */
static void
nobody_is_fast(struct link *l)
{
	l->fast = NULL;
	for (struct caller *c = border_first(l->border); c != NULL; c = c->next)
		border_want(c, is_word((struct asker *)c, LINK_SEND) ? EPOLLOUT : EPOLLIN);
}

/* Is this one measuring?  Whoever moves little uses nothing of the link that others would
 * miss, so it keeps nobody waiting. */
static void
judge(struct link *l, struct asker *a, uint64_t now)
{
	uint64_t us = now - a->second_us;

	if (us < SECOND_US)
		return;
	if ((a->bytes - a->by_then) * SECOND_US / us >= FAST_BYTES)
		l->fast = a;
	else if (l->fast == a)
		nobody_is_fast(l);
	a->second_us = now;
	a->by_then = a->bytes;
}

static void
moved(struct link *l, struct asker *a, size_t n)
{
	uint64_t before = a->bytes;

	a->bytes += n;
	judge(l, a, clock_us());
	if (a->bytes - a->told < PIECE_BYTES)
		return;
	*l->served += before < PIECE_BYTES;
	a->told = a->bytes;
	l->pieces++;
	border_heard(&a->caller, l->fast == a ? SECOND_US : SILENT_US);
}

/* Sends or takes a few pieces.  False: the connection has ended, or has had its time. */
static bool
move_some(struct link *l, struct asker *a)
{
	int fd = a->caller.watch.fd;
	bool sends = is_word(a, LINK_SEND);

	for (unsigned i = 0; i < PIECES; i++) {
		ssize_t n = sends ? send(fd, l->out, PIECE_BYTES, MSG_NOSIGNAL)
		                  : recv(fd, l->in, PIECE_BYTES, 0);
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		moved(l, a, (size_t)n);
	}
	return clock_us() - a->since_us < (uint64_t)LINK_SERVE_S * SECOND_US;
}

/* Takes more of the word.  False: it is no word, or the connection has ended. */
static bool
hear_word(struct asker *a)
{
	ssize_t n = recv(a->caller.watch.fd, a->word + a->n, sizeof a->word - a->n, 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	a->n += (size_t)n;
	if (a->n < sizeof a->word)
		return true;
	a->since_us = a->second_us = clock_us();
	border_heard(&a->caller, SILENT_US);
	if (is_word(a, LINK_SEND))
		border_want(&a->caller, EPOLLOUT);
	return is_word(a, LINK_SEND) || is_word(a, LINK_TAKE);
}

static void
on_asker(void *arg, struct caller *c, uint32_t events)
{
	struct asker *a = (struct asker *)c;
	struct link *l = arg;

	if ((events & (EPOLLHUP | EPOLLERR)) != 0 ||
	    (a->n < sizeof a->word && !hear_word(a)))
		border_hang_up(c);
	else if (a->n == sizeof a->word && l->fast != NULL && l->fast != a)
		border_want(c, 0);
	else if (a->n == sizeof a->word && !move_some(l, a))
		border_hang_up(c);
}

/* One that has measured and moves nothing any more keeps the others waiting no longer. */
static bool
late(void *arg, struct caller *c)
{
	struct link *l = arg;
	bool fast = l->fast == (struct asker *)c;

	if (fast) {
		nobody_is_fast(l);
		border_heard(c, SILENT_US - SECOND_US);
	}
	return fast;
}

static void
gone(void *arg, struct caller *c)
{
	struct link *l = arg;

	if (l->fast == (struct asker *)c)
		nobody_is_fast(l);
}

/* Strangers who measure nothing do not keep the port open. */
static int
serve_until_idle(struct loop *loop, struct link *l, uint64_t idle_us, struct err *e)
{
	uint64_t now, end_us = clock_us() + idle_us;

	while ((now = clock_us()) < end_us) {
		uint64_t before = l->pieces;
		loop_once(loop, (int)((end_us - now) / 1000 + 1));
		if (cancel_check(e) != 0)
			return -1;
		if (l->pieces > before)
			end_us = clock_us() + idle_us;
	}
	return 0;
}

int
link_serve(uint16_t port, uint64_t idle_s, unsigned *served,
    void (*told)(void *arg, uint16_t port), void *arg, struct err *e)
{
	struct link *l = calloc(1, sizeof *l);
	const struct border_config config = { .port = port,
		.limits = { ASKERS_MAX, ASKERS_MAX / 2, SILENT_US },
		.caller_bytes = sizeof(struct asker),
		.ready = on_asker,
		.late = late,
		.gone = gone,
		.arg = l };
	struct loop loop;

	*served = 0;
	if (l == NULL)
		return err_nomem(e, "a link");
	l->served = served;
	fill_with_noise(l->out, PIECE_BYTES);
	int rc = loop_open(&loop, e);
	if (rc == 0)
		rc = border_open(&l->border, &loop, &config, e);
	if (rc == 0 && told != NULL)
		told(arg, border_port(l->border));
	cancel_wakes(rc == 0 ? &loop : NULL);
	if (rc == 0)
		rc = serve_until_idle(&loop, l, idle_s * 1000000, e);
	cancel_wakes(NULL);
	border_close(l->border);
	loop_close(&loop);
	free(l);
	return rc;
}
