/* dolly_load.c: gets an image from a server or another node, puts it into a destination,
 * and sends it on to other nodes meanwhile (dolly_load.h).  Everything runs in the thread
 * that calls dolly_load(), except the feeder, which calls unpack(), and the relay, which
 * have threads of their own. */
#include "dolly/load/dolly_load.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/mailbox.h"
#include "common/base/timed.h"
#include "common/base/zero.h"
#include "common/image/read/feeder.h"
#include "common/image/read/prove.h"
#include "common/image/read/source.h"
#include "common/net/tls.h"
#include "dolly/order/node_list.h"
#include "dolly/raw/raw.h"
#include "dolly/relay/relay.h"

enum {
	SLOTS = 16,
	STEP_MS = 50, /* the longest time until the load is cancelled */
	CHUNK_BYTES = 1 << 20,
	RELAY_ENDS_US = 10000000, /* a relay's session ends by itself sooner than this */
};

struct node_load {
	const struct dolly_load_config *cfg;
	uint8_t server[4];
	uint16_t port;
	struct node *node;
	struct tls *key; /* NULL: nothing is encrypted */
	struct wires *wires;
	struct mailbox *box;   /* events of the feeder */
	struct feeder *feeder; /* NULL: no image is known yet, or the feeder was closed */
	struct sink_sum sum; /* valid when the target is complete */
	uint64_t bytes;  /* of the image */
	struct raw *raw; /* NULL: the chunks are those of an image */
	struct relay *relay; /* NULL: no --relay, or it has failed */
	struct err relay_failed; /* kind ERR_NONE: it has not */
	/* By slot: the feeder has the chunk; and wants it once more, when it comes back. */
	bool fed[SLOTS], again[SLOTS];
	bool away; /* the server was away when the node has acted last */
};

/* --- for the engine --- */

static void
dial(struct node_load *l, const struct wish *w)
{
	bool server = w->port == 0 && is_zero(w->address, 4);
	struct err why;

	if (wires_dial(l->wires, w->peer, server ? l->server : w->address,
		server ? l->port : w->port, &why) != 0)
		node_closed(l->node, w->peer, why.text);
}

/* Raw data is written unchanged, to a disk or file. */
static int
check_raw(const struct install_config *i, struct err *e)
{
	if (install_check_raw(i, e) == 0 && i->opener.verify_key == NULL &&
	    i->opener.decrypt == NULL)
		return 0;
	return err_set(e, ERR_USAGE,
	    "the server sends raw data: options for an installation, "
	    "--verify-key and --decrypt cannot be used");
}

/* Unpacks a chunk of raw data, in the feeder's thread. */
static int
unpack(void *arg, const struct feeder_chunk *c, void *room, const void **bytes,
    uint32_t *length, struct err *e)
{
	struct node_load *l = arg;

	*length = raw_length(l->cfg->to->bytes, c->number);
	*bytes = raw_unpack(l->raw, c->number, c->lent, c->length, room, *length, e);
	return *bytes != NULL ? 0 : -1;
}

static int
open_feeder(struct node_load *l, const struct node_image *image, struct err *e)
{
	struct feeder_config c = { .buffers = SLOTS,
		.box = l->box,
		.keys = &l->cfg->to->install.opener,
		.open = destination_open,
		.open_arg = l->cfg->to };

	if (image->content == MSG_RAW) {
		if (check_raw(&l->cfg->to->install, e) != 0 ||
		    raw_new(&l->raw, false, e) != 0)
			return -1;
		l->cfg->to->any_file = true;
		l->cfg->to->bytes = image->bytes;
		c.keys = NULL;
		c.unpack = unpack;
		c.unpack_arg = l;
	}
	if (feeder_new(&l->feeder, &c, e) != 0)
		return -1;
	feeder_expect(l->feeder, image->chunks);
	return 0;
}

/* Does the size that the server names fit its number of chunks? */
static int
check_size(const struct node_image *i, struct err *e)
{
	if (i->bytes > (uint64_t)(i->chunks - 1) * CHUNK_BYTES &&
	    i->bytes <= (uint64_t)i->chunks * CHUNK_BYTES)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "the server's image has a size that does not fit its number of chunks");
}

static int
begin_relay(struct node_load *l, const struct node_image *image, struct err *e)
{
	const struct relay_image i = { image->chunks, image->identity };

	if (image->content != MSG_IMAGE)
		return err_set(e, ERR_UNSUPPORTED,
		    "--relay: the server sends raw data, which frisbee does not load");
	return relay_start(&l->relay, l->cfg->relay, l->cfg->relay_file, &i, e);
}

