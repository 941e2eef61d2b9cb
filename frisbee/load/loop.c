/* loop.c: what a load's thread does until the end: it passes packets to the engine and from
 * it, and complete chunks to the feeder.  load.c calls loop_run(), in that thread. */
#include "frisbee/load/load_impl.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/test_times.h"
#include "common/net/outage.h"
#include "common/net/silence.h"
#include "common/wire/addr.h"
#include "common/wire/wirext.h"

enum {
	WAKE_US = 200000, /* the loop looks for signals at least this often */
	SECOND_US = 1000000,
	SHOWN_EVERY_US = 1000000, /* usual */
	/* After a silence longer than this, the group is joined again.  With the extension
	 * a server announces something every second; from a base-protocol server only
	 * blocks are expected.  The times vary, so that not all clients of a switch do so
	 * at the same moment. */
	PATIENCE_EXT_US = 1200000,
	PATIENCE_US = 2000000,
	PATIENCE_SPREAD_US = 300000,
	/* A user who waits in vain is told so after the first of these times (usual), and
	 * then at intervals of the second. */
	TELL_SOON_US = 5000000,
	TELL_AGAIN_US = 60000000,
};

struct loop {
	struct load *load; /* the thread's */
	const struct load_config *cfg;
	struct client *client;
	struct sock *sock, *second;
	struct feeder *feeder;
	uint64_t began_us, now, spread_us;
	/* When, and after which silence, the user is first told that nothing is heard. */
	uint64_t tell_at, tell_soon_us;
	uint64_t tick_at, packet_us; /* packet_us: when the last packet came; 0: none yet */
	struct load_stats *r;
	struct silence silence;
	struct outage outage;
	uint32_t held;    /* chunk buffers that the feeder has */
	uint32_t rejoins; /* how often the group was joined again, because of silence */
	uint32_t images;  /* how many images the feeder was told to expect */
	bool ending;      /* the feeder was told that no more chunks come */
	bool left;        /* the group was left */
	bool other_told;  /* the user was told of another server */
	bool feeder_failed, feeder_done;
};

static void
note_packet(struct loop *l)
{
	if (l->packet_us != 0 && l->now - l->packet_us >= SECOND_US && !l->ending) {
		l->r->stalls++;
		l->r->stalled_us += l->now - l->packet_us;
	}
	l->packet_us = l->now;
	l->r->packets++;
}

/* Gives blocks to the caller, somebody of whom waits for them. */
static void
give(struct loop *l, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	if (l->cfg->blocks != NULL)
		l->cfg->blocks(l->cfg->arg, chunk, first, count, data);
}

static void
on_packet(void *arg, const void *pkt, size_t len, const uint8_t from[4])
{
	struct loop *l = arg;
	struct client_store st;

	note_packet(l);
	silence_broken(&l->silence, l->now);
	if (!client_input(l->client, l->now, pkt, len, from, &st))
		return;
	client_store_into(&st, feeder_buffer(l->feeder, st.buf));
	if (st.beside > 0)
		give(l, st.chunk, st.block, st.beside, st.data);
}

/* Ask for what else is needed of a chunk whose table has come. */
static void
follow_plan(struct loop *l, uint32_t buf)
{
	const struct sink_part *p = feeder_planned(l->feeder, buf);

	client_need(l->client, l->now, buf, &p->need, p->final);
}

/* Ask for the damaged blocks of a chunk again, unless the server's own data is damaged. */
static int
mend(struct loop *l, uint32_t buf, struct err *e)
{
	const struct feeder_back *back = feeder_back(l->feeder, buf);

	l->held--;
	l->r->blocks_damaged += blockmap_count(&back->bad);
	unsigned times = client_again(l->client, l->now, buf, &back->bad);
	if (times == 0)
		return 0;
	*e = back->why;
	return err_ctx(
	    e, "chunk %u, which came %u times", back->came.number, times);
}

/* Asks for chunks that the sink needs because of what it found in other chunks: with --only, and
 * when the state on the target is that of another image. */
static void
follow_wants(struct loop *l)
{
	uint32_t chunk;

	while (feeder_wants(l->feeder, &chunk))
		client_want(l->client, l->now, chunk);
}

/* Takes an event of the feeder. */
static int
hear_feeder(struct loop *l, struct event ev, struct err *e)
{
	switch ((enum feeder_event)ev.what) {
	case FEEDER_FREE:
		client_release(l->client, l->now, ev.n);
		l->held--;
		return 0;
	case FEEDER_DAMAGED:
		return mend(l, ev.n, e);
	case FEEDER_PLANNED:
		follow_plan(l, ev.n);
		return 0;
	case FEEDER_WANTS:
		follow_wants(l);
		return 0;
	case FEEDER_FAILED:
		l->feeder_failed = true;
		return 0;
	case FEEDER_DONE:
		l->feeder_done = true;
	}
	return 0;
}

