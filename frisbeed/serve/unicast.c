/* unicast.c: each client of a session with --unicast gets a stream.  session.c calls
 * unicast_run() in the session's thread, which listens for new clients; each stream runs
 * in a thread of its own. */
#include "frisbeed/serve/unicast.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mailbox.h"
#include "common/base/random_bytes.h"
#include "common/base/test_times.h"
#include "common/net/outage.h"
#include "common/wire/addr.h"
#include "frisbeed/serve/strangers.h"

enum {
	WAKE_MS = 200,
	PACKETS_A_TURN = 256,
	CHECK_US = 1000000,       /* between two checks that the file has not changed */
	/* after this silence a client's stream ends; the client may ask for a new one */
	SILENT_US = 10000000,
	/* with -T < 0, the session goes on this long after the last stream (usual) */
	LINGER_US = 2000000,
	AHEAD = 64,               /* runs read ahead for one client */
	FULL_EVERY_US = 10000000, /* the log says at most this often that there is no room */
	/* One address may have this part of all streams, but at least ADDRESS_LEAST. */
	ADDRESS_PART = 8,
	ADDRESS_LEAST = 4,
};

enum guest_event { GUEST_HAS_ENDED /* number n */ };

/* One client and its thread. */
struct guest {
	bool used, served;
	unsigned number;
	uint8_t ip[4];
	uint16_t port;
	pthread_t thread;
	struct stream stream;
	struct auth *auth; /* of the stream's sock */
	uint8_t join[WIRE_PACKET_MAX], question[WIRE_PACKET_MAX];
	struct mailbox *ended;
};

/* The session with all its clients. */
struct hall {
	const struct unicast *u;
	atomic_bool stop;
	struct mailbox *ended;
	struct guest *guests; /* clients_max */
	struct strangers *strangers;
	struct outage outage;
	unsigned n;
	bool any; /* at least one client was served */
	uint64_t now, heard_us, check_at, full_us;
};

static void *
guest_main(void *arg)
{
	struct guest *g = arg;
	struct err e;

	if (stream_run(&g->stream, &e) != 0)
		log_err("a client's stream failed file=%s: %s", g->stream.name, e.text);
	mailbox_put(g->ended, GUEST_HAS_ENDED, g->number);
	return NULL;
}

static struct guest *
find(struct hall *h, const uint8_t ip[4], uint16_t port)
{
	for (unsigned i = 0; i < h->u->clients_max; i++) {
		struct guest *g = &h->guests[i];
		if (g->used && g->port == port && memcmp(g->ip, ip, 4) == 0)
			return g;
	}
	return NULL;
}

static struct guest *
free_place(struct hall *h)
{
	for (unsigned i = 0; i < h->u->clients_max; i++)
		if (!h->guests[i].used)
			return &h->guests[i];
	return NULL;
}

static int
open_guest(struct hall *h, struct guest *g, struct err *e)
{
	struct sock_config nc = h->u->net;
	char own[ADDR_TEXT_MAX];

	memcpy(nc.addr, g->ip, 4);
	nc.iface = addr_text(sock_netif(h->u->stream.sock)->addr, own);
	nc.port_lo = nc.port_hi = sock_port(h->u->stream.sock);
	nc.dest_port = g->port;
	nc.share_port = nc.connected = true;
	nc.any_sender = false;
	if (sock_open(&g->stream.sock, &nc, e) != 0)
		return -1;
	if (sock_branch_auth(&g->auth, h->u->stream.sock, e) != 0) {
		sock_close(g->stream.sock);
		return -1;
	}
	sock_authenticate(g->stream.sock, g->auth, AUTH_FIRST);
	return 0;
}

/* Give a client a stream, which begins with the client's JOIN and what it has just asked. */
static void
welcome(struct hall *h, struct guest *g, size_t join_bytes, size_t question_bytes)
{
	struct err e;

	g->stream = h->u->stream;
	g->stream.stop = &h->stop;
	g->stream.server.idle_us = SILENT_US;
	if (g->stream.server.ahead > AHEAD)
		g->stream.server.ahead = AHEAD;
	g->stream.client_port = g->port;
	g->stream.first[0] = (struct stream_packet){ g->join, join_bytes };
	g->stream.first[1] = (struct stream_packet){ g->question, question_bytes };
	g->stream.first_from = g->ip;
	g->ended = h->ended;
	g->served = false;
	g->stream.served = &g->served;
	if (open_guest(h, g, &e) != 0) {
		log_err("no stream for a client: %s", e.text);
		return;
	}
	errno = thread_start(&g->thread, guest_main, g);
	if (errno != 0) {
		log_err("no thread for a client: %s", strerror(errno));
		sock_close(g->stream.sock);
		auth_free(g->auth);
		return;
	}
	g->used = true;
	h->n++;
}

