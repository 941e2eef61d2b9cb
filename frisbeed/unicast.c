#include "frisbeed/unicast.h"

#include <poll.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cli.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/net/mailbox.h"
#include "frisbeed/identity.h"

enum {
	WAKE_MS = 200,
	PACKETS_A_TURN = 256,
	CHECK_US = 1000000,       /* is it still the same file? */
	SILENT_US = 10000000,     /* then its stream ends; it may ask for a new one */
	LINGER_US = 2000000,      /* -T < 0, after the last stream */
	AHEAD = 64,               /* runs read ahead for one client */
	FULL_EVERY_US = 10000000, /* no room: said so often at most */
};

/* One client and its thread. */
struct guest {
	bool used;
	unsigned number;
	uint8_t ip[4];
	uint16_t port;
	pthread_t thread;
	struct stream stream;
	uint8_t first[WIRE_PACKET_MAX];
	struct mailbox *ended;
};

struct hall {
	const struct unicast *u;
	atomic_bool stop;
	struct mailbox *ended;
	struct guest *guests; /* clients_max */
	unsigned n;
	bool any; /* ever */
	uint64_t now, heard_us, check_at, full_us;
	uint8_t identity[WIREXT_IDENTITY_BYTES];
};

static void *
guest_main(void *arg)
{
	struct guest *g = arg;
	struct err e;

	if (stream_run(&g->stream, &e) != 0)
		log_err("a client's stream failed file=%s: %s", g->stream.name, e.text);
	mailbox_put(g->ended, g->number);
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
	char own[NETIF_TEXT_MAX];

	memcpy(nc.addr, g->ip, 4);
	nc.iface = netif_text(sock_netif(h->u->stream.sock)->addr, own);
	nc.port_lo = nc.port_hi = sock_port(h->u->stream.sock);
	nc.dest_port = g->port;
	nc.share_port = nc.connected = true;
	nc.any_sender = false;
	return sock_open(&g->stream.sock, &nc, e);
}

/* Give it a stream that begins with what it has just asked. */
static void
welcome(struct hall *h, struct guest *g, size_t len)
{
	struct err e;

	g->stream = h->u->stream;
	g->stream.stop = &h->stop;
	g->stream.server.idle_us = SILENT_US;
	if (g->stream.server.ahead > AHEAD)
		g->stream.server.ahead = AHEAD;
	g->stream.client_port = g->port;
	g->stream.first = g->first;
	g->stream.first_len = len;
	g->stream.first_from = g->ip;
	g->ended = h->ended;
	if (open_guest(h, g, &e) != 0) {
		log_err("no stream for a client: %s", e.text);
		return;
	}
	errno = pthread_create(&g->thread, NULL, guest_main, g);
	if (errno != 0) {
		log_err("no thread for a client: %s", strerror(errno));
		sock_close(g->stream.sock);
		return;
	}
	g->used = h->any = true;
	h->n++;
}

static bool
is_question(const void *pkt, size_t len, const uint8_t from[4])
{
	struct wire_msg m;
	struct err e;

	return wire_get(&m, pkt, len, &e) == 0 && wire_source_is(&m, from) &&
	       m.type == WIRE_REQUEST &&
	       (m.subtype == WIRE_JOIN || m.subtype == WIRE_JOIN2 ||
		   m.subtype == WIRE_REQ || m.subtype == WIRE_PREQ);
}

/* What comes here from one that has a stream came before that was connected: it will
 * be asked again. */
static void
answer(struct hall *h, const uint8_t *pkt, size_t len, const uint8_t from[4],
    uint16_t port)
{
	if (!is_question(pkt, len, from) || port == 0 || find(h, from, port) != NULL)
		return;
	h->heard_us = h->now;
	struct guest *g = free_place(h);
	if (g == NULL) {
		if (h->full_us == 0 || h->now - h->full_us > FULL_EVERY_US)
			log_warn("no room for more clients file=%s clients=%u",
			    h->u->stream.name, h->n);
		h->full_us = h->now;
		return;
	}
	memcpy(g->ip, from, 4);
	g->port = port;
	memcpy(g->first, pkt, len);
	welcome(h, g, len);
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
		clients_heard(
		    h->u->stream.clients, h->now, pkt, (size_t)n, from, port, 0);
		answer(h, pkt, (size_t)n, from, port);
	}
	return 0;
}

static void
say_goodbye(struct hall *h)
{
	uint32_t i;

	while (mailbox_take(h->ended, &i)) {
		struct guest *g = &h->guests[i];
		pthread_join(g->thread, NULL);
		sock_close(g->stream.sock);
		g->used = false;
		h->n--;
		h->heard_us = h->now;
	}
}

static int
check_file(struct hall *h, struct err *e)
{
	uint8_t id[WIREXT_IDENTITY_BYTES];

	if (h->now < h->check_at)
		return 0;
	h->check_at = h->now + CHECK_US;
	if (identity_of(h->u->stream.disk, id, e) != 0)
		return -1;
	if (memcmp(id, h->identity, sizeof id) == 0)
		return 0;
	return err_set(
	    e, ERR_IO, "%s: was changed while it was being served", h->u->stream.name);
}

static bool
over(const struct hall *h)
{
	int64_t idle = h->u->idle_us;

	if (atomic_load(h->u->stream.stop) || cli_signal() != 0)
		return true;
	if (h->n > 0 || idle == 0 || (idle < 0 && !h->any))
		return false;
	return h->now > h->heard_us + (idle > 0 ? (uint64_t)idle : LINGER_US);
}

static int
serve(struct hall *h, struct err *e)
{
	struct pollfd fds[2] = { { .fd = sock_fd(h->u->stream.sock), .events = POLLIN },
		{ .fd = mailbox_fd(h->ended), .events = POLLIN } };

	while (!over(h)) {
		poll(fds, 2, WAKE_MS);
		h->now = clock_us();
		if (receive(h, e) != 0 || check_file(h, e) != 0)
			return -1;
		say_goodbye(h);
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

int
unicast_run(const struct unicast *u, struct err *e)
{
	struct hall h = { .u = u, .now = clock_us() };
	char text[NETIF_TEXT_MAX];
	int rc;

	h.heard_us = h.now;
	h.guests = calloc(u->clients_max, sizeof *h.guests);
	if (h.guests == NULL)
		return err_nomem(e, "the clients");
	for (unsigned i = 0; i < u->clients_max; i++)
		h.guests[i].number = i;
	rc = identity_of(u->stream.disk, h.identity, e);
	if (rc == 0)
		rc = mailbox_new(&h.ended, u->clients_max, e);
	if (rc == 0) {
		log_info("serving file=%s addr=%s port=%u clients_max=%u",
		    u->stream.name, netif_text(sock_netif(u->stream.sock)->addr, text),
		    sock_port(u->stream.sock), u->clients_max);
		rc = serve(&h, e);
		close_all(&h);
		mailbox_free(h.ended);
	}
	free(h.guests);
	return rc;
}
