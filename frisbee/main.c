/* frisbee: load a disk with the image that a frisbeed serves. */
#include <string.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/say.h"
#include "common/cli/cli_guard.h"
#include "common/disk/output.h"
#include "common/image/read/partial.h"
#include "common/wire/addr.h"
#include "common/wire/parity.h"
#include "frisbee/diagnose.h"
#include "frisbee/load/loop.h"
#include "frisbee/options.h"
#include "frisbee/report.h"
#include "imageunzip/install/rehearsal_report.h"

enum {
	IN_PROGRESS_DEFAULT = 8,
	TICK_US = 30000,
	IDLE_TICKS = 3,
	JOIN_US = 500000,
};

static void
warn(const char *sentence)
{
	say(stderr, "frisbee: warning: %s\n", sentence);
}

static void
on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct opts *o = arg;

	progress_total(&o->progress, total);
	progress_at(&o->progress, done);
}

static void
on_sentence(void *arg, const char *sentence)
{
	const struct opts *o = arg;

	progress_clear(&o->progress);
	warn(sentence);
}

static void
tell(const char *sentence)
{
	say(stderr, "frisbee: %s\n", sentence);
}

static int
draw(void *to, size_t n, struct err *e)
{
	return getrandom(to, n, 0) == (ssize_t)n ? 0 : err_os(e, "no random numbers");
}

static int
configure(const struct opts *o, const struct sock *sock, struct client_config *c,
    struct err *e)
{
	uint64_t random[3];

	if (draw(random, sizeof random, e) != 0)
		return -1;
	uint32_t in_progress = (uint32_t)o->readahead * 4;
	*c = (struct client_config){ .clientid = (uint32_t)random[0] & INT32_MAX,
		.seed = random[1],
		.any_file = o->any_file,
		.buffers = (uint32_t)o->chunk_mb,
		.readahead = (uint32_t)o->readahead,
		.in_progress = in_progress > IN_PROGRESS_DEFAULT ? in_progress
		                                                 : IN_PROGRESS_DEFAULT,
		.redo_us = o->redo_ms * 1000,
		.tick_us = TICK_US,
		.idle_ticks = IDLE_TICKS,
		.join_us = JOIN_US,
		.silence_us = o->silence_s * 1000000,
		.sequential = o->sequential,
		.chunk0_first = install_wants_table(&o->install) || o->dry_run,
		.unicast = o->net.unicast && !o->base,
		.ext = !o->base && !o->net.unicast,
		.parity = parity_available(),
		.start_delay_us = o->start_delay_s != 0
		                      ? random[2] % (o->start_delay_s * 1000000)
		                      : 0 };
	memcpy(c->srcip, sock_netif(sock)->addr, 4);
	c->has_server = o->server != NULL;
	return c->has_server ? addr_parse(o->server, c->server, e) : 0;
}

static double
seconds(const struct opts *o)
{
	return (double)(clock_us() - o->started_us) / 1e6;
}

static void
on_tick(void *arg, const struct loop_result *r)
{
	struct opts *o = arg;
	struct err e;

	if (o->stats_file == NULL || report_save(r, seconds(o), o->stats_file, &e) == 0)
		return;
	o->stats_file = NULL; /* a load is not worth less without */
	warn(e.text);
}

static int
report(struct opts *o, const struct loop_result *r, struct err *e)
{
	if (!o->quiet)
		report_line(r, seconds(o));
	on_tick(o, r);
	if (!o->json)
		return 0;
	return report_print(r, seconds(o), o->report_to, e);
}

static int
report_dry(const struct opts *o, const struct sink_config *sc, struct err *e)
{
	if (o->json)
		return rehearsal_json(sc->dry, stdout, e);
	if (!o->quiet)
		rehearsal_print(sc->dry, &sc->install, "the image", sc->target);
	return 0;
}

