/* loop.c: what a stream does until its end: it passes packets to the engine and from it, and asks
 * the reader for blocks ahead of sending.  stream.c calls serve_run(), in the
 * stream's thread. */
#include "frisbeed/serve/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mailbox.h"
#include "common/base/timed.h"
#include "common/net/outage.h"
#include "common/net/silence.h"
#include "common/wire/parity.h"
#include "common/wire/wirext.h"
#include "frisbeed/serve/probes.h"
#include "frisbeed/serve/reader.h"

enum {
	WAKE_US = 200000,        /* the loop looks at -T and for signals at least this often */
	RESEND_US = 1000,        /* until sending is tried again when the kernel had no room */
	BATCHES_A_TURN = 8,      /* batches that are sent before the time is looked at again */
	/* Bursts follow each other in 100 us or less, and to look at sockets and reads between
	 * all of them would cost as much as to send them.  Requests may wait for this time. */
	LOOK_US = 1000,
	/* Each time that the reader is asked for more it has to be woken, so while blocks are
	 * there it is asked for several runs at a time. */
	READS_US = 5000,
	FILE_CHECK_US = 1000000, /* between two checks that the file has not changed */
	FAREWELL_US = 2000000,   /* how long clients are told that the file has changed */
	/* after this time without a word of any client, the group is joined again */
	PATIENCE_US = 2000000,
};

/* Packets with blocks that are sent together.  Their headers are kept here until they are
 * sent. */
struct batch {
	struct sock *sock;
	unsigned n, sent;
	struct sock_block block[SOCK_BATCH_MAX];
	uint8_t header[SOCK_BATCH_MAX][WIRE_BLOCK_HEADER_BYTES];
};

/* What the loop waits for, besides its times. */
enum awaited { AWAITS_SOCK, AWAITS_READS, AWAITS_SECOND, AWAITS_PROBES, AWAITS_ARRIVALS, AWAITED };

struct loop {
	struct server *server;
	struct sock *sock;
	struct pollfd fds[AWAITED]; /* with what was there after the last wait */
	struct reader *reader;
	struct mailbox *read_done;
	const struct loop_config *cfg;
	struct source *image;
	uint64_t check_at, stale_us; /* stale_us: found changed then; 0: it is the same */
	bool renamed; /* the name was found to belong to another file */
	struct batch batch, parity, packs;
	uint8_t parity_data[SOCK_BATCH_MAX][WIRE_BLOCK_BYTES];
	uint64_t now;
	uint64_t looked_us; /* when the descriptors were last looked at */
	bool looks;         /* that was just now */
	uint64_t reads_us;  /* when the reader was last asked for more */
	struct silence silence;
	struct outage outage;
	struct probes *probes;
	bool congested;  /* the kernel had no room */
	uint64_t stalls; /* how often the kernel had no room */
	uint64_t tick_at;
};

static void
on_packet(void *arg, const void *pkt, size_t len, const uint8_t from[4])
{
	struct loop *l = arg;

	if (!allow_has(l->cfg->allow, from))
		return;
	silence_broken(&l->silence, l->now);
	if (probes_input(l->probes, l->now, pkt, len, from))
		return;
	if (l->cfg->heard != NULL)
		l->cfg->heard(l->cfg->arg, l->now, pkt, len, from);
	server_input(l->server, l->now, pkt, len, from);
}

static int
collect_reads(struct loop *l, struct err *e)
{
	struct server_run run;
	struct event ev;

	while (mailbox_take(l->read_done, &ev)) {
		if (ev.what == READER_FAILED) {
			*e = *reader_error(l->reader);
			return -1;
		}
		uint32_t chunk, content;
		if (reader_content(l->reader, ev.n, &chunk, &content))
			server_content(l->server, chunk, content);
		server_read_done(l->server, ev.n);
	}
	/* No run is asked for while blocks wait in a batch, because the buffers of these blocks
	 * must not be filled again before they are sent. */
	while (l->batch.n + l->packs.n == 0 && server_read_next(l->server, &run))
		reader_ask(l->reader, &run);
	return 0;
}

/* Asks the source for the chunks that a client waits for, before all others. */
static void
ask_source(struct loop *l)
{
	uint32_t chunk;

	while (server_lacks(l->server, &chunk))
		source_want(l->image, chunk, NULL, SOURCE_SOON);
}