static int
open_target(struct node_load *l, const struct node_image *image, struct err *e)
{
	wires_deadline(l->wires, image->deadline_us);
	if (check_size(image, e) != 0 || open_feeder(l, image, e) != 0)
		return -1;
	l->bytes = image->bytes;
	return l->cfg->relay != NULL ? begin_relay(l, image, e) : 0;
}

static void
begin(struct node_load *l, const struct node_image *image)
{
	struct err e;

	if (open_target(l, image, &e) != 0) {
		node_failed(l->node, &e);
		return;
	}
	const struct sink_info *info = feeder_info(l->feeder);
	for (uint32_t c = 0; c < image->chunks; c++)
		if (feeder_has(l->feeder, c))
			node_has(l->node, c);
	node_opened(l->node, &(struct node_target){ info->in_order, info->chunk0_first });
}

/* Puts back the zeros at the end of a chunk of an image, which are not sent.  Returns the
 * length of the whole chunk. */
static uint32_t
put_padding_back(uint8_t *chunk, uint32_t length)
{
	if (length < SOURCE_CHUNK_BYTES)
		memset(chunk + length, 0, SOURCE_CHUNK_BYTES - length);
	return length < SOURCE_CHUNK_BYTES ? SOURCE_CHUNK_BYTES : length;
}

/* With --only the sink may want a chunk once more that it still has. */
static void
feed(struct node_load *l, uint32_t slot, const struct feeder_chunk *c)
{
	l->again[slot] = l->fed[slot];
	l->fed[slot] = true;
	if (!l->again[slot])
		feeder_put(l->feeder, slot, c);
}

static void
put(struct node_load *l, const struct wish *w)
{
	feed(l, w->slot,
	    &(struct feeder_chunk){ .number = w->chunk,
		.length = l->raw == NULL ? put_padding_back(w->bytes, w->length) : w->length,
		.lent = w->bytes });
}

/* A relay that fails is given up; this node and the nodes behind it go on. */
static void
lose_relay(struct node_load *l, const struct err *e)
{
	l->relay_failed = *e;
	relay_stop(l->relay);
	l->relay = NULL;
	l->cfg->warn(l->cfg->arg, e->text);
}

/* Gives the relay a chunk that the target has taken, and that was proved before. */
static void
relay_slot(struct node_load *l, uint32_t slot)
{
	const struct feeder_chunk *c = &feeder_back(l->feeder, slot)->came;
	struct err e;

	if (l->relay != NULL && relay_put(l->relay, c->number, c->lent, &e) != 0)
		lose_relay(l, &e);
}

static bool
is_right(const struct node_load *l, const struct wish *w)
{
	struct sink_chunk c = { .number = w->chunk, .bytes = w->bytes };
	struct proved *p;
	struct err e;

	if (l->raw != NULL)
		return raw_is_right(w->chunk, w->bytes, w->length);
	c.length = put_padding_back(w->bytes, w->length);
	if (prove_read(&c, 1, true, &p, &e) != 0)
		return true; /* no memory: it is passed on as one that has no digest */
	if (p == NULL)
		return false;
	proved_give_back(p);
	return true;
}

/* What the server says of this chunk, if it is the server's.  An image has digests of its own. */
static const uint8_t *
digest_of(const struct node_load *l, const void *bytes)
{
	return l->raw != NULL ? raw_digest(bytes) : NULL;
}

/* Does what the engine wants.  To be called after each call of the engine. */
static void
grant(struct node_load *l)
{
	struct wish w;

	while (node_take_wish(l->node, &w))
		switch (w.kind) {
		case WISH_DIAL:
			dial(l, &w);
			break;
		case WISH_CLOSE:
			wires_hang_up(l->wires, w.peer);
			peer_free(w.peer);
			break;
		case WISH_OPEN:
			begin(l, w.image);
			break;
		case WISH_PUT:
			put(l, &w);
			break;
		case WISH_PROVE:
			node_proved(
			    l->node, w.slot, is_right(l, &w), digest_of(l, w.bytes));
			break;
		case WISH_FINISH:
			feeder_end(l->feeder);
			break;
		default: /* a server's */
			break;
		}
}

static struct peer *
e_accept(void *arg, const uint8_t address[4])
{
	struct node_load *l = arg;

	return node_accept(l->node, address);
}

