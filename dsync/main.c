/* main.c: dsync keeps a copy of a device up to date.  main() and all that it calls run in the
 * first thread; the threads that read are in dsync/extract. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/say.h"
#include "common/base/timed.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "dsync/change/find.h"
#include "dsync/options.h"
#include "dsync/report.h"

/* EVERY_S: --every, if it is not given. */
enum { EVERY_S = 300, US = 1000000 };

static int
sync_once(struct options *o, bool full, struct err *e)
{
	struct pair_report r;

	if (pair_sync(&o->pair, full, &r, e) != 0)
		return -1;
	if (o->metrics != NULL && report_metrics(o->metrics, &r, e) != 0)
		return -1;
	return report_sync(o, &r, e);
}

static int
init(struct options *o, struct err *e)
{
	const char *given = o->pair.to.options;
	char *forced = NULL;

	if (o->force && asprintf(&forced, "--force %s", given) < 0)
		return err_nomem(e, "the options of dmmerge");
	if (o->force)
		o->pair.to.options = forced;
	o->pair.from.any_source = o->force;
	int rc = sync_once(o, true, e);
	o->pair.to.options = given;
	free(forced);
	return rc;
}

/* Returns 0, EXIT_DIFFERS or -1. */
static int
verify(struct options *o, struct err *e)
{
	struct pair_difference d;
	int rc = pair_verify(&o->pair, &d, e);
	bool differs = rc == 0 && rangeset_count(&d.differs) > 0;

	if (rc == 0)
		rc = report_verified(o, &d, e);
	rangeset_free(&d.differs);
	return rc == 0 && differs ? EXIT_DIFFERS : rc;
}

/* Sync once.  A failure is logged, because the next sync may succeed. */
static void
try_sync(struct options *o)
{
	struct err e;

	if (sync_once(o, false, &e) != 0 && e.kind != ERR_CANCELLED)
		report_failed(o, "sync", &e);
}

static void
try_verify(struct options *o)
{
	struct err e;
	int rc = verify(o, &e);

	if (rc < 0 && e.kind != ERR_CANCELLED)
		report_failed(o, "verify", &e);
	else if (rc == EXIT_DIFFERS && !o->json)
		log_err("verify: the copy differs in sectors that have not changed "
			"since the last sync");
}

static int
run_on(struct options *o, struct err *e)
{
	uint64_t every = (o->every_s != 0 ? o->every_s : EVERY_S) * US;
	uint64_t next = clock_us(), check = next + o->verify_every_s * US;

	log_open("dsync", true, LOG_LEVEL_INFO);
	while (cancel_check(e) == 0) {
		try_sync(o);
		if (o->verify_every_s != 0 && clock_us() >= check && cancel_signal() == 0) {
			try_verify(o);
			check += o->verify_every_s * US;
			/* After a comparison that took longer than this time, syncs come first. */
			if (check < clock_us())
				check = clock_us() + o->verify_every_s * US;
		}
		if (fflush(stdout) != 0)
			return err_os(e, "standard output");
		next += every;
		if (next < clock_us())
			next = clock_us();
		timed_pause(next);
	}
	return 0; /* a signal ended it, which is no failure */
}

static int
status(struct options *o, struct err *e)
{
	struct far_status s;

	return far_status(&o->pair.to, &s, e) == 0 ? report_status(o, &s, e) : -1;
}

/* Returns 0, EXIT_UNTRACKED when the device is not tracked now, or -1. */
static int
begin_tracking(struct options *o, struct err *e)
{
	struct track_report r;
	struct track_cost cost;
	struct err unknown; /* track_new() says why */

	if (o->command == DSYNC_TRACK && track_cost(&o->track, &cost, &unknown) == 0)
		report_cost(o, &cost);
	int rc = o->command == DSYNC_TRACK
	             ? track_new(&o->track, &r, e)
	             : track_start(o->track.folder, o->track.device, &r, e);

	if (rc == 0)
		rc = report_tracked(o, &r, e);
	return rc == 0 && !r.tracked ? EXIT_UNTRACKED : rc;
}

static int
end_tracking(struct options *o, struct err *e)
{
	int rc = o->command == DSYNC_STOP ? track_stop(o->track.folder, o->track.device, e)
	                                  : track_forget(o->track.folder, o->track.device, e);

	return rc == 0 && o->json ? failure_none_show(e) : rc;
}

/* The commands that need to know what has changed.  A comparison of all data needs no source of
 * change, but then it does not know which differences are writes since the last sync. */
static int
act_on_pair(struct options *o, struct err *e)
{
	char found[FIND_SINCE_BYTES];

	if (o->pair.from.since == NULL) {
		if (find_tracker(o->pair.from.device, found, e) == 0)
			o->pair.from.since = found;
		else
			return o->command == DSYNC_VERIFY && e->kind == ERR_USAGE ? verify(o, e) : -1;
	}
	/* No later sync could succeed either. */
	if (extract_check_states(&o->pair.from, e) != 0)
		return -1;
	switch (o->command) {
	case DSYNC_INIT: return init(o, e);
	case DSYNC_ONCE: return sync_once(o, false, e);
	case DSYNC_RUN: return run_on(o, e);
	default: return verify(o, e);
	}
}

/* What runs on has a log instead of a progress line. */
static int
act_with_progress(struct options *o, struct err *e)
{
	struct progress bar;

	progress_begin(&bar, "dsync", 0, -1, o->quiet || o->json || o->command == DSYNC_RUN);
	o->pair.from.progress = progress_of;
	o->pair.from.progress_arg = &bar;
	int rc = act_on_pair(o, e);
	progress_end(&bar, 0);
	return rc;
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;

	if (dsync_settle(o, operands, n, e) != 0)
		return -1;
	switch (o->command) {
	case DSYNC_STATUS: return status(o, e);
	case DSYNC_TRACK:
	case DSYNC_START: return begin_tracking(o, e);
	case DSYNC_STOP:
	case DSYNC_UNTRACK: return end_tracking(o, e);
	default: return act_with_progress(o, e);
	}
}

int
main(int argc, char **argv)
{
	static struct options o = { .pair = { .from = { .folder = "/var/lib/dsync" },
		.to = { .rsh = "ssh", .dmmerge = "dmmerge", .options = "" } } };

	return cli_main(&dsync_program, argc, argv, &o, act);
}
