/* join.c: the command `dolly join`: installs the image that a server or another node sends,
 * and sends it on to other nodes meanwhile.  main.c calls it.  Everything runs in the
 * program's first thread, except the target (net/target.c) and the relay, which have threads
 * of their own. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/mailbox.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "common/base/zero.h"
#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"
#include "common/cli/progress.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/image/read/source.h"
#include "common/net/tls.h"
#include "dolly/dolly.h"
#include "dolly/engine/node.h"
#include "dolly/order/meant.h"
#include "dolly/net/target.h"
#include "dolly/net/wires.h"
#include "dolly/raw/raw.h"
#include "dolly/relay/relay.h"
#include "imageunzip/cli/install_opts.h"
#include "imageunzip/install/install_sink.h"

enum {
	SLOTS = 16,
	WRITE_MB = 16, /* memory of the installation, where the options do not say */
	TICK_US = 100000,
	STEP_MS = 50,
	CHUNK_BYTES = 1 << 20,
	RELAY_ENDS_US = 10000000, /* a relay's session ends by itself sooner than this */
};

struct joining {
	const struct options *o;
	const char *target_name;
	uint8_t server[4];
	uint16_t port;
	struct node *node;
	struct tls *key; /* NULL: nothing is encrypted */
	struct wires *wires;
	struct target_thread *target; /* NULL: the image is not known yet */
	struct install_stats installed;
	struct sink_sum sum; /* valid when the target is complete */
	uint64_t raw_bytes; /* size of what is served */
	uint8_t content;    /* enum msg_content: what that is */
	struct relay *relay; /* NULL: no --relay, or it has failed */
	struct err relay_failed; /* kind ERR_NONE: it has not */
	struct {
		uint32_t chunk;
		const void *bytes;
	} put[SLOTS]; /* the chunks that the target was given, by slot */
	struct progress progress;
	bool away; /* the server was away at the last tick */
	uint64_t ticked_us;
};

/* --- for the engine --- */

static int
on_dial(
    void *arg, struct peer *p, const uint8_t address[4], uint16_t port, struct err *e)
{
	struct joining *j = arg;

	if (port == 0 && is_zero(address, 4))
		return wires_dial(j->wires, p, j->server, j->port, e);
	return wires_dial(j->wires, p, address, port, e);
}

static void
on_close(void *arg, struct peer *p)
{
	struct joining *j = arg;

	wires_hang_up(j->wires, p);
}

static int
open_sink(void *arg, struct sink *sink, struct err *e)
{
	struct joining *j = arg;
	struct install_sink_config c = { .install = j->o->install,
		.target = j->target_name,
		.stats = &j->installed };

	c.install.gentle = true;
	install_tells_user(&c.install, j->o->quiet);
	if (c.install.write_mb == 0)
		c.install.write_mb = WRITE_MB;
	return sink_to_install(sink, &c, e);
}

/* A disk must have room for all of the data.  Nothing else is opened here: to open a named pipe is to
 * wait for its other end. */
static int
check_room(const char *path, uint64_t bytes, struct err *e)
{
	struct err ignored;
	struct stat st;
	struct disk *d;

	if (stat(path, &st) != 0 || !S_ISBLK(st.st_mode))
		return 0;
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	uint64_t room = disk_size_bytes(d);
	(void)disk_close(d, &ignored);
	if (room >= bytes)
		return 0;
	return err_set(e, ERR_REFUSED, "%s: has %llu bytes, and the data needs %llu",
	    path, (unsigned long long)room, (unsigned long long)bytes);
}