static size_t
e_room(void *arg, struct peer *p, void **at)
{
	struct node_load *l = arg;

	return node_room(l->node, p, at);
}

static void
e_bytes(void *arg, struct peer *p, const void *bytes, size_t n)
{
	struct node_load *l = arg;

	node_input(l->node, p, bytes, n);
	grant(l);
}

static bool
e_reads(void *arg, const struct peer *p)
{
	struct node_load *l = arg;

	return node_reads(l->node, p);
}

static void
e_closed(void *arg, struct peer *p, const char *why)
{
	struct node_load *l = arg;

	node_closed(l->node, p, why);
	grant(l);
}

static size_t
e_output(void *arg, struct peer *p, const void **at)
{
	struct node_load *l = arg;

	return node_output(l->node, p, at);
}

static void
e_sent(void *arg, struct peer *p, size_t n)
{
	struct node_load *l = arg;

	node_sent(l->node, p, n);
}

static const struct wires_engine engine = { e_accept, e_room, e_bytes, e_reads, e_closed,
	e_output, e_sent };

/* --- running --- */

/* The feeder is done with the chunk in this slot. */
static void
came_back(struct node_load *l, uint32_t slot)
{
	const struct feeder_chunk c = feeder_back(l->feeder, slot)->came;

	l->fed[slot] = false;
	if (l->again[slot])
		feed(l, slot, &c);
}

/* The chunk in this slot has to be sent again. */
static void
send_again(struct node_load *l, uint32_t slot)
{
	const struct feeder_back *back = feeder_back(l->feeder, slot);
	struct err why = back->why;

	err_ctx(&why, "chunk %u", back->came.number);
	node_put_damaged(l->node, slot, &why);
}

/* The feeder has sent its last event. */
static void
close_feeder(struct node_load *l)
{
	struct err why;
	int rc = feeder_close(l->feeder, &l->sum, &why);

	l->feeder = NULL;
	node_finished(l->node, rc == 0 ? NULL : &why);
}

static void
on_event(struct node_load *l, const struct event *ev)
{
	uint32_t chunk;

	switch ((enum feeder_event)ev->what) {
	case FEEDER_FREE:
		relay_slot(l, ev->n);
		came_back(l, ev->n);
		node_put(l->node, ev->n,
		    digest_of(l, feeder_back(l->feeder, ev->n)->came.lent));
		break;
	case FEEDER_DAMAGED:
		send_again(l, ev->n);
		came_back(l, ev->n);
		break;
	case FEEDER_WANTS:
		while (feeder_wants(l->feeder, &chunk))
			node_needs(l->node, chunk);
		break;
	case FEEDER_FAILED:
	case FEEDER_DONE:
		close_feeder(l);
		break;
	case FEEDER_PLANNED: /* nothing is planned here */
		break;
	}
}

/* Events that the feeder put before it was closed are of no interest. */
static void
take_events(struct node_load *l)
{
	struct event ev;

	while (mailbox_take(l->box, &ev))
		if (l->feeder != NULL) {
			on_event(l, &ev);
			grant(l);
		}
}

static void
watch_server(struct node_load *l)
{
	struct node_stats s;
	char sentence[400];

	node_stats(l->node, &s);
	if (s.away == l->away)
		return;
	l->away = s.away;
	snprintf(sentence, sizeof sentence, "%.255s: %s", l->cfg->server,
	    !s.met   ? "the server does not answer yet; this node waits for it"
	    : s.away ? "the server went away; this node keeps what it has and waits for "
		       "the server"
		     : "the server is back");
	l->cfg->say(l->cfg->arg, sentence);
}

static void
act(struct node_load *l)
{
	struct node_stats s;

	node_act(l->node, clock_us());
	grant(l);
	node_stats(l->node, &s);
	l->cfg->progress(l->cfg->arg, (uint64_t)s.have * CHUNK_BYTES, l->bytes);
	watch_server(l);
}

static int
run(struct node_load *l, struct err *e)
{
	int rc;

	while ((rc = node_over(l->node, e)) == 0) {
		wires_step(l->wires, mailbox_fd(l->box), STEP_MS);
		take_events(l);
		node_resume(l->node);
		grant(l);
		if (clock_us() >= node_deadline(l->node))
			act(l);
		if (cancel_check(e) != 0)
			return -1;
	}
	watch_server(l); /* a whole node may end at once when the server is back */
	wires_flush(l->wires);
	return rc < 0 ? -1 : 0;
}

