/* main.c: dsync keeps a copy of a device up to date.  main() and all that it calls run in the
 * first thread; the threads that read are in dsync/extract. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "dsync/change/find.h"
#include "dsync/options.h"
#include "dsync/report.h"

enum { EVERY_S = 300, US = 1000000, NAP_NS = 200000000, EXIT_DIFFERS = 4 };

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
	if (o->force)
		o->pair.to.options = "--force";
	return sync_once(o, true, e);
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

static void
sleep_until(uint64_t us)
{
	while (clock_us() < us && cancel_signal() == 0)
		nanosleep(&(struct timespec){ 0, NAP_NS }, NULL);
}

/* Sync once.  A failure is logged, because the next sync may succeed. */
static void
try_sync(struct options *o)
{
	struct err e;

	if (sync_once(o, false, &e) != 0 && e.kind != ERR_CANCELLED)
		log_err("%s", e.text);
}

static void
try_verify(struct options *o)
{
	struct err e;
	int rc = verify(o, &e);

	if (rc < 0 && e.kind != ERR_CANCELLED)
		log_err("verify: %s", e.text);
	else if (rc == EXIT_DIFFERS)
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
		}
		next += every;
		if (next < clock_us())
			next = clock_us();
		sleep_until(next);
	}
	return 0; /* a signal ended it, which is no failure */
}

static int
status(struct options *o, struct err *e)
{
	struct far_status s;

	return far_status(&o->pair.to, &s, e) == 0 ? report_status(o, &s, e) : -1;
}

static int
act(void *options, char **operands, int n, struct err *e)
{
	struct options *o = options;
	char found[FIND_SINCE_BYTES];

	if (dsync_settle(o, operands, n, e) != 0)
		return -1;
	if (strcmp(o->command, "status") == 0)
		return status(o, e);
	if (o->pair.from.since == NULL) {
		if (find_tracker(o->pair.from.device, found, e) != 0)
			return -1;
		o->pair.from.since = found;
	}
	if (strcmp(o->command, "init") == 0)
		return init(o, e);
	if (strcmp(o->command, "once") == 0)
		return sync_once(o, false, e);
	return strcmp(o->command, "run") == 0 ? run_on(o, e) : verify(o, e);
}

int
main(int argc, char **argv)
{
	static struct options o = { .pair = { .from = { .folder = "/var/lib/dsync" },
		.to = { .rsh = "ssh", .dmmerge = "dmmerge", .options = "" } } };

	return cli_main(&dsync_program, argc, argv, &o, act);
}
