/* daemon.c: serves the images of the command line until each session has ended, and shows what
 * they do meanwhile.  main.c calls this, in the program's first thread. */
#include "frisbeed/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/test_times.h"
#include "common/cli/failure.h"
#include "frisbeed/addresses.h"
#include "frisbeed/report.h"
#include "frisbeed/table.h"

enum {
	SHOWN_EVERY_US = 1000000,  /* usual */
	LINES_EVERY_US = 10000000, /* a load of 97 s is ten lines of the log */
	WAKE_MS = 200,             /* a signal is noticed within this time */
	EXIT_ADDRINUSE = 98,       /* as the original's */
};

struct whole {
	const struct opts *opts;
	struct shown_all all;
	unsigned running;
	uint64_t next_us, line_us; /* when the table, and a line of the log, are due */
	bool table, stats_failed;
};

/* Logs the failure of a session.  The failure of a single session is that of the program, which
 * reports it at the end. */
static void
say_failure(const struct whole *d, const struct shown *s)
{
	if (d->all.n > 1)
		log_err("session failed file=%s: %s", s->image, s->stats.err.text);
}

/* Opens all sessions.  A session that cannot be opened is shown, too.  -1: no session can be
 * served. */
static int
open_sessions(struct whole *d, const struct place *places, uint32_t *numbers,
    struct err *e)
{
	struct shown_all *all = &d->all;
	int rc = serve_open(all->serve, places, all->n, numbers, e);

	if (numbers[0] == 0)
		return -1;
	for (unsigned i = 0; i < all->n; i++) {
		all->session[i].image = places[i].image;
		all->session[i].number = numbers[i];
	}
	shown_look(all);
	for (unsigned i = 0; i < all->n; i++)
		if (all->session[i].stats.state == SESSION_FAILED)
			say_failure(d, &all->session[i]);
	return rc;
}

static int
open_all(struct whole *d, const struct place *places, struct err *e)
{
	uint32_t *numbers = calloc(d->all.n, sizeof *numbers);
	int rc;

	d->all.session = calloc(d->all.n, sizeof *d->all.session);
	if (numbers == NULL || d->all.session == NULL)
		rc = err_nomem(e, "the sessions");
	else
		rc = open_sessions(d, places, numbers, e);
	free(numbers);
	return rc;
}

static int
save_stats(const struct whole *d, const struct report_end *end, struct err *e)
{
	return report_save_stats(&d->all, end, d->opts->stats_file, e);
}

/* Shows what the sessions do, once a second. */
static void
tick(struct whole *d)
{
	struct err e;
	uint64_t now = clock_us();

	if (now < d->next_us)
		return;
	d->next_us = now + test_time_us("statistics", SHOWN_EVERY_US);
	serve_sample(d->all.serve);
	shown_look(&d->all);
	if (save_stats(d, NULL, &e) != 0 && !d->stats_failed) {
		d->stats_failed = true;
		log_warn("statistics are not written: %s", e.text);
	}
	if (d->table)
		table_draw(&d->all);
	else if (now >= d->line_us) {
		d->line_us = now + LINES_EVERY_US;
		report_progress(&d->all);
	}
}

static void
collect(struct whole *d)
{
	uint32_t number;

	while (serve_take_ended(d->all.serve, &number)) {
		const struct shown *s = shown_look_at(&d->all, number);
		d->running--;
		if (s->stats.state == SESSION_FAILED)
			say_failure(d, s);
		else
			report_done(&d->all, s);
	}
}

/* Shows the sessions until all have ended.  Sessions notice signals by themselves. */
static void
watch(struct whole *d)
{
	struct pollfd fd = { .fd = serve_fd(d->all.serve), .events = POLLIN };

	d->table = isatty(STDERR_FILENO) && !d->opts->quiet && !d->opts->debug;
	d->line_us = clock_us() + LINES_EVERY_US;
	if (d->table)
		table_begin();
	while (d->running > 0) {
		poll(&fd, 1, WAKE_MS);
		collect(d);
		tick(d);
	}
	if (d->table)
		table_end();
}

