#include "frisbeed/loop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "common/base/cli.h"
#include "common/base/progress.h"
#include "common/net/mailbox.h"
#include "common/net/wire.h"
#include "frisbeed/reader.h"

enum {
	WAKE_US = 200000,		/* at least so often, for -T and signals */
	RESEND_US = 1000,		/* after the kernel had no room */
	BATCHES_A_TURN = 8,		/* then requests are looked at again */
};

/* Blocks on their way out.  Headers live here until they are sent. */
struct batch {
	unsigned n, sent;
	struct sock_block block[SOCK_BATCH_MAX];
	uint8_t header[SOCK_BATCH_MAX][WIRE_BLOCK_HEADER_BYTES];
};

struct loop {
	struct server *server;
	struct sock *sock;
	struct reader *reader;
	struct mailbox *read_done;
	const struct loop_config *cfg;
	struct batch batch;
	uint64_t now, last_heard;
	bool congested;			/* the kernel had no room */
};

static void
on_packet(void *arg, const void *pkt, size_t len, const uint8_t from[4])
{
	struct loop *l = arg;

	l->last_heard = l->now;
	server_input(l->server, l->now, pkt, len, from);
}

static int
collect_reads(struct loop *l, struct err *e)
{
	struct server_run run;
	uint32_t buf;

	while (mailbox_take(l->read_done, &buf)) {
		if (buf == l->cfg->ahead) {
			*e = *reader_error(l->reader);
			return -1;
		}
		server_read_done(l->server, buf);
	}
	/* Buffers whose blocks still wait in the batch may not be filled anew. */
	while (l->batch.n == 0 && server_read_next(l->server, &run))
		reader_ask(l->reader, &run);
	return 0;
}

/* 1 the batch is empty, 0 it has to wait, -1. */
static int
flush_batch(struct loop *l, struct err *e)
{
	struct batch *b = &l->batch;

	while (b->sent < b->n) {
		int n = sock_send_blocks(l->sock, b->block + b->sent, b->n - b->sent, e);
		if (n < 0)
			return -1;
		if (n == 0) {
			l->congested = true;
			server_overrun(l->server);
			return 0;
		}
		b->sent += (unsigned)n;
	}
	b->n = b->sent = 0;
	return 1;
}

static void
add_block(struct loop *l, const struct server_out *out)
{
	struct batch *b = &l->batch;
	unsigned i = b->n++;

	wire_put_block_header(b->header[i], sock_netif(l->sock)->addr, out->chunk, out->block);
	b->block[i] = (struct sock_block){ b->header[i], reader_block(l->reader, out->buf, out->at),
		WIRE_BLOCK_HEADER_BYTES, WIRE_BLOCK_BYTES };
}

/* Fill and send one batch: 1 there may be more, 0 not now, -1. */
static int
send_batch(struct loop *l, struct err *e)
{
	struct server_out out;

	while (l->batch.n < SOCK_BATCH_MAX && server_output(l->server, l->now, &out)) {
		if (out.kind == SERVER_OUT_BLOCK)
			add_block(l, &out);
		else if (sock_send(l->sock, out.pkt, out.len, e) < 0)
			return -1;
	}
	if (l->batch.n == 0)
		return 0;
	bool full = l->batch.n == SOCK_BATCH_MAX;
	int rc = flush_batch(l, e);
	return rc == 1 ? full : rc;
}

static int
send_some(struct loop *l, struct err *e)
{
	int rc = flush_batch(l, e);

	for (int i = 0; rc == 1 && i < BATCHES_A_TURN; i++)
		rc = send_batch(l, e);
	return rc < 0 ? -1 : 0;
}

static void
wait_for_work(struct loop *l)
{
	struct pollfd fds[2] = { { .fd = sock_fd(l->sock), .events = POLLIN },
		{ .fd = mailbox_fd(l->read_done), .events = POLLIN } };
	uint64_t at = l->congested ? l->now + RESEND_US : server_deadline(l->server, l->now);
	uint64_t wait = at <= l->now ? 0 : at - l->now < WAKE_US ? at - l->now : WAKE_US;
	struct timespec ts = { (time_t)(wait / 1000000), (long)(wait % 1000000) * 1000 };

	l->congested = false;
	ppoll(fds, 2, &ts, NULL);
	l->now = clock_us();
}

static void
keep_alive(struct loop *l)
{
	if (l->cfg->keepalive_us == 0 || l->now - l->last_heard < l->cfg->keepalive_us)
		return;
	l->last_heard = l->now;
	sock_rejoin(l->sock);
}

static int
serve(struct loop *l, struct err *e)
{
	l->now = l->last_heard = clock_us();
	while (cli_signal() == 0 && !server_done(l->server, l->now)) {
		if (sock_receive(l->sock, on_packet, l, e) != 0 || collect_reads(l, e) != 0 ||
		    send_some(l, e) != 0 || collect_reads(l, e) != 0)
			return -1;
		keep_alive(l);
		wait_for_work(l);
	}
	return 0;
}

int
loop_run(struct server *server, struct sock *sock, struct disk *image,
    const struct loop_config *cfg, struct err *e)
{
	struct loop l = { .server = server, .sock = sock, .cfg = cfg };

	if (mailbox_new(&l.read_done, cfg->ahead + 1, e) != 0)
		return -1;
	int rc = reader_new(&l.reader, image, cfg->ahead, cfg->run_blocks, l.read_done, e);
	if (rc == 0)
		rc = serve(&l, e);
	reader_free(l.reader);
	mailbox_free(l.read_done);
	return rc;
}
