/* serve.c: the command `dolly serve`: sends an image to nodes that join. main.c
 * calls it; everything except the reading of chunks runs in the program's first
 * thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/limiter.h"
#include "common/base/plain.h"
#include "common/base/random_bytes.h"
#include "common/base/say.h"
#include "common/cli/progress.h"
#include "common/net/tls.h"
#include "common/wire/addr.h"
#include "dolly/dolly.h"
#include "dolly/engine/server.h"
#include "dolly/net/reader.h"
#include "dolly/net/wires.h"
#include "dolly/payload.h"
#include "dolly/topology.h"

enum {
	SLOTS = 32,
	CHUNK_BYTES = 1 << 20,
	/* Lines about nodes, which strangers can play: so many in this time. */
	LINES_MAX = 200,
	LINES_US = 10000000,
};

struct serving {
	const struct options *o;
	struct payload payload;
	struct chunk_reader *reader;
	struct tls *key; /* NULL: nothing is encrypted */
	struct wires *wires;
	struct dolly_server *server;
	struct topology topology;
	struct progress progress;
	struct limiter lines; /* about nodes */
	const uint8_t *read[SLOTS]; /* by slot: the chunk that was read into it last */
	uint64_t began_us, whole_us; /* when the first chunk was read; when the last node was
	                                whole; 0: not yet */
};

/* --- for the engine --- */

static void
read_chunk(struct serving *s, const struct wish *w)
{
	if (s->began_us == 0)
		s->began_us = clock_us();
	s->read[w->slot] = w->bytes;
	chunk_reader_ask(s->reader, w->slot, w->chunk, w->bytes);
}

static void
admit(struct serving *s, const struct peer *p)
{
	struct dolly_server_guest g = {
		.spot = { dolly_server_roster(s->server)->joined, ROSTER_NO_RACK,
		    ROSTER_NOT_LISTED }
	};

	g.refused = topology_spot(&s->topology, p->address, &g.spot);
	random_bytes(g.key, sizeof g.key);
	dolly_server_admit(s->server, &g);
}

/* May one more line about a node be written?  A stranger who joins again and again must not fill
 * the log. */
static bool
may_tell(struct serving *s)
{
	unsigned left_out;
	bool may = limiter_may(&s->lines, clock_us(), LINES_US, LINES_MAX, &left_out);

	if (left_out > 0)
		say_text(stderr, "dolly: %u lines about nodes were left out\n", left_out);
	return may;
}

static void
tell(struct serving *s, const struct wish *w)
{
	const struct member *m = roster_find(dolly_server_roster(s->server), w->id);
	char address[ADDR_TEXT_MAX];

	if (m->state == MEMBER_LEFT)
		s->whole_us = clock_us();
	if (s->o->quiet || !may_tell(s))
		return;
	say_text(stderr, "dolly: %.200s (%s, port %u): %s\n", m->name,
	    addr_text(m->address, address), m->port, w->text);
}

/* Does what the engine wants.  To be called after each call of the engine. */
static void
grant(struct serving *s)
{
	struct wish w;

	while (dolly_server_take_wish(s->server, &w))
		switch (w.kind) {
		case WISH_CLOSE:
			wires_hang_up(s->wires, w.peer);
			peer_free(w.peer);
			break;
		case WISH_ADMIT:
			admit(s, w.peer);
			break;
		case WISH_READ:
			read_chunk(s, &w);
			break;
		case WISH_TELL:
			tell(s, &w);
			break;
		default: /* a node's */
			break;
		}
}

static struct peer *
e_accept(void *arg, const uint8_t address[4])
{
	struct serving *s = arg;

	return dolly_server_accept(s->server, address);
}

static size_t
e_room(void *arg, struct peer *p, void **at)
{
	struct serving *s = arg;

	return dolly_server_room(s->server, p, at);
}

static void
e_bytes(void *arg, struct peer *p, const void *bytes, size_t n)
{
	struct serving *s = arg;

	dolly_server_input(s->server, p, bytes, n);
	grant(s);
}

static bool
e_reads(void *arg, const struct peer *p)
{
	struct serving *s = arg;

	return dolly_server_reads(s->server, p);
}

static void
e_closed(void *arg, struct peer *p, const char *why)
{
	struct serving *s = arg;

	dolly_server_closed(s->server, p, why);
	grant(s);
}

static size_t
e_output(void *arg, struct peer *p, const void **at)
{
	struct serving *s = arg;

	return dolly_server_output(s->server, p, at);
}

static void
e_sent(void *arg, struct peer *p, size_t n)
{
	struct serving *s = arg;

	dolly_server_sent(s->server, p, n);
}

static const struct wires_engine engine = { e_accept, e_room, e_bytes, e_reads, e_closed,
	e_output, e_sent };

/* --- running --- */

static void
take_events(struct serving *s)
{
	struct event ev;
	struct err e;

	while (chunk_reader_take(s->reader, &ev)) {
		if (ev.what == CHUNK_READER_FAILED)
			chunk_reader_why(s->reader, &e);
		dolly_server_read(s->server, ev.n, chunk_reader_length(s->reader, ev.n),
		    s->payload.raw != NULL ? raw_digest(s->read[ev.n]) : NULL,
		    ev.what == CHUNK_READER_FAILED ? &e : NULL);
		grant(s);
	}
}

/* The bytes that all nodes together have installed. */
static uint64_t
installed(const struct serving *s)
{
	const struct roster *r = dolly_server_roster(s->server);
	uint64_t chunks = 0;

	for (size_t i = 0; i < r->n; i++)
		chunks += r->members[i]->state == MEMBER_OUT ? 0 : r->members[i]->have;
	return chunks * CHUNK_BYTES;
}