/* Everything is open: load, report. */
static int
load(struct opts *o, const struct sink_config *sc, const struct sock_config *nc,
    struct sock *sock, struct auth *auth, struct sink *sink, struct mailbox *box,
    struct err *e)
{
	struct loop_config lc = { .buffers = (uint32_t)o->chunk_mb,
		.keepalive_us = o->net.keepalive_s * 1000000,
		.write_mb = o->install.write_mb,
		.net = nc,
		.auth = auth,
		.tick = on_tick,
		.progress = on_progress,
		.say = on_sentence,
		.arg = o };
	struct loop_result r = { 0 };
	struct client_config cc;
	struct install_stats none;
	struct err ignored;
	o->started_us = clock_us();
	int configured = configure(o, sock, &cc, e);
	cc.has = sink_has;
	cc.has_arg = sink;
	cc.resumes = sink_resumes(sink);
	cc.in_order = sink_in_order(sink);
	cc.chunk0_first |= sink_waits(sink);
	cc.first_blocks = sink_takes_parts(sink) ? PARTIAL_FIRST_BLOCKS : 0;
	struct client *client = configured == 0 ? client_new(&cc, o->started_us) : NULL;
	if (client == NULL) {
		sink_close(sink, &none, &ignored);
		return -1;
	}
	progress_begin(&o->progress, "frisbee", 0,
	    o->progress_fd == UINT64_MAX ? -1 : (int)o->progress_fd, o->quiet);
	int rc = load_run(client, sock, sink, box, &lc, &r, e);
	progress_end(&o->progress, (uint64_t)r.chunks << 20);
	o->gave_up = r.gave_up;
	client_free(client);
	if (rc != 0 && r.chunks > 0 && sc->dry == NULL) {
		struct err why = *e;
		on_tick(o, &r);
		return err_set(
		    e, why.kind, "%.400s; the target is not complete", why.text);
	}
	if (rc == 0 && sc->dry != NULL)
		rc = report_dry(o, sc, e);
	else if (rc == 0)
		rc = report(o, &r, e);
	lost_free(&r.install.lost);
	return rc != 0 ? -1 : 0;
}

/* ... with what authenticates its packets, or counts those that are. */
static int
open_sock(struct opts *o, const struct sock_config *nc, struct sock **sock,
    struct auth **auth, struct err *e)
{
	if (net_options_read_key(&o->net, e) != 0 || sock_open(sock, nc, e) != 0)
		return -1;
	int rc = sock_new_auth(auth, *sock, false, net_options_key(&o->net), e);
	net_options_wipe_key(&o->net);
	if (rc != 0) {
		sock_close(*sock);
		return -1;
	}
	sock_authenticate(*sock, *auth, AUTH_FIRST);
	return 0;
}

static int
run(struct opts *o, const char *target, struct err *e)
{
	struct sink_config sc = { .install = o->install,
		.any_file = o->any_file,
		.target = target,
		.buffers = (uint32_t)o->chunk_mb };
	struct rehearsal_found found = { .nparts = 0 };
	struct sock_config nc;
	struct sock *sock;
	struct auth *auth;
	struct mailbox *box;
	struct sink *sink;

	sc.dry = o->dry_run ? &found : NULL;
	sc.install.warn = warn;
	sc.install.guard = cli_guard_set;
	sc.install.say = o->quiet ? NULL : tell;
	sc.install.gentle = true;
	if (net_options_resolve(&o->net, &nc, e) != 0)
		return -1;
	if (o->net.unicast) { /* any free port of ours, to that one of the server's */
		if (nc.port_lo == 0 || nc.port_lo != nc.port_hi)
			return err_misuse(e, "--unicast: one port (-p) is needed");
		nc.dest_port = nc.port_lo;
		nc.connected = true;
		nc.port_lo = nc.port_hi = 0;
	}
	nc.share_port = !o->net.unicast;
	if (open_sock(o, &nc, &sock, &auth, e) != 0)
		return -1;
	int rc = mailbox_new(&box, sc.buffers + SINK_EVENTS, e);
	if (rc == 0) {
		rc = sink_new(&sink, &sc, box, e);
		if (rc == 0)
			rc = load(o, &sc, &nc, sock, auth, sink, box, e);
		mailbox_free(box);
	}
	sock_close(sock);
	auth_free(auth);
	rehearsal_found_free(&found);
	return rc;
}

static int
examine(struct opts *o, struct err *e)
{
	struct sock_config nc;
	struct doctor_config dc = { .net = &nc, .server = o->server, .json = o->json };

	if (net_options_resolve(&o->net, &nc, e) != 0 ||
	    net_options_read_key(&o->net, e) != 0)
		return -1;
	dc.key = net_options_key(&o->net);
	int rc = diagnose(&dc, e);
	net_options_wipe_key(&o->net);
	return rc;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	struct opts *o = opts;

	if (o->doctor && n == 0)
		return examine(o, e);
	if (o->doctor)
		return err_set(e, ERR_USAGE, "--doctor loads nothing: no target");
	if (n != 1)
		return err_misuse(e, "one target is needed");
	if (o->dry_run && o->install.only.n > 0)
		return err_misuse(
		    e, "--dry-run is of whole images: it cannot be used with --only");
	if (o->dry_run && o->any_file)
		return err_misuse(e, "--dry-run is for images that are installed: not "
				     "with -N");
	if (opts_settle(o, e) != 0)
		return -1;
	o->report_to = output_report(operands[0]);
	return run(o, operands[0], e);
}

int
main(int argc, char **argv)
{
	struct opts o = frisbee_defaults;

	return cli_main(&frisbee_program, argc, argv, &o, act);
}
