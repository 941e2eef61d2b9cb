#include "frisbeed/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cli/failure.h"
#include "common/cli/json_save.h"
#include "common/disk/disk.h"
#include "frisbeed/report.h"
#include "frisbeed/serve/neighbour.h"
#include "frisbeed/table.h"

enum {
	SECOND_US = 1000000,
	LINES_EVERY_S = 10,
	WAKE_MS = 200,
	EXIT_ADDRINUSE = 98, /* as the original's */
};

struct whole {
	const struct opts *opts;
	struct place *places;
	struct session *sessions;
	unsigned n, running;
	struct budget *budget;
	struct mailbox *ended;
	struct report_lines lines;
	uint64_t next_us;
	unsigned ticks;
	bool table, stats_failed;
};

static void
say_failure(const struct whole *d, const struct session *s)
{
	if (d->n > 1)
		log_err("session failed file=%s: %s", s->place->image, s->err.text);
}

static int
open_sessions(struct whole *d, const struct server_config *c, struct err *e)
{
	for (unsigned i = 0; i < d->n; i++)
		session_open(&d->sessions[i], &d->opts->session, &d->places[i], i, c);
	int rc = d->opts->force ? 0 : neighbours_look(d->sessions, d->n, e);
	for (unsigned i = 0; i < d->n; i++)
		if (d->sessions[i].state == SESSION_FAILED)
			say_failure(d, &d->sessions[i]);
		else
			session_open_second(&d->sessions[i]);
	return rc;
}

/* Of one "addr:port\n" and a NUL, as the original writes it; of several, a line each
 * with the image. */
static int
write_addresses(const struct whole *d, struct err *e)
{
	struct disk *f;
	uint64_t at = 0;
	int rc = 0;

	if (d->opts->addr_file == NULL)
		return 0;
	if (disk_open(
		&f, d->opts->addr_file, DISK_WRITE | DISK_CREATE | DISK_TRUNC, e) != 0)
		return -1;
	for (unsigned i = 0; i < d->n && rc == 0; i++) {
		const struct session *s = &d->sessions[i];
		char *text;
		if (s->state == SESSION_FAILED)
			continue;
		int n = d->n == 1
		            ? asprintf(&text, "%s\n", s->where)
		            : asprintf(&text, "%s %s\n", s->where, s->place->image);
		if (n < 0) {
			rc = err_nomem(e, "the addresses");
			break;
		}
		rc = disk_write(f, text, (size_t)n + (d->n == 1), at, e);
		at += (size_t)n;
		free(text);
	}
	struct err closing;
	if (disk_close(f, rc == 0 ? e : &closing) != 0)
		rc = -1;
	return rc;
}

static int
save_stats(const struct whole *d, const struct report_end *end, struct err *e)
{
	if (d->opts->stats_file == NULL)
		return 0;
	struct json *j = report_json(d->sessions, d->n, end);
	if (j == NULL)
		return err_nomem(e, "the statistics");
	int rc = json_save(j, d->opts->stats_file, e);
	json_free(j);
	return rc;
}

/* Once a second. */
static void
tick(struct whole *d)
{
	struct err e;
	uint64_t now = clock_us();

	if (now < d->next_us)
		return;
	d->next_us = now + SECOND_US;
	for (unsigned i = 0; i < d->n; i++)
		tally_sample(&d->sessions[i].tally, now);
	if (save_stats(d, NULL, &e) != 0 && !d->stats_failed) {
		d->stats_failed = true;
		log_warn("statistics are not written: %s", e.text);
	}
	if (d->table)
		table_draw(d->sessions, d->n);
	else if (++d->ticks % LINES_EVERY_S == 0)
		report_progress(d->sessions, d->n, &d->lines);
}

static void
collect(struct whole *d)
{
	struct event ev;

	while (mailbox_take(d->ended, &ev)) {
		struct session *s = &d->sessions[ev.n];
		session_join(s);
		d->running--;
		if (s->state == SESSION_FAILED)
			say_failure(d, s);
		else
			report_done(s);
	}
}