/* Gives to the caller those of the blocks that are in a buffer, and removes them from `need`.  The
 * feeder may have the buffer; it changes nothing but the places where parity lies. */
static void
give_what_is_here(struct loop *l, uint32_t chunk, struct blockmap *need)
{
	struct blockmap here;
	uint32_t buf;

	if (!client_has_some(l->client, chunk, &buf, &here))
		return;
	here = blockmap_and(here, need);
	*need = blockmap_minus(*need, &here);
	const uint8_t *bytes = feeder_buffer(l->feeder, buf);
	for (uint32_t b = 0, n; (n = blockmap_next_run(&here, &b)) > 0; b += n)
		give(l, chunk, b, n, bytes + (size_t)b * WIRE_BLOCK_BYTES);
}

/* Passes on to the engine the requests of other threads. */
static void
hear_asks(struct loop *l)
{
	struct asked_chunk c;

	while (asks_take(l->load->asks, &c)) {
		if (c.whole) {
			client_urgent(l->client, l->now, c.chunk);
			continue;
		}
		give_what_is_here(l, c.chunk, &c.need);
		if (!blockmap_empty(&c.need))
			client_read(l->client, l->now, c.chunk, &c.need);
	}
}

static int
take_mail(struct loop *l, struct err *e)
{
	struct event ev;

	while (mailbox_take(l->load->box, &ev))
		if (ev.what == ASKS_EVENT)
			hear_asks(l);
		else if (hear_feeder(l, ev, e) != 0)
			return -1;
	return 0;
}

static void
hand_over_one(struct loop *l, uint32_t chunk, uint32_t buf, uint32_t bytes)
{
	struct feeder_chunk c = { .number = chunk, .length = bytes };
	struct blockmap here;

	if (!feeder_info(l->feeder)->takes_parts) {
		c.parity_at = client_parity(l->client, buf);
	} else {
		here = client_here(l->client, buf);
		if (!client_is_final(l->client, buf)) {
			feeder_plan(l->feeder, buf, &here);
			return;
		}
		c.here = &here;
	}
	l->held++;
	l->r->chunks_received++;
	feeder_put(l->feeder, buf, &c);
}

/* Tells feeder and caller of the image, when a server has answered, or another one has after
 * the first answer turned out to be wrong. */
static void
begin_image(struct loop *l)
{
	struct client_image image;

	l->images = client_images(l->client);
	feeder_expect(l->feeder, client_chunks(l->client));
	if (l->cfg->image != NULL && client_image(l->client, &image))
		l->cfg->image(l->cfg->arg, &image);
}

static void
hand_over(struct loop *l)
{
	uint32_t chunk, buf, bytes;

	if (l->images != client_images(l->client))
		begin_image(l);
	while (client_take(l->client, &chunk, &buf, &bytes))
		hand_over_one(l, chunk, buf, bytes);
	const uint64_t chunk_bytes = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
	if (l->cfg->progress != NULL)
		l->cfg->progress(l->cfg->arg,
		    client_chunks_taken(l->client) * chunk_bytes,
		    client_chunks(l->client) * chunk_bytes);
	/* The feeder is ended only when it holds no buffer, because a chunk in one may be
	 * damaged, and must come again. */
	if (client_state(l->client) == CLIENT_COMPLETE && l->held == 0 && !l->ending) {
		l->ending = true;
		feeder_end(l->feeder);
	}
}

static int
send_requests(struct loop *l, struct err *e)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n;

	/* A packet that the kernel has no room for counts as lost, and is repeated. */
	while ((n = client_output(l->client, l->now, pkt)) > 0)
		if (sock_send(wirext_is(pkt, n) ? l->second : l->sock, pkt, n, e) < 0)
			return -1;
	return 0;
}

/* Open the second port as soon as it is known; leave the group after the last block. */
static void
follow_session(struct loop *l)
{
	struct sock_config nc = l->cfg->net;
	struct err e;

	uint16_t port = client_second_port(l->client);

	if (port != 0 && (l->second == NULL || sock_port(l->second) != port)) {
		sock_close(l->second);
		nc.port_lo = nc.port_hi = port;
		if (sock_open(&l->second, &nc, &e) != 0) {
			l->second = NULL;
			client_no_second_port(l->client);
		} else {
			sock_authenticate(l->second, l->load->auth, AUTH_SECOND);
		}
	}
	if (l->second == NULL || l->left || l->held > 0 ||
	    client_wants_blocks(l->client))
		return;
	l->left = true;
	sock_leave(l->sock);
	sock_leave(l->second);
}

