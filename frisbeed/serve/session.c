/* session.c: opens an image and its sockets, and serves it in a thread of its own.  serve.c
 * calls this, in its caller's threads; session_main() runs in the session's thread. */
#include "frisbeed/serve/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/random_bytes.h"
#include "common/wire/addr.h"
#include "common/wire/parity.h"
#include "emustore/store/name.h"
#include "frisbeed/serve/served_image.h"

enum {
	PORT_MAX = 65535,
	SECOND_PORTS = 64, /* how many ports behind -p are tried for the second one */
	UDP_IP_BYTES = 28,
};

static int
open_sock(struct session *s, struct err *e)
{
	struct sock_config *nc = &s->unicast.net;

	if (net_options_resolve(&s->place->net, nc, e) != 0)
		return -1;
	nc->keep_to_interface = true;
	struct sock_config own = *nc;
	if (s->place->net.unicast) {
		own.any_sender = true;
		if (own.iface == NULL)
			own.iface = s->place->net.addr;
	}
	if (!s->place->net.unicast && !nc->broadcast && !netif_is_group(nc->addr))
		log_tell("%s is the address of one machine: only a client there is "
			 "served; --unicast serves each client that asks this host",
		    s->place->net.addr);
	return sock_open(&s->unicast.stream.sock, &own, e);
}

/* Requests would not reach the server, and nothing else would say so. */
static void
warn_filtered(const struct session *s)
{
	char text[NETIF_FILTERED_MAX];

	if (netif_filtered(sock_netif(s->unicast.stream.sock), "requests", text))
		log_warn("%s file=%s", text, s->place->image);
}

static void
name_place(struct session *s)
{
	const struct sock *sock = s->unicast.stream.sock;
	char text[ADDR_TEXT_MAX];

	addr_text(
	    s->place->net.unicast ? sock_netif(sock)->addr : sock_dest(sock), text);
	snprintf(s->where, sizeof s->where, "%s:%u", text, sock_port(sock));
}

/* The file with the order in which machines read that start from the image: beside the image, or in
 * the folder of orders under the name of the file without its folder, or under the name in the
 * store without the version.  NULL: an image in a store has nothing beside it. */
static int
name_order(char **out, const struct session_config *c, const struct place *p, struct err *e)
{
	const char *slash = strrchr(p->image, '/');
	const char *name = slash != NULL ? slash + 1 : p->image;
	struct store_name in_store;

	*out = NULL;
	if (p->store != NULL && c->orders == NULL)
		return 0;
	if (p->store != NULL) {
		if (store_name_get(&in_store, p->image, e) != 0)
			return -1;
		name = in_store.name;
	}
	int n = c->orders != NULL ? asprintf(out, "%s/%s.order", c->orders, name)
	                          : asprintf(out, "%s.order", p->image);
	if (n >= 0)
		return 0;
	*out = NULL;
	return err_nomem(e, p->image);
}

/* Is the opened file the one that the place was made for?  The caller examined that file,
 * and not only its name, which may lead to another file by now. */
static int
check_file(const struct place *p, const struct disk *file, struct err *e)
{
	struct stat st;

	if (p->inode == 0)
		return 0;
	if (fstat(disk_fd(file), &st) != 0)
		return err_os(e, "%s", p->image);
	if (st.st_dev == p->device && st.st_ino == p->inode)
		return 0;
	err_set(e, ERR_REFUSED, "%s: was replaced while its session began", p->image);
	e->os = ESTALE;
	return -1;
}

static int
open_image(struct session *s, const struct disk **file, struct err *e)
{
	struct server_config *c = &s->unicast.stream.server;

	*file = NULL;
	if (s->image.ops != NULL)
		return served_image_source(&s->image, s->place->net.unicast, c, e);
	if (served_image_open(&s->image, file, s->place->store, &s->cache,
	    s->place->image, c, e) != 0)
		return -1;
	return check_file(s->place, *file, e);
}

static int
open_all(struct session *s, struct err *e)
{
	struct stream *st = &s->unicast.stream;
	const struct disk *file;

	st->image = &s->image;
	s->clients = st->clients = clients_new(SESSION_CLIENT_ROWS);
	if (s->clients == NULL)
		return err_nomem(e, "the table of clients");
	s->cache.max_bytes = s->cfg->store_cache;
	/* An image that comes from a source is no file, so no order of reads is beside
	 * it. */
	if (s->image.ops == NULL && name_order(&s->order, s->cfg, s->place, e) != 0)
		return -1;
	st->order = (struct order_config){
		.order = s->order, .image = s->place->image, .store = s->place->store,
		.blocks_most = ORDER_BLOCKS_MAX
	};
	if (open_image(s, &file, e) != 0 ||
	    identity_new(&st->identity, &s->image, file, st->server.whole_chunks, e) !=
		0 ||
	    open_sock(s, e) != 0 ||
	    sock_new_auth(&s->unicast.auth, st->sock, true, net_options_key(&s->cfg->net), e) !=
		0)
		return -1;
	sock_authenticate(st->sock, s->unicast.auth, AUTH_FIRST);
	memcpy(st->server.ext.identity, identity_bytes(st->identity),
	    WIREXT_IDENTITY_BYTES);
	name_place(s);
	warn_filtered(s);
	return 0;
}