static uint64_t
living(const struct serving *s)
{
	const struct roster *r = dolly_server_roster(s->server);
	uint64_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->members[i]->state != MEMBER_OUT;
	return n;
}

static int
until_deadline_ms(const struct serving *s)
{
	uint64_t now = clock_us(), at = dolly_server_deadline(s->server);

	return at > now ? (int)((at - now) / 1000 + 1) : 0;
}

static int
run(struct serving *s, struct err *e)
{
	int rc;

	while ((rc = dolly_server_over(s->server, e)) == 0) {
		wires_step(s->wires, chunk_reader_fd(s->reader), until_deadline_ms(s));
		take_events(s);
		dolly_server_resume(s->server);
		grant(s);
		if (clock_us() >= dolly_server_deadline(s->server)) {
			dolly_server_act(s->server, clock_us());
			grant(s);
			progress_total(&s->progress,
			    living(s) * s->payload.chunks * CHUNK_BYTES);
			progress_at(&s->progress, installed(s));
		}
		if (cancel_check(e) != 0) {
			dolly_server_stop(s->server, "the server was told to end");
			grant(s);
			return -1;
		}
	}
	return rc < 0 ? -1 : 0;
}

static int
open_server(struct serving *s, struct err *e)
{
	const struct options *o = s->o;
	struct dolly_server_config c = {
		.spread = { .slots = SLOTS,
		    .chunk_bytes = s->payload.chunk_bytes,
		    .piece_bytes = MSG_PIECE_MAX,
		    .chunks = s->payload.chunks },
		.bytes = s->payload.bytes,
		.content = s->payload.content,
		.arity = s->topology.arity,
		.rack = s->topology.racks.rack,
		.nodes = o->nodes != NULL ? (uint32_t)s->topology.node_list.names.n
		                          : (uint32_t)o->wait,
		.start_us = o->start_s * 1000000,
		.deadline_us = o->deadline_s * 1000000,
		.slow = o->slow,
		.linger_us = o->linger_s * 1000000,
	};

	random_bytes(c.key, sizeof c.key);
	memcpy(c.identity, s->payload.identity, sizeof c.identity);
	if ((o->key != NULL && tls_new(&s->key, o->key, "dolly", e) != 0) ||
	    wires_open(&s->wires, &engine, s->key, (uint16_t)o->port, false, e) != 0 ||
	    chunk_reader_start(&s->reader, payload_read, &s->payload, SLOTS, e) != 0 ||
	    dolly_server_new(&s->server, &c, clock_us(), e) != 0)
		return -1;
	wires_serve(s->wires, s);
	wires_deadline(s->wires, c.deadline_us);
	if (!o->quiet)
		say_text(stderr, "dolly: serving %s, port %u\n", s->payload.name,
		    wires_port(s->wires));
	if (!o->quiet && s->key == NULL)
		say_text(stderr, "dolly: without --key nothing is encrypted: the network is "
			    "trusted\n");
	return 0;
}

static int
report(struct serving *s, struct err *e)
{
	struct serve_run run = { .chunks = s->payload.chunks,
		.bytes = s->payload.bytes,
		.bytes_sent = dolly_server_bytes_sent(s->server),
		.encrypted = wires_encrypted(s->wires) };
	const struct roster *r = dolly_server_roster(s->server);

	if (s->began_us > 0 && s->whole_us > s->began_us)
		run.seconds = (double)(s->whole_us - s->began_us) / 1e6;
	if (s->topology.has_net && s->whole_us > 0) {
		if (topology_predict(&s->topology, s->o, run.bytes, r, &run.row, e) != 0)
			return -1;
		run.predicted = run.row.clients > 0;
	}
	return serve_report(s->o, r, &s->topology.node_list, &run, e);
}

static int
check_options(const struct options *o, struct err *e)
{
	double compression; /* used at the end, and must not be found wrong only then */

	if (plan_compression(o->compression, &compression, e) != 0)
		return -1;
	if ((o->nodes != NULL) == (o->wait > 0))
		return err_misuse(e, "serve needs either --nodes or --wait");
	if (o->chain + o->star + o->automatic + (o->tree > 0) > 1)
		return err_misuse(
		    e, "--auto, --chain, --tree and --star cannot be combined");
	if (o->zstd && !o->raw)
		return err_misuse(e,
		    "--zstd can only be used with --raw: images are sent as they are");
	if (o->network != NULL && o->rack_file != NULL)
		return err_misuse(e, "--network and --rack-file cannot be combined");
	if (o->network != NULL && o->plan != NULL)
		return err_misuse(
		    e, "--network and --plan cannot be combined: both predict");
	return 0;
}

int
command_serve(const struct options *o, char **operands, int n, struct err *e)
{
	struct serving s = { .o = o };
	struct payload_how how = { o->raw, o->zstd, o->install.force };

	(void)n;
	int rc = check_options(o, e);
	if (rc == 0)
		rc = payload_open(&s.payload, operands[0], &how, e);
	if (rc == 0)
		rc = topology_open(&s.topology, o, s.payload.bytes, e);
	progress_begin(&s.progress, "dolly", 0, -1, o->quiet);
	if (rc == 0)
		rc = open_server(&s, e);
	if (rc == 0)
		rc = run(&s, e);
	if (s.server != NULL) {
		progress_end(&s.progress, installed(&s));
		wires_flush(s.wires);
		if (rc == 0)
			rc = report(&s, e);
	}
	chunk_reader_stop(s.reader);
	wires_close(s.wires);
	dolly_server_free(s.server);
	tls_free(s.key);
	payload_close(&s.payload);
	topology_free(&s.topology);
	return rc;
}