/* Sessions see signals by themselves. */
static void
watch(struct whole *d)
{
	struct pollfd fd = { .fd = mailbox_fd(d->ended), .events = POLLIN };

	d->table = isatty(STDERR_FILENO) && !d->opts->quiet && !d->opts->debug;
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
	for (unsigned i = 0; i < d->n; i++) {
		struct session *s = &d->sessions[i];
		if (s->state != SESSION_OPEN)
			continue;
		if (session_start(s, d->budget, d->ended) == 0)
			d->running++;
		else
			say_failure(d, s);
	}
}

/* The first failure, and how many there were. */
static int
outcome(const struct whole *d, struct err *e)
{
	unsigned failed = 0;

	for (unsigned i = d->n; i-- > 0;)
		if (d->sessions[i].state == SESSION_FAILED) {
			failed++;
			*e = d->sessions[i].err;
		}
	if (failed == 0)
		return 0;
	return d->n == 1
	           ? -1
	           : err_ctx(e, "%u of %u sessions failed; the first", failed, d->n);
}

int
daemon_exit_status(const struct err *e)
{
	return e->os == EADDRINUSE ? EXIT_ADDRINUSE : err_exit_status(e);
}

/* How it ended; -1 when it failed, with *e. */
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
print_stats(const struct whole *d, const struct report_end *end, struct err *e)
{
	if (!d->opts->json)
		return 0;
	struct json *j = report_json(d->sessions, d->n, end);
	if (j == NULL)
		return err_nomem(e, "the statistics");
	return json_show(j, e);
}

static int
serve(struct whole *d, uint64_t rate, struct err *e)
{
	const struct session_config *s = &d->opts->session;
	unsigned members = d->n * (s->net.unicast ? (unsigned)s->unicast_max : 1);
	struct report_end end = { 0 };
	struct err reporting;

	/* One alone keeps its own pace. */
	if (rate != 0 && members > 1) {
		d->budget = budget_new(rate, members);
		if (d->budget == NULL)
			return err_nomem(e, "the sessions");
	}
	if (write_addresses(d, e) != 0 || save_stats(d, NULL, e) != 0)
		return -1;
	start(d);
	watch(d);
	int rc = ending(d, &end, e);
	if (save_stats(d, &end, &reporting) != 0 && rc == 0) {
		end = (struct report_end){ reporting, daemon_exit_status(&reporting) };
		*e = reporting;
		rc = -1;
	}
	if (print_stats(d, &end, &reporting) != 0 && rc == 0) {
		*e = reporting;
		return -1;
	}
	if (d->opts->json)
		failure_told(e);
	return rc;
}

static int
allocate(struct whole *d, struct err *e)
{
	d->sessions = calloc(d->n, sizeof *d->sessions);
	d->lines.sent = calloc(d->n, sizeof *d->lines.sent);
	if (d->sessions == NULL || d->lines.sent == NULL)
		return err_nomem(e, "the sessions");
	return mailbox_new(&d->ended, d->n, e);
}

int
daemon_run(const struct opts *o, char **images, unsigned n, struct err *e)
{
	struct whole d = { .opts = o, .n = n };
	struct server_config c = { 0 };
	uint64_t rate;

	if (places_parse(&d.places, images, n, &o->session.net, e) != 0)
		return -1;
	int rc = opts_configure(o, places_card_bits(d.places, n), &c, &rate, e);
	if (rc == 0)
		rc = allocate(&d, e);
	if (rc == 0) {
		int looked = open_sessions(&d, &c, e);
		rc = looked == 0 ? outcome(&d, e) : -1;
		/* As long as one can be served, it is. */
		bool any = false;
		for (unsigned i = 0; i < n && looked == 0; i++)
			any |= d.sessions[i].state == SESSION_OPEN;
		if (any)
			rc = serve(&d, rate, e);
		for (unsigned i = 0; i < n; i++)
			session_close(&d.sessions[i]);
	}
	budget_free(d.budget);
	mailbox_free(d.ended);
	free(d.lines.sent);
	free(d.sessions);
	places_free(d.places, n);
	return rc;
}
