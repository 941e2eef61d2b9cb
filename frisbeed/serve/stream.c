/* stream.c: makes, runs and frees one engine with its reader and its part of the budget
 * (stream.h).  session.c and unicast.c call stream_run() in the stream's own thread. */
#include "frisbeed/serve/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/test_times.h"
#include "common/wire/addr.h"
#include "frisbeed/serve/loop.h"

enum {
	TICK_US = 50000,
	LINES_A_SECOND = 20, /* log lines about clients; more are only counted */
	OTHERS_US = 10000000, /* between two lines about another server */
	/* a stream goes on this long after its clients are done (usual) */
	LINGER_US = 1000000,
	LOOKS_EVERY_US = 1000000,
};

/* The state of a stream while it runs. */
struct running {
	const struct stream *s;
	struct tally last;
	int member; /* number in the budget; -1: none */
	uint64_t share; /* of the budget, bits a second */
	uint64_t left_us;   /* when a client left last; 0: none has left */
	uint64_t enough_us; /* when --until came true; 0: not yet */
	uint64_t looks_us;  /* when give_looks() last told something */
	struct order_finder *finder; /* finds the blocks of the order of reads; NULL: there is none */
};

static bool
may_log_of(struct running *r, struct limiter *l, uint64_t span_us, unsigned most,
    unsigned *left_out)
{
	struct stream_lines *lines = r->s->lines;

	pthread_mutex_lock(&lines->lock);
	bool may = limiter_may(l, clock_us(), span_us, most, left_out);
	pthread_mutex_unlock(&lines->lock);
	return may;
}

/* May one more line about a client be written?  Strangers must not fill the log. */
static bool
may_log(struct running *r)
{
	unsigned left_out;
	bool may = may_log_of(r, &r->s->lines->clients, 1000000, LINES_A_SECOND, &left_out);

	if (left_out > 0)
		log_warn("lines about clients left out file=%s lines=%u", r->s->name,
		    left_out);
	return may;
}

static void
on_joined(void *arg, const uint8_t ip[4], uint32_t id)
{
	struct running *r = arg;
	char text[ADDR_TEXT_MAX];

	if (may_log(r))
		log_info("client joined addr=%s id=%u file=%s", addr_text(ip, text),
		    id, r->s->name);
}

static void
on_left(void *arg, const uint8_t ip[4], uint32_t id, int32_t elapsed,
    const struct wire_stats *s)
{
	struct running *r = arg;
	char text[ADDR_TEXT_MAX];

	r->left_us = clock_us();
	if (!may_log(r))
		return;
	addr_text(ip, text);
	if (s == NULL)
		log_info("client left addr=%s id=%u seconds=%d file=%s", text, id,
		    elapsed, r->s->name);
	else
		log_info("client left addr=%s id=%u seconds=%d written=%" PRIu64
			 " requests=%u duplicate_blocks=%u "
			 "blocks_dropped_no_memory=%u idle_timeouts=%u file=%s",
		    text, id, elapsed, s->bytes_written, s->requests,
		    s->dup_finished + s->dup_in_progress, s->dropped_no_buffer,
		    s->idle_timeouts, r->s->name);
}

static void
on_gone(void *arg, const uint8_t ip[4], uint32_t id, uint64_t silent_us)
{
	struct running *r = arg;
	char text[ADDR_TEXT_MAX];

	clients_gone(r->s->clients, ip);
	if (may_log(r))
		log_warn("client is silent and counts as gone addr=%s id=%u "
			 "silence_s=%" PRIu64 " file=%s",
		    addr_text(ip, text), id, silent_us / 1000000, r->s->name);
}

static void
on_complaint(void *arg, const uint8_t ip[4], double share_received, bool half)
{
	struct running *r = arg;
	char text[ADDR_TEXT_MAX];

	if (may_log(r))
		log_warn("%s alone reports losses: it gets %.0f %% of what is sent; its "
			 "link may be slow, and the rate is %s lowered for it"
			 " file=%s",
		    addr_text(ip, text), 100 * share_received,
		    half ? "only half of the time" : "not", r->s->name);
}