static int
receive(struct loop *l, struct err *e)
{
	if (sock_receive(l->sock, on_packet, l, e) != 0)
		return -1;
	return l->second != NULL ? sock_receive(l->second, on_packet, l, e) : 0;
}

static void
wait_for_work(struct loop *l)
{
	struct pollfd fds[3] = { { .fd = sock_fd(l->sock), .events = POLLIN },
		{ .fd = mailbox_fd(l->load->box), .events = POLLIN },
		{ .fd = l->second != NULL ? sock_fd(l->second) : -1,
		    .events = POLLIN } };
	uint64_t at = client_deadline(l->client, l->now);
	uint64_t wait = at <= l->now            ? 0
	                : at - l->now < WAKE_US ? at - l->now
	                                        : WAKE_US;
	struct timespec ts = { (time_t)(wait / 1000000),
		(long)(wait % 1000000) * 1000 };

	ppoll(fds, 3, &ts, NULL);
	l->now = clock_us();
}

/* If nothing arrives, a switch may have forgotten this host: join again. */
static void
mind_silence(struct loop *l)
{
	uint64_t patience = l->second != NULL ? PATIENCE_EXT_US : PATIENCE_US;

	/* A base-protocol server is also silent when this client has no buffer for what it
	 * could send. */
	if (!client_wants_blocks(l->client) || l->held == l->cfg->buffers)
		silence_broken(&l->silence, l->now);
	if (!silence_due(&l->silence, l->now, patience + l->spread_us))
		return;
	l->rejoins++;
	sock_rejoin(l->sock, l->second);
}

static void
tell(struct loop *l, const char *sentence)
{
	if (l->cfg->say != NULL)
		l->cfg->say(l->cfg->arg, sentence);
}

/* Tell the user that packets with another key were ignored; it may be this client that
 * has the wrong key. */
static void
mind_ignored(struct loop *l)
{
	char text[IGNORED_TEXT_MAX];

	while (sock_say_ignored(
	    l->sock, l->now, client_chunks(l->client) == 0, text))
		tell(l, text);
}

/* Tell the user that the group has two servers with different images.  Which one this
 * client loads from is chance. */
static void
mind_other_server(struct loop *l)
{
	char text[300], addr[ADDR_TEXT_MAX], other[ADDR_TEXT_MAX];

	if (l->other_told || client_other_server(l->client) == NULL)
		return;
	l->other_told = true;
	addr_text(client_server(l->client), addr);
	snprintf(text, sizeof text,
	    "%s serves another image to this group than %s, whose image is loaded: name the "
	    "right one (-S), or demand the signature of a key (--verify-key)",
	    addr_text(client_other_server(l->client), other), addr);
	tell(l, text);
}

/* The server that -S names has not answered, but another one has, or the same one with
 * another of its addresses. */
static bool
tell_ignored(struct loop *l)
{
	char text[240], named[ADDR_TEXT_MAX], other[ADDR_TEXT_MAX];
	const uint8_t *ignored = client_ignored_server(l->client);

	if (ignored == NULL || client_chunks(l->client) != 0)
		return false;
	snprintf(text, sizeof text,
	    "%s serves this group and port, and not %s, which -S names: its answers are "
	    "ignored",
	    addr_text(ignored, other), addr_text(l->cfg->server, named));
	tell(l, text);
	return true;
}

/* Nothing is heard because the kernel drops it. */
static bool
tell_filtered(struct loop *l)
{
	char text[NETIF_FILTERED_MAX];

	if (!netif_filtered(sock_netif(l->sock), "packets", text))
		return false;
	tell(l, text);
	return true;
}

/* Tell the user that nothing is heard: a group that does not reach this host looks
 * like a server that has not begun. */
static void
mind_patience(struct loop *l)
{
	char text[200], addr[ADDR_TEXT_MAX];
	uint64_t heard = client_heard_us(l->client);
	bool ever = client_chunks(l->client) != 0;

	if (l->now < heard + l->tell_soon_us)
		l->tell_at = heard + (ever ? TELL_AGAIN_US : l->tell_soon_us);
	if (l->now < l->tell_at || outage_goes_on(&l->outage) ||
	    !client_wants_blocks(l->client) || l->held == l->cfg->buffers)
		return;
	l->tell_at = l->now + TELL_AGAIN_US;
	if (tell_ignored(l) || tell_filtered(l))
		return;
	snprintf(text, sizeof text,
	    "nothing was heard from %s:%u for %" PRIu64
	    " s%s",
	    addr_text(sock_dest(l->sock), addr), sock_port(l->sock),
	    (l->now - heard) / 1000000,
	    netif_is_group(sock_dest(l->sock))
		? "; frisbee --doctor with the same options says why"
		: "");
	tell(l, text);
}