/* For how long no client may be heard before the relay is stopped.  A session from which
 * a client has requested something ends by itself two seconds after its last client has
 * left, and must not be stopped before. */
static uint64_t
relay_patience_us(const struct node_load *l, const struct relay_stats *s)
{
	uint64_t us = l->cfg->patience_us;

	return s->blocks_sent > 0 && us < RELAY_ENDS_US ? RELAY_ENDS_US : us;
}

/* Waits until the relay's clients have the whole image, or none was heard for the time of
 * --patience.  The session ends by itself only after a client has requested something, and
 * counts one that is silent for minutes: who has died, or was never there. */
static int
finish_relay(struct node_load *l, struct err *e)
{
	uint64_t there_us = clock_us(); /* when a client that was there was heard last */
	struct relay_stats s = { 0 };
	char text[60];

	while (l->relay != NULL && !s.over) {
		relay_stats(l->relay, &s);
		if (s.here > 0 && s.busy_us > there_us)
			there_us = s.busy_us;
		if (clock_us() - there_us > relay_patience_us(l, &s)) {
			l->cfg->warn(l->cfg->arg, "no client loads the relayed image");
			break;
		}
		if (cancel_check(e) != 0)
			return -1;
		timed_sleep(STEP_MS * 1000);
	}
	if (s.err.kind != ERR_NONE)
		l->relay_failed = s.err;
	snprintf(text, sizeof text, "relayed to %u clients", s.clients);
	if (l->relay != NULL)
		l->cfg->say(l->cfg->arg, text);
	*e = l->relay_failed;
	return e->kind == ERR_NONE ? 0 : err_ctx(e, "--relay");
}

static int
listen_for_nodes(struct node_load *l, struct err *e)
{
	char text[80];

	if (wires_open(&l->wires, &engine, l->key, l->cfg->port, true, e) != 0)
		return -1;
	uint16_t port = wires_port(l->wires);
	snprintf(text, sizeof text, "port %u is in use, so this node listens on port %u",
	    l->cfg->port, port);
	if (port != l->cfg->port)
		l->cfg->say(l->cfg->arg, text);
	return 0;
}

static int
start(struct node_load *l, struct err *e)
{
	struct node_config c = { .name = l->cfg->name,
		.patience_us = l->cfg->patience_us,
		.spread = { .slots = SLOTS,
		    .chunk_bytes = RAW_SENT_MAX,
		    .piece_bytes = MSG_PIECE_MAX } };

	if (node_list_resolve_port(l->cfg->server, l->cfg->port, l->server, &l->port, e) !=
	        0 ||
	    mailbox_new(&l->box, SLOTS + FEEDER_EVENTS, e) != 0)
		return -1;
	if (l->cfg->key != NULL && tls_new(&l->key, l->cfg->key, "dolly", e) != 0)
		return -1;
	if (listen_for_nodes(l, e) != 0)
		return -1;
	c.port = wires_port(l->wires);
	if (node_new(&l->node, &c, clock_us(), e) != 0)
		return -1;
	wires_serve(l->wires, l);
	grant(l);
	return 0;
}

static void
count(const struct node_load *l, struct dolly_load_stats *s)
{
	node_stats(l->node, &s->node);
	s->sum = l->sum;
	s->encrypted = wires_encrypted(l->wires);
}

/* Say which server it is, which the engine does not know, and what is left of the target. */
static void
explain(const struct node_load *l, struct err *e)
{
	static const char words[] = "the server";

	if (strncmp(e->text, words, sizeof words - 1) == 0)
		err_ctx(e, "%s", l->cfg->server);
	sink_add_left(l->sum.left, e);
}

int
dolly_load(
    const struct dolly_load_config *cfg, struct dolly_load_stats *stats, struct err *e)
{
	struct node_load l = { .cfg = cfg };
	struct err ignored;
	int rc = start(&l, e);

	if (rc == 0)
		rc = run(&l, e);
	if (l.feeder != NULL)
		feeder_close(l.feeder, &l.sum, &ignored);
	if (rc != 0)
		explain(&l, e);
	if (rc == 0)
		rc = finish_relay(&l, e);
	relay_stop(l.relay);
	if (rc == 0)
		count(&l, stats);
	wires_close(l.wires);
	node_free(l.node);
	tls_free(l.key);
	raw_free(l.raw);
	mailbox_free(l.box);
	return rc;
}