static void
set_up(struct session *s, const struct server_config *c)
{
	tally_init(&s->tally);
	sentmap_init(&s->sentmap);
	s->lines.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	s->unicast.clients_max = (unsigned)s->cfg->unicast_max;
	s->unicast.idle_us = c->idle_us;
	s->unicast.stream = (struct stream){ .name = s->place->image,
		.server = *c,
		.keepalive_us = s->cfg->net.keepalive_s * 1000000,
		.lines = &s->lines,
		.tally = &s->tally,
		.sentmap = &s->sentmap,
		.allow = &s->cfg->allow,
		.until_clients = (uint32_t)s->cfg->until_clients,
		.stop = &s->stop };
}

struct session *
session_new(const struct session_config *o, const struct place *p, struct source *image,
    uint32_t number, const struct server_config *c, struct err *e)
{
	struct session *s = calloc(1, sizeof *s);

	if (s == NULL) {
		source_close(image);
		err_nomem(e, "the sessions");
		return NULL;
	}
	if (image != NULL)
		s->image = *image;
	if (places_one(&s->place, p->image, &p->net, e) != 0) {
		source_close(&s->image);
		free(s);
		return NULL;
	}
	s->place->store = p->store != NULL ? p->store : o->store;
	s->place->device = p->device;
	s->place->inode = p->inode;
	s->cfg = o;
	s->number = number;
	set_up(s, c);
	s->state = open_all(s, &s->err) == 0 ? SESSION_OPEN : SESSION_FAILED;
	return s;
}

/* How many blocks fit into one packet that the interface sends without fragmenting it. */
static uint32_t
pack_blocks(const struct netif *n, bool authenticated)
{
	const uint32_t around = UDP_IP_BYTES + WIREXT_DATA_HEADER_BYTES +
	                        (authenticated ? AUTH_HEADER_BYTES : 0);
	uint32_t mtu = netif_mtu(n);
	uint32_t blocks = mtu > around ? (mtu - around) / WIRE_BLOCK_BYTES : 0;

	return blocks < WIREXT_DATA_BLOCKS ? blocks : WIREXT_DATA_BLOCKS;
}

/* Open the second port, which clients of this suite use for the extension.  Without it they
 * use the base protocol. */
void
session_open_second(struct session *s)
{
	struct stream *st = &s->unicast.stream;
	struct server_config *c = &st->server;
	struct sock_config nc = s->unicast.net;
	struct err e;

	if (s->state != SESSION_OPEN || s->cfg->base || s->place->net.unicast ||
	    !c->whole_chunks)
		return;
	uint16_t port = sock_port(st->sock);
	/* The search begins behind the first port, so that the second one is the same after
	 * a restart, if it is free. */
	nc.port_lo = (uint16_t)(port < PORT_MAX - SECOND_PORTS ? port + 1 : 1024);
	nc.port_hi = (uint16_t)(nc.port_lo + SECOND_PORTS - 1);
	if (sock_open(&st->second, &nc, &e) != 0) {
		st->second = NULL;
		log_warn(
		    "only the base protocol: no second port file=%s", s->place->image);
		return;
	}
	random_bytes(&c->ext.session, sizeof c->ext.session);
	c->ext.session |= 1;
	c->ext.on = true;
	c->ext.parity = parity_available();
	c->ext.port = sock_port(st->second);
	c->ext.pack_blocks = pack_blocks(sock_netif(st->sock), auth_is_on(s->unicast.auth));
	sock_authenticate(st->second, s->unicast.auth, AUTH_SECOND);
}

static void *
session_main(void *arg)
{
	struct session *s = arg;

	s->cancel.whole = cancel_owner();
	cancel_work_for(&s->cancel);
	s->rc = s->place->net.unicast ? unicast_run(&s->unicast, &s->thread_err)
	                             : stream_run(&s->unicast.stream, &s->thread_err);
	mailbox_put(s->ended, SESSION_HAS_ENDED, s->number);
	return NULL;
}

int
session_start(struct session *s, struct budget *b, struct mailbox *ended)
{
	s->unicast.stream.budget = b;
	s->ended = ended;
	s->started_us = clock_us();
	errno = thread_start(&s->thread, session_main, s);
	if (errno != 0) {
		s->state = SESSION_FAILED;
		return err_os(&s->err, "cannot start a thread");
	}
	s->state = SESSION_SERVING;
	return 0;
}

void
session_stop(struct session *s)
{
	atomic_store(&s->stop, true);
	atomic_store(&s->cancel.signal, SIGTERM);
}

void
session_join(struct session *s)
{
	pthread_join(s->thread, NULL);
	s->ended_us = clock_us();
	s->state = s->rc == 0 ? SESSION_ENDED : SESSION_FAILED;
	if (s->rc != 0)
		s->err = s->thread_err;
	/* The address and port are free for other sessions from now on. */
	sock_close(s->unicast.stream.second);
	sock_close(s->unicast.stream.sock);
	s->unicast.stream.sock = s->unicast.stream.second = NULL;
}

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	sock_close(s->unicast.stream.second);
	sock_close(s->unicast.stream.sock);
	auth_free(s->unicast.auth);
	identity_free(s->unicast.stream.identity);
	source_close(&s->image);
	clients_free(s->clients);
	tally_fini(&s->tally);
	sentmap_fini(&s->sentmap);
	places_free(s->place, 1);
	free(s->order);
	free(s);
}

double
session_seconds(const struct session *s)
{
	if (s->started_us == 0)
		return 0;
	uint64_t end = s->ended_us != 0 ? s->ended_us : clock_us();
	return (double)(end - s->started_us) / 1e6;
}