/* Without a network the load stands still, and only -T ends it.  This host may have another
 * address when the network is back. */
static void
mind_outage(struct loop *l)
{
	char text[OUTAGE_TEXT_MAX];
	enum outage_news news =
	    outage_mind(&l->outage, l->now, l->sock, l->second, text);

	if (news == OUTAGE_NOTHING)
		return;
	tell(l, text);
	if (news == OUTAGE_ENDED)
		client_set_address(l->client, sock_netif(l->sock)->addr);
}

static enum load_state
state_of(const struct loop *l)
{
	if (client_chunks(l->client) == 0)
		return LOAD_WAITING;
	if (!client_wants_blocks(l->client))
		return LOAD_FLUSHING;
	return l->held == l->cfg->buffers ? LOAD_DISK_BOUND : LOAD_LOADING;
}

static void
note_engine(const struct loop *l)
{
	struct client_counters counters = client_counters(l->client);
	struct load_stats *r = l->r;

	r->state = state_of(l);
	r->seconds = (double)(l->now - l->began_us) / 1e6;
	r->stats = counters.wire;
	r->chunks = client_chunks(l->client);
	r->chunks_complete = client_chunks_taken(l->client);
	r->rejoins = l->rejoins;
	r->extension = l->second != NULL;
	r->blocks_not_requested = counters.not_asked;
	r->has_other_server = client_other_server(l->client) != NULL;
	if (r->has_other_server)
		memcpy(r->other_server, client_other_server(l->client), 4);
	r->parity_used = counters.parity_used;
	r->parity_unused = counters.parity_unused;
	r->blocks_left_out = counters.left_out;
}

static void
tick(struct loop *l)
{
	if (l->now < l->tick_at)
		return;
	l->tick_at = l->now + test_time_us("statistics", SHOWN_EVERY_US);
	note_engine(l);
	load_note(l->load, l->r);
	if (l->cfg->tick != NULL)
		l->cfg->tick(l->cfg->arg, l->r);
}

static int
gave_up(const struct loop *l, struct err *e)
{
	const char *why =
	    client_chunks(l->client) == 0 ? sock_ignored_reason(l->sock) : NULL;

	return err_set(e, ERR_IO,
	    "nothing was heard from the server for the time of -T%s",
	    why != NULL ? why : "");
}

static int
load_all(struct loop *l, struct err *e)
{
	while (!l->feeder_done && !l->feeder_failed) {
		if (cancel_check(e) != 0)
			return -1;
		if (receive(l, e) != 0)
			return -1;
		if (take_mail(l, e) != 0)
			return -1;
		hand_over(l);
		follow_session(l);
		if (send_requests(l, e) != 0)
			return -1;
		if (client_state(l->client) == CLIENT_REFUSED)
			return err_set(e, ERR_FORMAT, "%s", client_error(l->client));
		if (client_state(l->client) == CLIENT_GAVE_UP)
			return gave_up(l, e);
		mind_outage(l);
		mind_silence(l);
		mind_patience(l);
		mind_ignored(l);
		mind_other_server(l);
		tick(l);
		wait_for_work(l);
	}
	return 0;
}

/* Tells the server, also after a failure, that this client leaves, with the statistics. */
static void
leave(struct loop *l, const struct sink_sum *s)
{
	struct wire_stats shell = { .bytes_written = s->bytes_written,
		.bytes_covered = s->bytes_covered,
		.write_buffer_mb = (int32_t)l->cfg->write_mb };
	struct err ignored;

	if (client_counters(l->client).wire.join_attempts == 0)
		return;
	client_set_outcome(l->client, l->r->done);
	client_finish(l->client, l->now, &shell);
	send_requests(l, &ignored);
}

int
loop_run(struct load *load, struct load_stats *r, struct err *e)
{
	struct loop l = { .load = load,
		.cfg = &load->cfg,
		.client = load->client,
		.sock = load->sock,
		.feeder = load->feeder,
		.tell_soon_us = test_time_us("unheard", TELL_SOON_US),
		.r = r };
	struct err why;

	l.began_us = l.now = clock_us();
	l.spread_us = l.now % PATIENCE_SPREAD_US;
	silence_begin(&l.silence, l.now, l.cfg->keepalive_us);
	int rc = load_all(&l, e);
	r->gave_up = client_state(l.client) == CLIENT_GAVE_UP;
	load->feeder = NULL;
	if (feeder_close(l.feeder, &r->sum, &why) != 0 && rc == 0) {
		*e = why;
		rc = -1;
	}
	if (rc != 0)
		sink_add_left(r->sum.left, e);
	r->done = rc == 0;
	l.now = clock_us();
	leave(&l, &r->sum);
	note_engine(&l);
	sock_close(l.second);
	return rc;
}