static void
on_bad(void *arg, const uint8_t ip[4], const struct err *e)
{
	char text[ADDR_TEXT_MAX];

	if (may_log(arg))
		log_debug("bad packet addr=%s: %s", addr_text(ip, text), e->text);
}

static void
on_other(void *arg, const uint8_t ip[4])
{
	struct running *r = arg;
	char text[ADDR_TEXT_MAX], own[ADDR_TEXT_MAX];
	unsigned ignored;

	if (!may_log_of(r, &r->s->lines->others, OTHERS_US, 1, &ignored))
		return;
	log_warn("another frisbeed at %s serves this group and port: a client may load from "
		 "there; name this one (frisbee -S %s), or demand the signature of a key "
		 "(--verify-key) file=%s",
	    addr_text(ip, text), addr_text(sock_netif(r->s->sock)->addr, own), r->s->name);
}

static void
on_heard(void *arg, uint64_t now_us, const void *pkt, size_t len, const uint8_t from[4])
{
	struct running *r = arg;

	clients_heard(r->s->clients, now_us, pkt, len, from, r->s->client_port,
	    tally_packets(&r->last));
}

static void
give_tally(struct running *r, const struct server *server, uint64_t stalls)
{
	struct tally now = {
		.server = server_stats(server), .stalls = stalls, .limit = r->share
	};

	tally_add(r->s->tally, &now, &r->last);
	r->last = now;
}

static void
take_share(struct running *r, struct server *server, uint64_t now_us)
{
	struct server_stats st = server_stats(server);
	uint64_t bits = (st.blocks_sent + st.parity_sent + st.urgent_sent) *
	                WIRE_BLOCK_COST_BITS;

	if (r->member < 0)
		return;
	uint64_t share = budget_share(r->s->budget, r->member, now_us, bits);
	if (share != r->share) {
		server_set_rate(server, share);
		server_trust_rate(server, budget_carried(r->s->budget, r->member));
	}
	r->share = share;
}

static bool
is_aside(void *arg, const uint8_t ip[4], double *share_received)
{
	return server_is_aside(arg, ip, share_received);
}

/* Tell the statistics and the table on the terminal, now and then, which clients are set aside
 * and what was sent of the image. */
static void
give_looks(struct running *r, struct server *server, uint64_t now_us)
{
	if (now_us - r->looks_us < LOOKS_EVERY_US)
		return;
	r->looks_us = now_us;
	clients_aside(r->s->clients, is_aside, server);
	sentmap_draw(r->s->sentmap, server);
}

/* Hand the blocks of the order to the engine as soon as they are known. */
static void
give_order(struct running *r, struct server *server)
{
	struct order_blocks list;

	if (r->finder != NULL && order_finder_take(r->finder, &list))
		server_set_order(server, list.runs, list.n);
}

bool
stream_has_enough(const struct stream *s)
{
	uint32_t known, done = 0;

	if (s->until_clients != 0)
		clients_count(s->clients, &known, &done);
	return s->until_clients != 0 && done >= s->until_clients;
}

static bool
has_lingered(uint64_t since_us, uint64_t now_us)
{
	return since_us != 0 && now_us > since_us + test_time_us("linger", LINGER_US);
}

/* The session lingers, because a client that has just left may say so once more.  It goes on while
 * others are loading: one of those that reported may be no machine of the room. */
static bool
ends_after_enough(struct running *r, uint64_t now_us)
{
	const struct stream *s = r->s;

	if (s->client_port != 0 || !stream_has_enough(s) || clients_are_loading(s->clients))
		r->enough_us = 0;
	else if (r->enough_us == 0)
		r->enough_us = now_us;
	return has_lingered(r->enough_us, now_us);
}