/* Raw data is written unchanged, to a disk or file. */
static int
open_raw(void *arg, struct sink *sink, struct err *e)
{
	struct joining *j = arg;
	const struct sink_file_config c = { .path = j->target_name,
		.force = j->o->install.force,
		.guard = cli_guard_set };
	struct stat st;

	const struct install_config *i = &j->o->install;
	if (install_check_raw(i, e) != 0 || i->opener.verify_key != NULL ||
	    i->opener.decrypt != NULL)
		return err_set(e, ERR_USAGE,
		    "the server sends raw data: options for an installation, "
		    "--verify-key and --decrypt cannot be used");
	if (!c.force && stat(c.path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return err_set(
		    e, ERR_REFUSED, "%s: exists already; --force replaces it", c.path);
	if (check_room(c.path, j->raw_bytes, e) != 0)
		return -1;
	return sink_to_file(sink, &c, e);
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
begin_relay(struct joining *j, const struct node_image *image, struct err *e)
{
	const struct relay_image i = { image->chunks, image->identity };

	if (image->content != MSG_IMAGE)
		return err_set(e, ERR_UNSUPPORTED,
		    "--relay: the server sends raw data, which frisbee does not load");
	log_open("dolly", true, j->o->quiet ? LOG_LEVEL_WARN : LOG_LEVEL_INFO);
	return relay_start(&j->relay, j->o->relay, j->o->relay_file, &i, e);
}

static int
on_begin(
    void *arg, const struct node_image *image, struct node_target *t, struct err *e)
{
	struct joining *j = arg;
	struct sink_info info = { 0 };

	const struct target_config c = {
		.open = image->content == MSG_RAW ? open_raw : open_sink,
		.arg = j,
		.opener = &j->o->install.opener,
		.raw = image->content == MSG_RAW,
		.bytes = image->bytes,
		.chunks = image->chunks,
		.slots = SLOTS,
	};

	wires_deadline(j->wires, image->deadline_us);
	j->raw_bytes = image->bytes;
	j->content = image->content;
	if (check_size(image, e) != 0 || target_thread_start(&j->target, &c, e) != 0)
		return -1;
	target_thread_info(j->target, &info);
	t->in_order = info.in_order;
	t->chunk0_first = info.chunk0_first;
	progress_total(&j->progress, image->bytes);
	return j->o->relay != NULL ? begin_relay(j, image, e) : 0;
}

static bool
on_has(void *arg, uint32_t chunk)
{
	struct joining *j = arg;

	return target_thread_has(j->target, chunk);
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

static void
on_put(void *arg, uint32_t slot, uint32_t chunk, uint8_t *bytes, uint32_t length)
{
	struct joining *j = arg;

	if (j->content == MSG_IMAGE)
		length = put_padding_back(bytes, length);
	j->put[slot].chunk = chunk;
	j->put[slot].bytes = bytes;
	target_thread_put(j->target, slot, chunk, bytes, length);
}

/* A relay that fails is given up; this node and the nodes behind it go on. */
static void
lose_relay(struct joining *j, const struct err *e)
{
	j->relay_failed = *e;
	relay_stop(j->relay);
	j->relay = NULL;
	progress_clear(&j->progress);
	cli_warn(e->text);
}

/* Gives the relay a chunk that the target has taken, and that was proved before. */
static void
relay_slot(struct joining *j, uint32_t slot)
{
	struct err e;

	if (j->relay != NULL && j->put[slot].bytes != NULL &&
	    relay_put(j->relay, j->put[slot].chunk, j->put[slot].bytes, &e) != 0)
		lose_relay(j, &e);
}

static void
on_finish(void *arg)
{
	struct joining *j = arg;

	target_thread_finish(j->target);
}

static const struct node_ops ops = { on_dial, on_close, on_begin, on_has, on_put,
	on_finish };

static struct peer *
e_accept(void *engine, const uint8_t address[4])
{
	return node_accept(engine, address);
}

static void
e_bytes(void *engine, struct peer *p, const void *bytes, size_t n)
{
	node_bytes(engine, p, bytes, n);
}

static bool
e_reads(void *engine, const struct peer *p)
{
	return node_reads(engine, p);
}

static void
e_closed(void *engine, struct peer *p, const char *why)
{
	node_closed(engine, p, why);
}

static size_t
e_output(void *engine, struct peer *p, const void **at)
{
	return node_output(engine, p, at);
}

static void
e_sent(void *engine, struct peer *p, size_t n)
{
	node_sent(engine, p, n);
}

static const struct wires_engine engine = { e_accept, e_bytes, e_reads, e_closed,
	e_output, e_sent };

/* --- running --- */

static void
on_event(struct joining *j, const struct event *ev)
{
	struct err why;

	target_thread_why(j->target, &why);
	switch (ev->what) {
	case TARGET_RELEASED:
		relay_slot(j, ev->n);
		node_put(j->node, ev->n, NODE_PUT_DONE, NULL);
		break;
	case TARGET_DAMAGED:
		node_put(j->node, ev->n, NODE_PUT_DAMAGED, &why);
		break;
	case TARGET_NEEDS:
		node_needs(j->node, ev->n);
		break;
	case TARGET_FAILED:
		node_finished(j->node, &why);
		break;
	case TARGET_FINISHED:
		target_thread_sum(j->target, &j->sum);
		node_finished(j->node, NULL);
		break;
	}
}

/* Where the target's events come; NULL: there is no target, or it could not be started. */
static struct mailbox *
events_of(const struct joining *j)
{
	return j->target != NULL ? target_thread_mailbox(j->target) : NULL;
}

static void
take_events(struct joining *j)
{
	struct mailbox *box = events_of(j);
	struct event ev;

	while (box != NULL && mailbox_take(box, &ev))
		on_event(j, &ev);
}

static void
watch_server(struct joining *j)
{
	struct node_stats s;

	node_stats(j->node, &s);
	if (s.away == j->away)
		return;
	j->away = s.away;
	if (j->o->quiet)
		return;
	progress_clear(&j->progress);
	cli_tell(s.away ? "the server went away; this node keeps what it has and waits "
	              "for the server"
		    : "the server is back");
}

static void
tick(struct joining *j)
{
	struct node_stats s;

	j->ticked_us = clock_us();
	node_tick(j->node, j->ticked_us);
	node_stats(j->node, &s);
	progress_at(&j->progress, (uint64_t)s.have * CHUNK_BYTES);
	watch_server(j);
}

static int
run(struct joining *j, struct err *e)
{
	int rc;

	while ((rc = node_over(j->node, e)) == 0) {
		struct mailbox *box = events_of(j);
		wires_step(j->wires, box != NULL ? mailbox_fd(box) : -1, STEP_MS);
		take_events(j);
		node_resume(j->node);
		if (clock_us() - j->ticked_us >= TICK_US)
			tick(j);
		if (cancel_check(e) != 0)
			return -1;
	}
	watch_server(j); /* a whole node may end at once when the server is back */
	wires_flush(j->wires);
	return rc < 0 ? -1 : 0;
}

/* For how long there must be no client before the relay is stopped.  A session from which a
 * client has requested something ends by itself two seconds after its last client has left, and
 * must not be stopped before. */
static uint64_t
relay_patience_us(const struct joining *j, const struct relay_stats *s)
{
	uint64_t us = j->o->patience_s * 1000000;

	return s->blocks_sent > 0 && us < RELAY_ENDS_US ? RELAY_ENDS_US : us;
}

/* Waits until the relay's clients have the whole image, or there has been no client for the
 * time of --patience.  The session ends by itself only after a client has requested something,
 * and a client that has joined and died counts until the session forgets it. */
static int
finish_relay(struct joining *j, struct err *e)
{
	uint64_t there_us = clock_us(); /* when a client was there last */
	struct relay_stats s = { 0 };

	while (j->relay != NULL && !s.over) {
		relay_stats(j->relay, &s);
		if (s.here > 0)
			there_us = clock_us();
		if (clock_us() - there_us > relay_patience_us(j, &s)) {
			cli_warn("no client has loaded the relayed image");
			break;
		}
		if (cancel_check(e) != 0)
			return -1;
		timed_sleep(STEP_MS * 1000);
	}
	if (s.err.kind != ERR_NONE)
		j->relay_failed = s.err;
	if (j->relay != NULL && !j->o->quiet)
		say(stderr, "dolly: relayed to %u clients\n", s.clients);
	*e = j->relay_failed;
	return e->kind == ERR_NONE ? 0 : err_ctx(e, "--relay");
}

static int
report(const struct joining *j, struct err *e)
{
	struct node_stats s;

	node_stats(j->node, &s);
	if (s.alone)
		cli_warn("the server did not come back, so nobody knows whether the "
		     "nodes behind this one are whole");
	if (!j->o->quiet)
		say(stderr,
		    "dolly: %u chunks installed, %llu MB written, %llu MB forwarded\n",
		    s.chunks, (unsigned long long)j->sum.bytes_written / 1000000,
		    (unsigned long long)s.forwarded / 1000000);
	if (!j->o->json)
		return 0;
	struct json *d = json_new();
	if (d == NULL)
		return err_nomem(e, "a report");
	json_object(d, NULL);
	json_uint(d, "chunks", s.chunks);
	json_uint(d, "bytes_received", s.received);
	json_uint(d, "bytes_forwarded", s.forwarded);
	json_uint(d, "bytes_written", j->sum.bytes_written);
	json_uint(d, "chunks_damaged", s.damaged);
	json_uint(d, "parents", s.parents);
	const struct wires_encrypted encrypted = wires_encrypted(j->wires);
	report_encrypted(d, j->o->key != NULL, &encrypted);
	json_end(d);
	return json_show_on(d, output_report(j->target_name), e);
}

static int
start(struct joining *j, const char *name, struct err *e)
{
	struct node_config c = { .name = name,
		.patience_us = j->o->patience_s * 1000000,
		.spread = { .slots = SLOTS,
		    .chunk_bytes = RAW_SENT_MAX,
		    .piece_bytes = MSG_PIECE_MAX },
		.ops = &ops,
		.arg = j };

	if (j->o->key != NULL && tls_new(&j->key, j->o->key, "dolly", e) != 0)
		return -1;
	if (wires_open(&j->wires, &engine, j->key, (uint16_t)j->o->port, true, e) != 0)
		return -1;
	c.port = wires_port(j->wires);
	if (!j->o->quiet && c.port != j->o->port)
		say(stderr,
		    "dolly: port %llu is in use, so this node listens on port %u\n",
		    (unsigned long long)j->o->port, c.port);
	if (node_new(&j->node, &c, clock_us(), e) != 0)
		return -1;
	wires_serve(j->wires, j->node);
	return 0;
}

static int
check_relay(const struct options *o, struct err *e)
{
	if (o->relay != NULL && (o->install.state != NULL || o->install.only.n > 0))
		return err_misuse(
		    e, "--relay needs all chunks, so --state and --only exclude it");
	return 0;
}

int
command_join(const struct options *o, char **operands, int n, struct err *e)
{
	struct joining j = { .o = o, .target_name = operands[1] };
	char name[MSG_TEXT_MAX] = "";

	(void)n;
	(void)gethostname(name, sizeof name - 1);
	progress_begin(&j.progress, "dolly", 0, -1, o->quiet);
	int rc = check_relay(o, e);
	if (rc == 0)
		rc = meant_resolve_port(operands[0], (uint16_t)o->port, j.server, &j.port, e);
	if (rc == 0)
		rc = start(&j, name, e);
	if (rc == 0)
		rc = run(&j, e);
	target_thread_stop(j.target);
	if (rc == 0)
		rc = finish_relay(&j, e);
	relay_stop(j.relay);
	if (rc == 0) {
		progress_end(&j.progress, j.sum.bytes_covered);
		rc = report(&j, e);
	}
	wires_close(j.wires);
	node_free(j.node);
	tls_free(j.key);
	lost_free(&j.installed.lost);
	return rc;
}
