/* main.c: frisbee loads an image that a frisbeed serves, and installs it.  The code
 * here runs in the program's first thread, except on_progress(), on_sentence() and
 * on_tick(), which the load calls in its own thread. */
#include <poll.h>

#include "common/base/cancel.h"
#include "common/base/say.h"
#include "common/disk/output.h"
#include "common/wire/addr.h"
#include "frisbee/byname.h"
#include "frisbee/diagnose.h"
#include "frisbee/load/load.h"
#include "frisbee/options.h"
#include "frisbee/report.h"
#include "imageunzip/cli/install_opts.h"
#include "imageunzip/install/rehearsal_report.h"

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
	(void)arg;
	cli_warn(sentence);
}

static void
save(struct opts *o, const struct load_stats *r, const struct install_stats *i)
{
	struct err e;

	if (o->stats_file == NULL || report_save(r, i, o->stats_file, &e) == 0)
		return;
	o->stats_file = NULL; /* the load goes on without statistics */
	cli_warn(e.text);
}

/* Saves the statistics while the load runs; those of the installation are known at the end. */
static void
on_tick(void *arg, const struct load_stats *r)
{
	static const struct install_stats not_yet;

	save(arg, r, &not_yet);
}

static void
aim(struct opts *o, const char *name, struct rehearsal_found *found)
{
	o->target = (struct destination){ .name = name,
		.any_file = o->any_file,
		.install = o->install,
		.dry = o->dry_run ? found : NULL };
	install_tells_user(&o->target.install, o->quiet);
}

/* A server that sends to the address of this machine alone is heard without --unicast, too, so
 * this is no error. */
static void
mind_address(const struct net_options *o, const struct sock_config *c)
{
	char text[200];

	if (o->unicast || c->broadcast || netif_is_group(c->addr))
		return;
	snprintf(text, sizeof text,
	    "%s is no multicast group: --unicast asks a server at that address", o->addr);
	cli_warn(text);
}

/* Fills in the load's configuration from the options, without the key. */
static int
configure(struct opts *o, struct load_config *c, struct err *e)
{
	*c = (struct load_config){ .keepalive_us = o->net.keepalive_s * 1000000,
		.has_server = o->server != NULL,
		.base = o->base,
		.unicast = o->net.unicast,
		.sequential = o->sequential,
		.buffers = (uint32_t)o->chunk_mb,
		.readahead = (uint32_t)o->readahead,
		.redo_us = o->redo_ms * 1000,
		.silence_us = o->silence_s * 1000000,
		.start_delay_us = o->start_delay_s * 1000000,
		.tick = on_tick,
		.progress = on_progress,
		.say = on_sentence,
		.arg = o };
	if (load_into(c, &o->target, e) != 0)
		return -1;
	if (net_options_resolve(&o->net, &c->net, e) != 0)
		return -1;
	mind_address(&o->net, &c->net);
	return c->has_server ? addr_parse(o->server, c->server, e) : 0;
}

static int
start(struct opts *o, struct load_config *c, struct load **l, struct err *e)
{
	if (net_options_read_key(&o->net, e) != 0)
		return -1;
	c->key = net_options_key(&o->net);
	progress_begin(&o->progress, "frisbee", 0,
	    o->progress_fd == UINT64_MAX ? -1 : (int)o->progress_fd, o->quiet);
	int rc = load_start(l, c, e);
	net_options_wipe_key(&o->net);
	return rc;
}

/* Waits for the end of the load.  A signal wakes this thread, which stops the load at once; the
 * load would notice the signal by itself, but later. */
static void
wait_for_end(struct load *l)
{
	struct pollfd p = { .fd = load_fd(l), .events = POLLIN };

	while (poll(&p, 1, -1) < 0)
		if (cancel_signal() != 0)
			load_stop(l);
}

static int
load(struct opts *o, struct load_config *c, struct load_stats *r, struct err *e)
{
	struct load *l;

	if (start(o, c, &l, e) != 0)
		return -1;
	wait_for_end(l);
	int rc = load_end(l, r, e);
	progress_end(&o->progress, (uint64_t)r->chunks << 20);
	o->gave_up = r->gave_up;
	return rc;
}

static int
report(struct opts *o, const struct load_stats *r, struct err *e)
{
	if (!o->quiet)
		report_line(r, &o->target.stats);
	save(o, r, &o->target.stats);
	return o->json ? report_print(r, &o->target.stats, o->report_to, e) : 0;
}

static int
report_dry(const struct opts *o, struct err *e)
{
	const struct destination *t = &o->target;

	if (o->json)
		return rehearsal_json(t->dry, stdout, e);
	if (!o->quiet)
		rehearsal_print(t->dry, &t->install, "the image", t->name);
	return 0;
}

/* Asks the master server where the image is served, when the image has a name. */
static int
find_session(struct opts *o, struct err *e)
{
	return o->name != NULL ? byname_find(o, e) : 0;
}

static int
run(struct opts *o, const char *target, struct err *e)
{
	struct rehearsal_found found = { .nparts = 0 };
	struct load_stats r = { 0 };
	struct load_config c;

	aim(o, target, &found);
	int rc = find_session(o, e) == 0 && configure(o, &c, e) == 0
	             ? load(o, &c, &r, e)
	             : -1;
	if (rc == 0)
		rc = o->dry_run ? report_dry(o, e) : report(o, &r, e);
	else if (!o->dry_run) /* the file may say that an earlier load is complete */
		save(o, &r, &o->target.stats);
	lost_free(&o->target.stats.lost);
	rehearsal_found_free(&found);
	return rc;
}

static int
examine(struct opts *o, struct err *e)
{
	struct sock_config nc;
	struct doctor_config dc = { .net = &nc, .server = o->server, .json = o->json,
		.report = o->doctor_report, .names = o->report_names };

	if (net_options_resolve(&o->net, &nc, e) != 0 ||
	    net_options_read_key(&o->net, e) != 0)
		return -1;
	dc.key = net_options_key(&o->net);
	int rc = diagnose_network(&dc, e);
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
		return err_set(
		    e, ERR_USAGE, "--doctor loads nothing, so no target can be given");
	if (o->doctor_report != NULL || o->report_names)
		return err_misuse(
		    e, "--report and --report-names can only be used with --doctor");
	if (o->query != NULL && n == 0)
		return byname_report(o, e);
	if (o->query != NULL)
		return err_set(
		    e, ERR_USAGE, "-Q loads nothing, so no target can be given");
	if (n != 1)
		return err_misuse(e, "one target is needed");
	if (o->token != NULL && o->name == NULL)
		return err_misuse(e, "--token can only be used with -F and -Q");
	if (o->dry_run && o->any_file)
		return err_misuse(e,
		    "--dry-run describes an installation and cannot be used with -N");
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