static bool
on_tick(void *arg, struct server *server, uint64_t now_us, uint64_t stalls)
{
	struct running *r = arg;
	const struct stream *s = r->s;

	take_share(r, server, now_us);
	give_tally(r, server, stalls);
	give_order(r, server);
	if (s->client_port == 0)
		give_looks(r, server, now_us);
	else
		clients_progress(s->clients, sock_dest(s->sock), s->client_port,
		    r->last.server.blocks_sent - r->last.server.blocks_resent,
		    (s->server.image_bytes + WIRE_BLOCK_BYTES - 1) / WIRE_BLOCK_BYTES);
	bool over = s->client_port != 0 &&
	            (has_lingered(r->left_us, now_us) || sock_was_refused(s->sock));
	return over || ends_after_enough(r, now_us) || atomic_load(s->stop);
}

static void
say_where(struct running *r, const struct server *server)
{
	const struct stream *s = r->s;
	char text[ADDR_TEXT_MAX], pace[64];

	if (s->client_port != 0 && !may_log(r))
		return;
	if (s->server.rate_bits != 0)
		snprintf(pace, sizeof pace, "rate=%" PRIu64, s->server.rate_bits);
	else
		snprintf(pace, sizeof pace, "burst=%u gap_us=%" PRIu64, s->server.burst,
		    s->server.gap_us);
	log_info("serving file=%s chunks=%u addr=%s port=%u interface=%s %s", s->name,
	    server_chunks(server), addr_text(sock_dest(s->sock), text),
	    sock_port(s->sock), sock_netif(s->sock)->name, pace);
}

/* Only clients that know the extension get what an order names, and only with a pace
 * (server_set_order()). */
static void
begin_order(struct running *r, const struct server *server)
{
	struct order_config c = r->s->order;
	struct err e;

	if (c.order == NULL || r->s->second == NULL || !server_is_paced(&r->s->server))
		return;
	c.chunks = server_chunks(server);
	if (order_finder_start(&r->finder, &c, &e) != 0)
		log_warn("%s; no order of reads is used file=%s", e.text, r->s->name);
}

/* Run the loop as a member of the budget and of the statistics. */
static int
run(struct running *r, struct server *server, struct err *e)
{
	const struct stream *s = r->s;
	struct loop_config lc = { .ahead = s->server.ahead,
		.run_blocks = s->server.run_blocks,
		.keepalive_us = s->keepalive_us,
		.second = s->second,
		.session = s->server.ext.session,
		.allow = s->allow,
		.identity = s->identity,
		.heard = on_heard,
		.tick = on_tick,
		.arg = r,
		.tick_us = TICK_US };
	uint64_t now = clock_us();

	if (s->budget != NULL)
		r->member = budget_enter(s->budget, now);
	take_share(r, server, now);
	for (unsigned i = 0; i < 2; i++)
		if (s->first[i].len > 0)
			server_input(server, now, s->first[i].bytes, s->first[i].len,
			    s->first_from);
	begin_order(r, server);
	int rc = serve_run(server, s->sock, s->image, &lc, e);
	order_finder_end(r->finder);
	r->share = 0;
	give_tally(r, server, r->last.stalls);
	if (s->client_port == 0)
		sentmap_draw(s->sentmap, server);
	if (r->member >= 0)
		budget_leave(s->budget, r->member);
	return rc;
}

int
stream_run(const struct stream *s, struct err *e)
{
	struct running r = { .s = s, .member = -1 };
	struct server_log log = { .joined = on_joined,
		.left = on_left,
		.gone = on_gone,
		.complains = on_complaint,
		.bad = on_bad,
		.other = on_other,
		.arg = &r };
	struct server_config c = s->server;

	memcpy(c.srcip, sock_netif(s->sock)->addr, 4);
	struct server *server = server_new(&c, clock_us());
	if (server == NULL)
		return err_nomem(e, "the server");
	server_set_log(server, &log);
	if (s->client_port == 0)
		clients_image(s->clients, server_chunks(server));
	say_where(&r, server);
	int rc = run(&r, server, e);
	if (s->served != NULL)
		*s->served = server_stats(server).blocks_sent > 0;
	/* The clients of an engine that has ended are not counted any more. */
	struct tally none = r.last;
	none.server.clients = 0;
	none.server.proactive = 0;
	tally_add(s->tally, &none, &r.last);
	server_free(server);
	return rc;
}
