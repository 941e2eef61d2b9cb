/* frisbee: load a disk with the image that a frisbeed serves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/cli_rows.h"
#include "common/base/progress.h"
#include "common/disk/output.h"
#include "common/net/netopts.h"
#include "common/net/parity.h"
#include "frisbee/doctor.h"
#include "frisbee/loop.h"
#include "frisbee/partial.h"
#include "frisbee/report.h"

enum {
	CHUNK_MB_DEFAULT = 64,
	WRITE_MB_DEFAULT = 64,
	READAHEAD_DEFAULT = 2,
	IN_PROGRESS_DEFAULT = 8,
	TICK_US = 30000,
	IDLE_TICKS = 3,
	JOIN_US = 500000,
	REDO_MS_DEFAULT = 1000,
	CHUNK_MB_MAX = 65536,
	EXIT_TIMED_OUT = ETIMEDOUT, /* as the original's */
};

struct opts {
	bool gave_up; /* nothing was heard for too long */
	struct net_options net;
	struct install_config install;
	const char *server; /* -S */
	const char *stats_file;
	uint64_t started_us;
	bool any_file, sequential, quiet, debug, json, base, doctor;
	FILE *report_to;
	uint64_t start_delay_s, readahead, redo_ms, chunk_mb, both_mb, silence_s,
	    progress_fd;
};

enum { OPT_JSON = 300, OPT_PROGRESS, OPT_BASE, OPT_STATS, OPT_PATTERN, OPT_DOCTOR };

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'S', "server", "ADDR", "take blocks only from this server", CLI_STR,
	    AT(server), 0, 0, NULL },
	FLAG('N', "any-file", "load a file as it is, not an image", any_file),
	FLAG('O', "in-order", "ask for chunks in order, not at random", sequential),
	UINT('r', "start-delay", "S", "wait a random time of up to S seconds first",
	    start_delay_s, 0, 86400),
	UINT('R', "readahead", "N", "chunks asked for ahead (2)", readahead, 1, 1024),
	UINT('I', "redo", "MS", "milliseconds before asking again (1000)", redo_ms, 1,
	    600000),
	UINT('C', "chunk-mem", "MB",
	    "memory for chunks on their way (64; 0: the whole image)", chunk_mb, 0,
	    CHUNK_MB_MAX),
	UINT('M', "memory", "MB", "for -C and -W together, half each", both_mb, 4,
	    2 * CHUNK_MB_MAX),
	UINT('T', "timeout", "S",
	    "give up after S seconds without the server, exit 110", silence_s, 0,
	    86400),
	FLAG(OPT_BASE, "base", "only the protocol that old servers speak", base),
	FLAG(OPT_DOCTOR, "doctor", "load nothing: say why multicast does not arrive",
	    doctor),
	FLAG('q', "quiet", "no summary and no progress", quiet),
	FLAG('d', "debug", "say more", debug),
	FLAG('t', "trace", "the same as -d", debug),
	FLAG(OPT_JSON, "json", "print the statistics, or what --doctor finds, as JSON",
	    json),
	{ OPT_STATS, "stats", "FILE",
	    "keep the same statistics there, written anew every second", CLI_STR,
	    AT(stats_file), 0, 0, NULL },
	UINT(OPT_PROGRESS, "progress", "FD",
	    "report progress as lines \"DONE TOTAL\" there", progress_fd, 0, 1 << 20),
	{ OPT_PATTERN, "pattern", "N", "fill the free space with this 32-bit number",
	    CLI_CALL, AT(install), 0, 0, install_set_pattern },
	REFUSED('F', "ID", "not built yet: master server; use -m and -p"),
	REFUSED('Q', "ID", "not built yet: master server; use -m and -p"),
	REFUSED('P', "HOST", "not built yet: master server"),
	REFUSED('B', "S", "not built yet: master server"),
	REFUSED('X', "METHODS", "not built yet: master server"),
	REFUSED('u', "UUID", "not built yet: checking the image's UUID"),
	REFUSED('c', "KEY", "not built yet: Emulab's signed images; see --verify-key"),
	REFUSED('e', "KEY", "not built yet: Emulab's encrypted images; see --decrypt"),
	REFUSED('U', NULL, "not built yet: prefixed output"),
	REFUSED('H', "N", "not built yet: heartbeats"),
	{ 0 },
};

static int
exit_status(const void *opts, const struct err *e)
{
	const struct opts *o = opts;

	(void)e;
	return o->gave_up ? EXIT_TIMED_OUT : 0;
}

static const struct cli_program prog = {
	.exit_status = exit_status,
	.report_to = output_report_last,
	.guarded = true,
	.name = "frisbee",
	.synopsis = "[options] -m address -p port target|-",
	.about = "Load an image from frisbeed onto a disk, together with any number of "
		 "others.",
	.examples =
	    "  frisbee -m 239.192.1.5 -p 5005 /dev/sda          a whole disk\n"
	    "  frisbee -m 239.192.1.5 -p 5005 -s 2 /dev/sda     into partition 2\n"
	    "  frisbee -m 239.192.1.5 -p 5005 - | xz > disk.xz  through a pipe\n"
	    "  frisbee -m 239.192.1.5 -p 5005 -N kernel.tar.gz  any file\n"
	    "  frisbee --unicast -m 10.1.0.1 -p 5005 /dev/sda   from that host alone\n"
	    "  frisbee -m 239.192.1.5 -p 5005 --doctor          what is wrong?\n",
	.tables = { { net_opts, AT(net), "Network" }, { own_opts, 0, "Loading" },
	    { install_opts, AT(install), "Installing" },
	    { proof_opts, AT(install.proof), "Proof" } },
};

