/* load_open.c: opens what a load needs: the socket and the authentication of its packets, the
 * sink, and the engine.  load.c calls it in the thread that starts the load. */
#include "frisbee/load/load_impl.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/random_bytes.h"
#include "common/image/read/partial.h"
#include "common/wire/parity.h"
#include "imageunzip/install/destination.h"

enum {
	BUFFERS_DEFAULT = 64, /* of 1 MiB; frisbee's options say how many it has */
	/* The values of the original client: chunks that are requested ahead, the time
	 * after which lost blocks are requested again, chunks that may be incomplete at
	 * the same time, the tick of all timers, the number of ticks without a block
	 * after which the server counts as idle, and the time between two JOINs. */
	READAHEAD_DEFAULT = 2,
	REDO_US_DEFAULT = 1000000,
	IN_PROGRESS_LEAST = 8,
	TICK_US = 30000,
	IDLE_TICKS = 3,
	JOIN_US = 500000,
};

static void
fill_in(struct load_config *c)
{
	if (c->buffers == 0)
		c->buffers = BUFFERS_DEFAULT;
	if (c->readahead == 0)
		c->readahead = READAHEAD_DEFAULT;
	if (c->redo_us == 0)
		c->redo_us = REDO_US_DEFAULT;
}

/* For unicast: send to the server's port, from the port with the same number if it is
 * free on this host, else from any free one.  An original server that its master starts
 * for one client sends only to that number; servers of this suite send to whatever port
 * asks. */
static int
open_unicast(struct load *l, struct err *e)
{
	struct sock_config *n = &l->cfg.net;

	if (n->port_lo == 0 || n->port_lo != n->port_hi)
		return err_misuse(e, "--unicast: one port (-p) is needed");
	n->dest_port = n->port_lo;
	n->connected = true;
	n->share_port = false;
	if (sock_open(&l->sock, n, e) == 0)
		return 0;
	n->port_lo = n->port_hi = 0;
	return sock_open(&l->sock, n, e);
}

static int
open_any(struct load *l, struct err *e)
{
	if (l->cfg.unicast)
		return open_unicast(l, e);
	l->cfg.net.share_port = true;
	return sock_open(&l->sock, &l->cfg.net, e);
}

/* Opens the socket with its struct auth, which authenticates packets, or, without a key,
 * counts the packets that are authenticated. */
static int
open_sock(struct load *l, struct err *e)
{
	const uint8_t *key = l->cfg.key;

	l->cfg.key = NULL;
	if (open_any(l, e) != 0) {
		l->sock = NULL;
		return -1;
	}
	if (sock_new_auth(&l->auth, l->sock, false, key, e) != 0) {
		l->auth = NULL;
		return -1;
	}
	sock_authenticate(l->sock, l->auth, AUTH_FIRST);
	return 0;
}

static int
open_sink(struct load *l, struct err *e)
{
	const struct load_config *c = &l->cfg;

	if (mailbox_new(&l->box, c->buffers + FEEDER_EVENTS + ASKS_EVENTS, e) != 0 ||
	    mailbox_new(&l->ended, 1, e) != 0 || asks_new(&l->asks, l->box, e) != 0)
		return -1;
	const struct feeder_config f = { .buffers = c->buffers,
		.box = l->box,
		.keys = c->any_file ? NULL : &c->opener,
		.keep_encrypted = c->keep_encrypted,
		.open = c->open,
		.open_arg = c->open_arg };
	return feeder_new(&l->feeder, &f, e);
}

/* The engine's configuration as the caller has chosen it. */
static struct client_config
chosen(const struct load_config *c)
{
	uint32_t in_progress = c->readahead * 4;
	struct client_config cc = { .any_file = c->any_file,
		.has_server = c->has_server,
		.buffers = c->buffers,
		.readahead = c->readahead,
		.in_progress = in_progress > IN_PROGRESS_LEAST ? in_progress
		                                               : IN_PROGRESS_LEAST,
		.redo_us = c->redo_us,
		.tick_us = TICK_US,
		.idle_ticks = IDLE_TICKS,
		.join_us = JOIN_US,
		.silence_us = c->silence_us,
		.sequential = c->sequential,
		.unicast = c->unicast && !c->base,
		.ext = !c->base && !c->unicast,
		.parity = parity_available() };

	memcpy(cc.server, c->server, 4);
	return cc;
}

/* Complete the configuration by what the sink needs. */
static void
ask_sink(struct client_config *cc, struct feeder *f)
{
	const struct sink_info *info = feeder_info(f);

	cc->has = feeder_has;
	cc->has_arg = f;
	cc->resumes = info->has_some;
	cc->in_order = info->in_order;
	cc->chunk0_first = info->chunk0_first;
	cc->first_blocks = info->takes_parts ? PARTIAL_FIRST_BLOCKS : 0;
}

static void
draw(struct client_config *cc, uint64_t delay_max_us)
{
	uint64_t random[3];

	random_bytes(random, sizeof random);
	cc->clientid = (uint32_t)random[0] & INT32_MAX;
	cc->seed = random[1];
	cc->start_delay_us = delay_max_us != 0 ? random[2] % delay_max_us : 0;
}

static int
open_engine(struct load *l, struct err *e)
{
	struct client_config cc = chosen(&l->cfg);

	ask_sink(&cc, l->feeder);
	draw(&cc, l->cfg.start_delay_us);
	memcpy(cc.srcip, sock_netif(l->sock)->addr, 4);
	l->client = client_new(&cc, clock_us());
	return l->client != NULL ? 0 : err_nomem(e, "the client");
}

int
load_open(struct load *l, struct err *e)
{
	fill_in(&l->cfg);
	return open_sock(l, e) == 0 && open_sink(l, e) == 0 && open_engine(l, e) == 0
	           ? 0
	           : -1;
}

void
load_close(struct load *l)
{
	struct err ignored;

	if (l->feeder != NULL)
		feeder_close(l->feeder, NULL, &ignored);
	client_free(l->client);
	asks_free(l->asks);
	mailbox_free(l->ended);
	mailbox_free(l->box);
	sock_close(l->sock);
	auth_free(l->auth);
}

int
load_into(struct load_config *c, struct destination *d, struct err *e)
{
	const struct opener_config *keys = &d->install.opener;

	if (d->any_file && (keys->verify_key != NULL || keys->decrypt != NULL))
		return err_set(e, ERR_USAGE,
		    "-N loads any file and cannot be combined with --verify-key or "
		    "--decrypt");
	c->any_file = d->any_file;
	c->opener = *keys;
	c->open = destination_open;
	c->open_arg = d;
	c->write_mb = d->install.write_mb;
	return 0;
}