/* Tells the engine which chunks have arrived of an image that still comes. */
static int
collect_arrivals(struct loop *l, struct err *e)
{
	const struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	uint32_t chunk;
	int rc;

	while ((rc = source_arrived(l->image, &chunk, e)) == 1)
		server_have(l->server, l->now, chunk, &all);
	return rc;
}

/* Sends a batch.  1: it is empty now; 0: the rest has to wait; -1: error. */
static int
flush_batch(struct loop *l, struct batch *b, struct err *e)
{
	while (b->sent < b->n) {
		int n = sock_send_blocks(
		    b->sock, b->block + b->sent, b->n - b->sent, e);
		if (n < 0)
			return -1;
		if (n == 0) {
			l->congested = true;
			l->stalls++;
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

	wire_put_block_header(
	    b->header[i], sock_netif(l->sock)->addr, out->chunk, out->block);
	b->block[i] = (struct sock_block){ b->header[i],
		reader_block(l->reader, out->buf, out->at), WIRE_BLOCK_HEADER_BYTES,
		WIRE_BLOCK_BYTES };
}

static void
add_pack(struct loop *l, const struct server_out *out)
{
	struct batch *b = &l->packs;
	unsigned i = b->n++;

	wirext_put_data_header(b->header[i],
	    out->kind == SERVER_OUT_URGENT ? WIREXT_URGENT_DATA : WIREXT_DATA,
	    sock_netif(l->sock)->addr, l->cfg->session, out->chunk, out->block, out->count,
	    out->content);
	b->block[i] = (struct sock_block){ b->header[i],
		reader_block(l->reader, out->buf, out->at), WIREXT_DATA_HEADER_BYTES,
		(size_t)out->count * WIRE_BLOCK_BYTES };
}

/* The packet of parity is made at once, because its buffer is reused after the chunk's last
 * parity block. */
static void
add_parity(struct loop *l, const struct server_out *out)
{
	struct batch *b = &l->parity;
	unsigned i = b->n++;

	wirext_put_parity_header(b->header[i], sock_netif(l->sock)->addr,
	    l->cfg->session, out->chunk, out->group, out->index, out->content);
	parity_make(reader_block(l->reader, out->buf, 0), out->group, out->index,
	    l->parity_data[i]);
	b->block[i] = (struct sock_block){ b->header[i], l->parity_data[i],
		WIREXT_PARITY_HEADER_BYTES, WIRE_BLOCK_BYTES };
}

static int
add_output(struct loop *l, const struct server_out *out, struct err *e)
{
	if (out->kind == SERVER_OUT_BLOCK)
		add_block(l, out);
	else if (out->kind == SERVER_OUT_PARITY)
		add_parity(l, out);
	else if (out->kind == SERVER_OUT_DATA || out->kind == SERVER_OUT_URGENT)
		add_pack(l, out);
	else
		return sock_send(
		    wirext_is(out->pkt, out->len) ? l->cfg->second : l->sock, out->pkt,
		    out->len, e);
	return 0;
}

static int
flush_all(struct loop *l, struct err *e)
{
	struct batch *all[] = { &l->batch, &l->packs, &l->parity };
	int rc = 1;

	for (unsigned i = 0; i < sizeof all / sizeof all[0] && rc == 1; i++)
		rc = flush_batch(l, all[i], e);
	/* The kernel refused a packet as too long: the interface was changed meanwhile. */
	if (l->packs.sock != NULL && sock_was_too_long(l->packs.sock))
		server_data_limit(l->server, 1);
	return rc;
}

static bool
is_full(const struct loop *l)
{
	return l->batch.n == SOCK_BATCH_MAX || l->parity.n == SOCK_BATCH_MAX ||
	       l->packs.n == SOCK_BATCH_MAX;
}

/* Fills and sends one batch of each kind.  1: there may be more; 0: there is no more now; -1:
 * error. */
static int
send_batch(struct loop *l, struct err *e)
{
	struct server_out out;

	while (!is_full(l) && server_output(l->server, l->now, &out))
		if (add_output(l, &out, e) < 0)
			return -1;
	if (l->batch.n + l->parity.n + l->packs.n == 0)
		return 0;
	bool full = is_full(l);
	int rc = flush_all(l, e);
	return rc == 1 ? full : rc;
}

static int
send_some(struct loop *l, struct err *e)
{
	int rc = flush_all(l, e);

	for (int i = 0; rc == 1 && i < BATCHES_A_TURN; i++) {
		rc = send_batch(l, e);
		l->now = clock_us(); /* time signals contain the time of sending */
	}
	return rc < 0 ? -1 : 0;
}

/* Waits until one of the descriptors is readable, and sees which ones are. */
static void
look(struct loop *l, uint64_t wait_us)
{
	const int fds[AWAITED] = { [AWAITS_SOCK] = sock_fd(l->sock),
		[AWAITS_READS] =
		    server_has_blocks(l->server) ? -1 : mailbox_fd(l->read_done),
		[AWAITS_SECOND] = l->cfg->second != NULL ? sock_fd(l->cfg->second) : -1,
		[AWAITS_PROBES] = probes_fd(l->probes),
		[AWAITS_ARRIVALS] = source_arrivals_fd(l->image) };
	const struct timespec ts = { (time_t)(wait_us / 1000000),
		(long)(wait_us % 1000000) * 1000 };

	for (int i = 0; i < AWAITED; i++)
		l->fds[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	ppoll(l->fds, AWAITED, &ts, NULL);
}

/* When there is something to do even if nothing is heard or read. */
static uint64_t
wakes_us(const struct loop *l)
{
	if (outage_goes_on(&l->outage))
		return l->outage.again_us;
	return l->congested ? l->now + RESEND_US : server_deadline(l->server, l->now);
}

/* Between bursts it only sleeps. */
static void
wait_for_work(struct loop *l)
{
	uint64_t at = wakes_us(l);
	uint64_t most = l->cfg->tick != NULL ? l->cfg->tick_us : WAKE_US;
	uint64_t wait = at <= l->now ? 0 : at - l->now < most ? at - l->now : most;

	l->congested = false;
	l->looks = !server_has_blocks(l->server) || l->now + wait >= l->looked_us + LOOK_US;
	if (l->looks)
		look(l, wait);
	else if (wait > 0)
		timed_sleep(wait);
	l->now = clock_us();
	if (l->looks)
		l->looked_us = l->now;
}

/* Joins the group again after a silence.  Requests arrive through the group, too: if none arrive,
 * there may be no client, or a switch has forgotten this host.  Leaving and joining again informs
 * the switch, and costs little. */
static void
mind_silence(struct loop *l)
{
	if (!silence_due(&l->silence, l->now, PATIENCE_US))
		return;
	log_debug("no client was heard; joining the group again");
	sock_rejoin(l->sock, l->cfg->second);
}

/* Without a network the session stands still, and only -T ends it.  This host may have another
 * address when the network is back. */
static void
mind_outage(struct loop *l)
{
	char text[OUTAGE_TEXT_MAX];
	enum outage_news news =
	    outage_mind(&l->outage, l->now, l->sock, l->cfg->second, text);

	if (news == OUTAGE_BEGAN)
		log_warn("%s", text);
	if (news != OUTAGE_ENDED)
		return;
	log_info("%s", text);
	server_set_address(l->server, sock_netif(l->sock)->addr);
	probes_moved(l->probes, sock_netif(l->sock)->addr);
	silence_broken(&l->silence, l->now);
}

/* Tells clients that they do not have the right key, and writes so into the log. */
static void
mind_ignored(struct loop *l)
{
	char text[IGNORED_TEXT_MAX];

	while (sock_say_ignored(l->sock, l->now, false, text))
		log_warn("%s file=%s", text, source_name(l->image));
	sock_answer_ignored(l->sock, l->now);
}

static int
look_at_file(struct loop *l, struct err *e)
{
	l->check_at = l->now + FILE_CHECK_US;
	if (!l->renamed && !identity_named(l->cfg->identity)) {
		l->renamed = true;
		log_warn("the name now belongs to another file; the file that was "
			 "opened is still served"
			 " file=%s",
		    source_name(l->image));
	}
	return identity_look(l->cfg->identity, e);
}

/* Checks the file.  A file that was written to or cut off is no longer the image that is
 * served.  A file that has only lost its name is still whole, and is served to the end. */
static int
check_file(struct loop *l, struct err *e)
{
	struct identity *id = l->cfg->identity;

	if (l->stale_us != 0 && l->now >= l->stale_us + FAREWELL_US)
		return err_set(e, ERR_IO, "%s: changed while it was being served",
		    source_name(l->image));
	if (l->stale_us != 0)
		return 0;
	if (l->now >= l->check_at && look_at_file(l, e) != 0)
		return -1;
	if (!identity_changed(id))
		return 0;
	log_err("the file was changed while it is served; the clients are told file=%s",
	    source_name(l->image));
	l->stale_us = l->now;
	server_image_changed(l->server);
	return 0;
}

/* Sockets that had nothing are not asked: a burst is so short that this would cost more than to
 * send it. */
static int
receive(struct loop *l, struct err *e)
{
	if (l->fds[AWAITS_PROBES].revents != 0)
		probes_receive(l->probes, l->now);
	if (l->fds[AWAITS_SOCK].revents != 0 &&
	    sock_receive(l->sock, on_packet, l, e) != 0)
		return -1;
	return l->fds[AWAITS_SECOND].revents != 0
	           ? sock_receive(l->cfg->second, on_packet, l, e)
	           : 0;
}

static bool
has_heard(const struct loop *l)
{
	for (int i = 0; i < AWAITED; i++)
		if (l->fds[i].revents != 0)
			return true;
	return false;
}

/* Takes what was read, and asks for what will be sent: at once when nothing is there to be
 * sent, or when something was heard that may have changed what is to be read. */
static int
mind_reads(struct loop *l, struct err *e)
{
	if (server_has_blocks(l->server) && !has_heard(l) &&
	    l->now < l->reads_us + READS_US)
		return 0;
	l->reads_us = l->now;
	return collect_reads(l, e);
}

/* Takes what has arrived, and looks at what is done now and then. */
static int
take_in(struct loop *l, struct err *e)
{
	if (check_file(l, e) != 0 || collect_arrivals(l, e) != 0 || receive(l, e) != 0 ||
	    mind_reads(l, e) != 0)
		return -1;
	ask_source(l);
	mind_outage(l);
	mind_silence(l);
	mind_ignored(l);
	return 0;
}

/* Lets the stream look at the engine.  False: the session is to end. */
static bool
tick(struct loop *l)
{
	if (l->cfg->tick == NULL || l->now < l->tick_at)
		return true;
	l->tick_at = l->now + l->cfg->tick_us;
	return !l->cfg->tick(l->cfg->arg, l->server, l->now, l->stalls);
}

static int
serve(struct loop *l, struct err *e)
{
	l->now = clock_us();
	l->looks = true;
	silence_begin(&l->silence, l->now, l->cfg->keepalive_us);
	while (cancel_signal() == 0 && !server_done(l->server, l->now) && tick(l)) {
		if (l->looks && take_in(l, e) != 0)
			return -1;
		if (send_some(l, e) != 0)
			return -1;
		if (!server_has_blocks(l->server) && collect_reads(l, e) != 0)
			return -1;
		wait_for_work(l);
	}
	return 0;
}

int
serve_run(struct server *server, struct sock *sock, struct source *image,
    const struct loop_config *cfg, struct err *e)
{
	struct loop *l = calloc(1, sizeof *l);
	int rc = -1;

	if (l == NULL)
		return err_nomem(e, "the server");
	l->server = server;
	l->sock = l->batch.sock = sock;
	l->parity.sock = l->packs.sock = cfg->second;
	l->cfg = cfg;
	l->image = image;
	if (mailbox_new(&l->read_done, cfg->ahead + SERVER_PARITY_BUFFERS + SERVER_URGENT_BUFFERS + 1,
		e) ==
	    0) {
		l->probes = probes_new(
		    sock, cfg->second, server, cfg->session, clock_us());
		rc = reader_new(&l->reader, image, cfg->ahead, cfg->run_blocks,
		    cfg->second != NULL, cfg->identity, l->read_done, e);
		if (rc == 0)
			rc = serve(l, e);
		reader_free(l->reader);
		probes_free(l->probes);
		mailbox_free(l->read_done);
	}
	free(l);
	return rc;
}