static unsigned
streams_of(const struct hall *h, const uint8_t ip[4])
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->u->clients_max; i++)
		n += h->guests[i].used && memcmp(h->guests[i].ip, ip, 4) == 0;
	return n;
}

static void
say_no_room(struct hall *h, const char *why, const uint8_t ip[4])
{
	char text[ADDR_TEXT_MAX];

	if (h->full_us == 0 || h->now - h->full_us > FULL_EVERY_US)
		log_warn("no room for more clients: %s addr=%s file=%s clients=%u", why,
		    addr_text(ip, text), h->u->stream.name, h->n);
	h->full_us = h->now;
}

/* Let in a client that has shown that it receives what is sent to it. */
static void
let_in(struct hall *h, const uint8_t *pkt, size_t len, const uint8_t from[4],
    uint16_t port, const struct strangers_answer *a)
{
	unsigned most = h->u->clients_max / ADDRESS_PART;
	struct guest *g = free_place(h);

	h->heard_us = h->now;
	if (g == NULL) {
		say_no_room(h, "all streams are taken", from);
		return;
	}
	if (streams_of(h, from) >= (most > ADDRESS_LEAST ? most : ADDRESS_LEAST)) {
		say_no_room(h, "its address has as many as one may have", from);
		return;
	}
	memcpy(g->ip, from, 4);
	g->port = port;
	memcpy(g->join, a->join, a->join_bytes);
	/* A JOIN that was also the proof is both the JOIN and the question. */
	bool same = a->join_bytes == len && memcmp(a->join, pkt, len) == 0;
	memcpy(g->question, pkt, len);
	welcome(h, g, a->join_bytes, same ? 0 : len);
}

