/* serve.c: the command `dolly serve`: sends an image to nodes that join. main.c
 * calls it; everything except the reading of chunks runs in the program's first
 * thread. */
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/plain.h"
#include "common/base/say.h"
#include "common/cli/progress.h"
#include "common/wire/addr.h"
#include "dolly/dolly.h"
#include "dolly/engine/server.h"
#include "dolly/meant.h"
#include "dolly/net/reader.h"
#include "dolly/net/wires.h"

enum {
	SLOTS = 32,
	TICK_US = 100000,
	STEP_MS = 50,
	CHUNK_BYTES = 1 << 20,
};

struct serving {
	const struct options *o;
	struct image *image;
	struct chunk_reader *reader;
	struct wires *wires;
	struct dolly_server *server;
	struct meant meant;
	struct progress progress;
	uint64_t ticked_us;
};

/* --- for the engine --- */

static void
on_read(void *arg, uint32_t slot, uint32_t chunk, void *to, uint32_t length)
{
	struct serving *s = arg;

	(void)length;
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
	if (getrandom(to, n, 0) != (ssize_t)n)
		abort(); /* 16 bytes are always to be had (getrandom(2)) */
}

static uint32_t
on_order(void *arg, const uint8_t address[4])
{
	struct serving *s = arg;

	return meant_order(&s->meant, address);
}

static void
on_event(void *arg, const struct member *m, const char *what)
{
	struct serving *s = arg;
	char address[ADDR_TEXT_MAX];

	if (s->o->quiet)
		return;
	progress_clear(&s->progress);
	say(stderr, "dolly: %.200s (%s, port %u): %s\n", m->name,
	    addr_text(m->address, address), m->port, what);
}

static const struct dolly_server_ops ops = { on_read, on_close, on_random, NULL,
	on_event };
static const struct dolly_server_ops ops_in_order = { on_read, on_close, on_random,
	on_order, on_event };

static struct peer *
e_accept(void *engine, const uint8_t address[4])
{
	return dolly_server_accept(engine, address);
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

static const struct wires_engine engine = { e_accept, e_bytes, e_reads, e_closed,
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
		dolly_server_read(
		    s->server, ev.n, ev.what == CHUNK_READER_FAILED ? &e : NULL);
	}
}

/* All that all nodes have. */
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
run(struct serving *s, struct err *e)
{
	int rc;

	while ((rc = dolly_server_over(s->server, e)) == 0) {
		wires_step(s->wires, chunk_reader_fd(s->reader), STEP_MS);
		take_events(s);
		dolly_server_resume(s->server);
		if (clock_us() - s->ticked_us >= TICK_US) {
			s->ticked_us = clock_us();
			dolly_server_tick(s->server, s->ticked_us);
			progress_total(&s->progress,
			    living(s) * image_chunks(s->image) * CHUNK_BYTES);
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
	const struct dolly_server_config c = {
		.spread = { .slots = SLOTS,
		    .chunk_bytes = CHUNK_BYTES,
		    .piece_bytes = MSG_PIECE_MAX,
		    .chunks = image_chunks(s->image),
		    .bytes = (uint64_t)image_chunks(s->image) * CHUNK_BYTES },
		.arity = o->star       ? ROSTER_MAX
		         : o->tree > 0 ? (unsigned)o->tree
		                       : 1,
		.nodes = o->nodes != NULL ? (uint32_t)s->meant.names.n
		                          : (uint32_t)o->wait,
		.start_us = o->start_s * 1000000,
		.deadline_us = o->deadline_s * 1000000,
		.slow = o->slow,
		.linger_us = o->linger_s * 1000000,
		.ops = o->nodes != NULL ? &ops_in_order : &ops,
		.arg = s,
	};

	if (c.spread.chunks == 0 || c.spread.chunks > MSG_CHUNKS_MAX)
		return err_set(
		    e, ERR_UNSUPPORTED, "an image of %u chunks", c.spread.chunks);
	if (wires_open(&s->wires, &engine, (uint16_t)o->port, false, e) != 0 ||
	    chunk_reader_start(&s->reader, s->image, SLOTS, e) != 0 ||
	    dolly_server_new(&s->server, &c, clock_us(), e) != 0)
		return -1;
	wires_serve(s->wires, s->server);
	if (!o->quiet)
		say(stderr, "dolly: serving %s, port %u\n", image_name(s->image),
		    wires_port(s->wires));
	return 0;
}

static int
open_image(struct serving *s, const char *path, struct err *e)
{
	if (image_open(&s->image, path, e) != 0)
		return -1;
	image_keep_encrypted(s->image);
	if (!image_seekable(s->image))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is a pipe, but nodes need the chunks in any order", path);
	return 0;
}

static int
check_options(const struct options *o, struct err *e)
{
	if ((o->nodes != NULL) == (o->wait > 0))
		return err_misuse(e, "serve needs either --nodes or --wait");
	if (o->chain + o->star + (o->tree > 0) > 1)
		return err_misuse(e, "--chain, --tree and --star cannot be combined");
	return 0;
}

int
command_serve(const struct options *o, char **operands, int n, struct err *e)
{
	struct serving s = { .o = o };

	(void)n;
	int rc = check_options(o, e);
	if (rc == 0 && o->nodes != NULL)
		rc = meant_read(&s.meant, o->nodes, e);
	if (rc == 0)
		rc = open_image(&s, operands[0], e);
	progress_begin(&s.progress, "dolly", 0, -1, o->quiet);
	if (rc == 0)
		rc = open_server(&s, e);
	if (rc == 0)
		rc = run(&s, e);
	if (s.server != NULL) {
		progress_end(&s.progress, installed(&s));
		wires_flush(s.wires);
		if (rc == 0)
			rc = serve_report(o, dolly_server_roster(s.server), &s.meant,
			    image_chunks(s.image), dolly_server_bytes_sent(s.server),
			    e);
	}
	chunk_reader_stop(s.reader);
	wires_close(s.wires);
	dolly_server_free(s.server);
	image_close(s.image);
	meant_free(&s.meant);
	return rc;
}