static void
start(struct whole *d)
{
	struct err ignored; /* the statistics have it */

	for (unsigned i = 0; i < d->all.n; i++) {
		const struct shown *s = &d->all.session[i];
		if (s->stats.state != SESSION_OPEN)
			continue;
		bool started = serve_start(d->all.serve, s->number, &ignored) == 0;
		s = shown_look_at(&d->all, s->number);
		if (started)
			d->running++;
		else
			say_failure(d, s);
	}
}

/* Returns -1 when a session has failed, with the first failure and the number of failures. */
static int
outcome(const struct whole *d, struct err *e)
{
	unsigned failed = 0;

	for (unsigned i = d->all.n; i-- > 0;) {
		const struct serve_stats *st = &d->all.session[i].stats;
		if (st->state == SESSION_FAILED) {
			failed++;
			*e = st->err;
		}
	}
	if (failed == 0)
		return 0;
	return d->all.n == 1 ? -1
	                     : err_ctx(e, "%u of %u sessions failed; the first",
	                           failed, d->all.n);
}

int
daemon_exit_status(const struct err *e)
{
	return e->os == EADDRINUSE ? EXIT_ADDRINUSE : err_exit_status(e);
}

/* Fills in how the program ends; -1 with the error when a session has failed. */
static int
ending(const struct whole *d, struct report_end *end, struct err *e)
{
	if (outcome(d, e) != 0) {
		*end = (struct report_end){ *e, daemon_exit_status(e) };
		return -1;
	}
	return 0;
}

static int
serve_all(struct whole *d, struct err *e)
{
	struct report_end end = { 0 };
	struct err reporting;

	if (addresses_write(&d->all, d->opts->addr_file, e) != 0 ||
	    save_stats(d, NULL, e) != 0)
		return -1;
	start(d);
	watch(d);
	shown_look(&d->all);
	int rc = ending(d, &end, e);
	if (save_stats(d, &end, &reporting) != 0 && rc == 0) {
		end = (struct report_end){ reporting, daemon_exit_status(&reporting) };
		*e = reporting;
		rc = -1;
	}
	if (!d->opts->json)
		return rc;
	if (report_print_stats(&d->all, &end, &reporting) != 0 && rc == 0) {
		*e = reporting;
		return -1;
	}
	failure_told(e);
	return rc;
}

/* No session could be opened.  The file of --stats, which may be there from before, must not look as
 * if images were served. */
static int
serve_none(const struct whole *d, struct err *e)
{
	struct report_end end = { 0 };
	struct err ignored; /* what has failed first is told */
	int rc = ending(d, &end, e);

	(void)save_stats(d, &end, &ignored);
	return rc;
}

/* Serves the sessions that could be opened; fails only when there is none. */
static int
open_and_serve(struct whole *d, const struct place *places, struct err *e)
{
	bool any = false;

	if (open_all(d, places, e) != 0)
		return -1;
	for (unsigned i = 0; i < d->all.n; i++)
		any |= d->all.session[i].stats.state == SESSION_OPEN;
	return any ? serve_all(d, e) : serve_none(d, e);
}

int
daemon_run(const struct opts *o, char **images, unsigned n, struct err *e)
{
	struct serve_config c = {
		.session = &o->session, .sessions_max = n, .force = o->force
	};
	struct whole d = { .opts = o, .all.n = n };
	struct place *places;

	if (places_parse(&places, images, n, &o->session.net, e) != 0)
		return -1;
	uint64_t card_bits = places_card_bits(places, n);
	int rc = opts_configure(o, card_bits, &c.engine, &c.rate, e);
	if (rc == 0)
		rc = serve_new(&d.all.serve, &c, e);
	if (rc == 0)
		rc = open_and_serve(&d, places, e);
	serve_free(d.all.serve);
	free(d.all.session);
	places_free(places, n);
	return rc;
}
