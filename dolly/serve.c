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
#include "dolly/origin.h"
#include "dolly/way.h"

enum {
	SLOTS = 32,
	TICK_US = 100000,
	CHUNK_BYTES = 1 << 20,
	/* Lines about nodes, which strangers can play: so many in this time. */
	LINES_MAX = 200,
	LINES_US = 10000000,
};

struct serving {
	const struct options *o;
	struct origin origin;
	struct chunk_reader *reader;
	struct tls *key; /* NULL: nothing is encrypted */
	struct wires *wires;
	struct dolly_server *server;
	struct way way;
	struct progress progress;
	struct limiter lines; /* about nodes */
	uint64_t ticked_us;
	uint64_t began_us, whole_us; /* when the first chunk was read; when the last node was
	                                whole; 0: not yet */
};

/* --- for the engine --- */

static void
on_read(void *arg, uint32_t slot, uint32_t chunk, void *to)
{
	struct serving *s = arg;

	if (s->began_us == 0)
		s->began_us = clock_us();
	chunk_reader_ask(s->reader, slot, chunk, to);
}

static void
on_close(void *arg, struct peer *p)
{
	struct serving *s = arg;

	wires_hang_up(s->wires, p);
}

static void
on_random(void *arg, void *to, size_t n)
{
	(void)arg;
	random_bytes(to, n);
}

static const char *
on_spot(void *arg, const uint8_t address[4], struct roster_spot *spot)
{
	struct serving *s = arg;

	return way_spot(&s->way, address, spot);
}

/* May one more line about a node be written?  A stranger who joins again and again must not fill
 * the log. */
static bool
may_tell(struct serving *s)
{
	unsigned left_out;
	bool may = limiter_may(&s->lines, clock_us(), LINES_US, LINES_MAX, &left_out);

	if (may)
		progress_clear(&s->progress);
	if (left_out > 0)
		say(stderr, "dolly: %u lines about nodes were left out\n", left_out);
	return may;
}

static void
on_event(void *arg, const struct member *m, const char *what)
{
	struct serving *s = arg;
	char address[ADDR_TEXT_MAX];

	if (m->state == MEMBER_LEFT)
		s->whole_us = clock_us();
	if (s->o->quiet || !may_tell(s))
		return;
	say(stderr, "dolly: %.200s (%s, port %u): %s\n", m->name,
	    addr_text(m->address, address), m->port, what);
}

static const struct dolly_server_ops ops = { on_read, on_close, on_random, on_spot,
	on_event };

static struct peer *
e_accept(void *engine, const uint8_t address[4])
{
	return dolly_server_accept(engine, address);
}

static size_t
e_room(void *engine, struct peer *p, void **at)
{
	return dolly_server_room(engine, p, at);
}

static void
e_bytes(void *engine, struct peer *p, const void *bytes, size_t n)
{
	dolly_server_bytes(engine, p, bytes, n);
}

static bool
e_reads(void *engine, const struct peer *p)
{
	return dolly_server_reads(engine, p);
}

static void
e_closed(void *engine, struct peer *p, const char *why)
{
	dolly_server_closed(engine, p, why);
}

static size_t
e_output(void *engine, struct peer *p, const void **at)
{
	return dolly_server_output(engine, p, at);
}

static void
e_sent(void *engine, struct peer *p, size_t n)
{
	dolly_server_sent(engine, p, n);
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
		    ev.what == CHUNK_READER_FAILED ? &e : NULL);
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
until_tick_ms(const struct serving *s)
{
	uint64_t now = clock_us(), at = s->ticked_us + TICK_US;

	return at > now ? (int)((at - now) / 1000 + 1) : 0;
}

static int
run(struct serving *s, struct err *e)
{
	int rc;

	while ((rc = dolly_server_over(s->server, e)) == 0) {
		wires_step(s->wires, chunk_reader_fd(s->reader), until_tick_ms(s));
		take_events(s);
		dolly_server_resume(s->server);
		if (clock_us() - s->ticked_us >= TICK_US) {
			s->ticked_us = clock_us();
			dolly_server_tick(s->server, s->ticked_us);
			progress_total(&s->progress,
			    living(s) * s->origin.chunks * CHUNK_BYTES);
			progress_at(&s->progress, installed(s));
		}
		if (cancel_check(e) != 0) {
			dolly_server_stop(s->server, "the server was told to end");
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
		    .chunk_bytes = s->origin.chunk_bytes,
		    .piece_bytes = MSG_PIECE_MAX,
		    .chunks = s->origin.chunks },
		.bytes = s->origin.bytes,
		.content = s->origin.content,
		.arity = s->way.arity,
		.rack = s->way.racks.rack,
		.nodes = o->nodes != NULL ? (uint32_t)s->way.meant.names.n
		                          : (uint32_t)o->wait,
		.start_us = o->start_s * 1000000,
		.deadline_us = o->deadline_s * 1000000,
		.slow = o->slow,
		.linger_us = o->linger_s * 1000000,
		.ops = &ops,
		.arg = s,
	};

	memcpy(c.identity, s->origin.identity, sizeof c.identity);
	if ((o->key != NULL && tls_new(&s->key, o->key, "dolly", e) != 0) ||
	    wires_open(&s->wires, &engine, s->key, (uint16_t)o->port, false, e) != 0 ||
	    chunk_reader_start(&s->reader, origin_read, &s->origin, SLOTS, e) != 0 ||
	    dolly_server_new(&s->server, &c, clock_us(), e) != 0)
		return -1;
	wires_serve(s->wires, s->server);
	wires_deadline(s->wires, c.deadline_us);
	if (!o->quiet)
		say(stderr, "dolly: serving %s, port %u\n", s->origin.name,
		    wires_port(s->wires));
	if (!o->quiet && s->key == NULL)
		say(stderr, "dolly: without --key nothing is encrypted: the network is "
			    "trusted\n");
	return 0;
}

static int
report(struct serving *s, struct err *e)
{
	struct serve_run run = { .chunks = s->origin.chunks,
		.bytes = s->origin.bytes,
		.bytes_sent = dolly_server_bytes_sent(s->server),
		.encrypted = wires_encrypted(s->wires) };
	const struct roster *r = dolly_server_roster(s->server);

	if (s->began_us > 0 && s->whole_us > s->began_us)
		run.seconds = (double)(s->whole_us - s->began_us) / 1e6;
	if (s->way.has_net && s->whole_us > 0) {
		if (way_predict(&s->way, s->o, run.bytes, r, &run.row, e) != 0)
			return -1;
		run.predicted = run.row.clients > 0;
	}
	return serve_report(s->o, r, &s->way.meant, &run, e);
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
	struct origin_how how = { o->raw, o->zstd, o->install.force };

	(void)n;
	int rc = check_options(o, e);
	if (rc == 0)
		rc = origin_open(&s.origin, operands[0], &how, e);
	if (rc == 0)
		rc = way_open(&s.way, o, s.origin.bytes, e);
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
	origin_close(&s.origin);
	way_free(&s.way);
	return rc;
}