static void
warn(const char *sentence)
{
	fprintf(stderr, "frisbee: warning: %s\n", sentence);
}

static void
say(const char *sentence)
{
	fprintf(stderr, "frisbee: %s\n", sentence);
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
		/* Without the image's partitions there is no place for the state. */
		.chunk0_first = o->install.state != NULL &&
		                strcmp(o->install.state, "target") == 0,
		.ext = !o->base && !o->net.unicast,
		.parity = parity_available(),
		.start_delay_us = o->start_delay_s != 0
		                      ? random[2] % (o->start_delay_s * 1000000)
		                      : 0 };
	memcpy(c->srcip, sock_netif(sock)->addr, 4);
	c->has_server = o->server != NULL;
	return c->has_server ? netif_parse(o->server, c->server, e) : 0;
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

/* Everything is open: load, report. */
static int
load(struct opts *o, const struct sock_config *nc, struct sock *sock, struct sink *sink,
    struct mailbox *box, struct err *e)
{
	struct loop_config lc = { .buffers = (uint32_t)o->chunk_mb,
		.keepalive_us = o->net.keepalive_s * 1000000,
		.write_mb = o->install.write_mb,
		.net = nc,
		.tick = on_tick,
		.tick_arg = o };
	struct loop_result r = { 0 };
	struct client_config cc;
	struct progress progress;
	struct install_stats none;
	struct err ignored;
	o->started_us = clock_us();
	int configured = configure(o, sock, &cc, e);
	cc.has = sink_has;
	cc.has_arg = sink;
	cc.resumes = sink_resumes(sink);
	cc.in_order = sink_in_order(sink);
	cc.first_blocks = sink_takes_parts(sink) ? PARTIAL_FIRST_BLOCKS : 0;
	struct client *client = configured == 0 ? client_new(&cc, o->started_us) : NULL;
	if (client == NULL) {
		sink_close(sink, &none, &ignored);
		return -1;
	}
	progress_begin(&progress, "frisbee", 0,
	    o->progress_fd == UINT64_MAX ? -1 : (int)o->progress_fd, o->quiet);
	int rc = loop_run(client, sock, sink, box, &lc, &progress, &r, e);
	progress_end(&progress, (uint64_t)r.chunks << 20);
	o->gave_up = r.gave_up;
	client_free(client);
	if (rc != 0 && r.chunks > 0) {
		struct err why = *e;
		on_tick(o, &r);
		return err_set(
		    e, why.kind, "%.400s; the target is not complete", why.text);
	}
	if (rc == 0)
		rc = report(o, &r, e);
	lost_free(&r.install.lost);
	return rc != 0 ? -1 : 0;
}

static int
run(struct opts *o, const char *target, struct err *e)
{
	struct sink_config sc = { .install = o->install,
		.any_file = o->any_file,
		.target = target,
		.buffers = (uint32_t)o->chunk_mb };
	struct sock_config nc;
	struct sock *sock;
	struct mailbox *box;
	struct sink *sink;

	sc.install.warn = warn;
	sc.install.say = o->quiet ? NULL : say;
	sc.install.gentle = true;
	if (net_options_resolve(&o->net, &nc, e) != 0)
		return -1;
	if (o->net.unicast) { /* any free port of ours, to that one of the server's */
		if (nc.port_lo == 0 || nc.port_lo != nc.port_hi)
			return err_set(
			    e, ERR_USAGE, "--unicast: one port (-p) is needed");
		nc.dest_port = nc.port_lo;
		nc.connected = true;
		nc.port_lo = nc.port_hi = 0;
	}
	nc.share_port = !o->net.unicast;
	if (sock_open(&sock, &nc, e) != 0)
		return -1;
	int rc = mailbox_new(&box, sc.buffers + SINK_NEWS, e);
	if (rc == 0) {
		rc = sink_new(&sink, &sc, box, e);
		if (rc == 0)
			rc = load(o, &nc, sock, sink, box, e);
		mailbox_free(box);
	}
	sock_close(sock);
	return rc;
}

static int
settle_memory(struct opts *o, struct err *e)
{
	if (o->both_mb != 0)
		o->chunk_mb = o->install.write_mb = o->both_mb / 2;
	if (o->chunk_mb == 0)
		o->chunk_mb = CHUNK_MB_MAX; /* pages are only taken when used */
	if (o->install.write_mb == 0)
		o->install.write_mb = WRITE_MB_DEFAULT;
	return o->any_file ? install_check_raw(&o->install, e) : 0;
}

static int
examine(const struct opts *o, struct err *e)
{
	struct sock_config nc;
	struct doctor_config dc = { .net = &nc, .server = o->server, .json = o->json };

	if (net_options_resolve(&o->net, &nc, e) != 0)
		return -1;
	return doctor_run(&dc, e);
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
		return err_set(e, ERR_USAGE, "one target is needed");
	if (settle_memory(o, e) != 0)
		return -1;
	o->report_to = output_report(operands[0]);
	return run(o, operands[0], e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .chunk_mb = CHUNK_MB_DEFAULT,
		.readahead = READAHEAD_DEFAULT,
		.redo_ms = REDO_MS_DEFAULT,
		.progress_fd = UINT64_MAX,
		.install = { .state_s = INSTALL_STATE_S } };

	return cli_main(&prog, argc, argv, &o, act);
}