/* Sends a few blocks to an address of which it is not known whether it receives. */
static void
send_sample(struct hall *h, const struct strangers_answer *a, const uint8_t to[4],
    uint16_t port)
{
	const struct stream *st = &h->u->stream;
	uint8_t pkt[WIRE_BLOCK_PACKET_BYTES];
	struct tally sent = { 0 }, none = { 0 };
	struct err e;

	sent.server.blocks_sent = blockmap_count(&a->blocks);
	tally_add(st->tally, &sent, &none);
	for (uint32_t b = blockmap_next(&a->blocks, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(&a->blocks, b + 1)) {
		wire_put_block_header(pkt, sock_netif(st->sock)->addr, a->chunk, b);
		if (source_read_run(st->image, a->chunk, b, 1,
			pkt + WIRE_BLOCK_HEADER_BYTES, &e) != 0 ||
		    sock_send_to(st->sock, pkt, sizeof pkt, to, port, &e) < 0) {
			log_warn("no blocks were sent to a new client: %s", e.text);
			return;
		}
	}
}

/* Answers a packet at the session's own socket.  If its sender has a stream, the packet came
 * before the stream's socket was connected and is ignored; the client will ask again. */
static void
answer(struct hall *h, const uint8_t *pkt, size_t len, const uint8_t from[4],
    uint16_t port)
{
	struct strangers_answer a;
	struct err e;

	if (port == 0 || find(h, from, port) != NULL)
		return;
	switch (strangers_hear(h->strangers, h->now, pkt, len, from, port, &a)) {
	case STRANGERS_REPLY:
		if (sock_send_to(h->u->stream.sock, a.reply, a.reply_bytes, from, port,
			&e) < 0)
			log_warn("no answer to a new client: %s", e.text);
		break;
	case STRANGERS_SAMPLE:
		send_sample(h, &a, from, port);
		break;
	case STRANGERS_PROVED:
		let_in(h, pkt, len, from, port, &a);
		break;
	default:
		break;
	}
}

static int
receive(struct hall *h, struct err *e)
{
	uint8_t pkt[WIRE_PACKET_MAX], from[4];
	uint16_t port;

	for (int i = 0; i < PACKETS_A_TURN; i++) {
		int n = sock_receive_from(
		    h->u->stream.sock, pkt, sizeof pkt, from, &port, e);
		if (n <= 0)
			return n;
		if (!allow_has(h->u->stream.allow, from))
			continue;
		clients_heard(
		    h->u->stream.clients, h->now, pkt, (size_t)n, from, port, 0);
		answer(h, pkt, (size_t)n, from, port);
	}
	return 0;
}

static void
say_goodbye(struct hall *h)
{
	struct event ev;

	while (mailbox_take(h->ended, &ev)) {
		struct guest *g = &h->guests[ev.n];
		pthread_join(g->thread, NULL);
		sock_close(g->stream.sock);
		auth_merge(h->u->auth, g->auth);
		auth_free(g->auth);
		h->any |= g->served;
		g->used = false;
		h->n--;
		h->heard_us = h->now;
	}
}

static int
check_file(struct hall *h, struct err *e)
{
	struct identity *id = h->u->stream.identity;

	if (h->now >= h->check_at) {
		h->check_at = h->now + CHECK_US;
		if (identity_look(id, e) != 0)
			return -1;
	}
	if (!identity_changed(id))
		return 0;
	return err_set(
	    e, ERR_IO, "%s: changed while it was being served", h->u->stream.name);
}

static bool
over(const struct hall *h)
{
	int64_t idle = h->u->idle_us;

	if (atomic_load(h->u->stream.stop) || cancel_signal() != 0)
		return true;
	if (h->n == 0 && stream_has_enough(&h->u->stream))
		return true;
	if (h->n > 0 || idle == 0 || (idle < 0 && !h->any))
		return false;
	return h->now > h->heard_us + (idle > 0 ? (uint64_t)idle
					        : test_time_us("linger", LINGER_US));
}

/* Watches for an outage of the network as loop.c does for a session of a group. */
static void
mind_outage(struct hall *h)
{
	char text[OUTAGE_TEXT_MAX];
	enum outage_news news =
	    outage_mind(&h->outage, h->now, h->u->stream.sock, NULL, text);

	if (news == OUTAGE_BEGAN)
		log_warn("%s", text);
	else if (news == OUTAGE_ENDED)
		log_info("%s", text);
}

/* Tell clients without the right key, as loop.c does. */
static void
mind_ignored(struct hall *h)
{
	struct sock *sock = h->u->stream.sock;
	char text[IGNORED_TEXT_MAX];

	while (sock_say_ignored(sock, h->now, false, text))
		log_warn("%s file=%s", text, h->u->stream.name);
	sock_answer_ignored(sock, h->now);
}

static int
serve(struct hall *h, struct err *e)
{
	while (!over(h)) {
		/* After an outage the socket may have another descriptor. */
		struct pollfd fds[2] = {
			{ .fd = sock_fd(h->u->stream.sock), .events = POLLIN },
			{ .fd = mailbox_fd(h->ended), .events = POLLIN }
		};
		poll(fds, 2, WAKE_MS);
		h->now = clock_us();
		if (receive(h, e) != 0 || check_file(h, e) != 0)
			return -1;
		say_goodbye(h);
		mind_outage(h);
		mind_ignored(h);
	}
	return 0;
}

static void
close_all(struct hall *h)
{
	struct pollfd fd = { .fd = mailbox_fd(h->ended), .events = POLLIN };

	atomic_store(&h->stop, true);
	for (say_goodbye(h); h->n > 0; say_goodbye(h))
		poll(&fd, 1, WAKE_MS);
}

static int
meet_strangers(struct hall *h, struct err *e)
{
	const struct stream *st = &h->u->stream;
	struct strangers_config c = { .image_bytes = st->server.image_bytes };

	memcpy(c.srcip, sock_netif(st->sock)->addr, 4);
	random_bytes(c.secret, sizeof c.secret);
	random_bytes(&c.seed, sizeof c.seed);
	h->strangers = strangers_new(&c, h->now);
	return h->strangers != NULL ? 0 : err_nomem(e, "new clients");
}

int
unicast_run(const struct unicast *u, struct err *e)
{
	struct hall h = { .u = u, .now = clock_us() };
	char text[ADDR_TEXT_MAX];
	int rc;

	h.heard_us = h.now;
	h.guests = calloc(u->clients_max, sizeof *h.guests);
	if (h.guests == NULL)
		return err_nomem(e, "the clients");
	for (unsigned i = 0; i < u->clients_max; i++)
		h.guests[i].number = i;
	rc = meet_strangers(&h, e);
	if (rc == 0)
		rc = mailbox_new(&h.ended, u->clients_max, e);
	if (rc == 0) {
		log_info("serving file=%s addr=%s port=%u clients_max=%u",
		    u->stream.name, addr_text(sock_netif(u->stream.sock)->addr, text),
		    sock_port(u->stream.sock), u->clients_max);
		rc = serve(&h, e);
		close_all(&h);
		mailbox_free(h.ended);
	}
	strangers_free(h.strangers);
	free(h.guests);
	return rc;
}
