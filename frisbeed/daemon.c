/* daemon.c: serves the images of the command line until each session has ended, and shows what
 * they do meanwhile.  main.c calls this, in the program's first thread. */
#include "frisbeed/daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/test_times.h"
#include "common/cli/failure.h"
#include "common/cli/terminal.h"
#include "frisbeed/addresses.h"
#include "frisbeed/relay/fetch.h"
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
	struct session_views all;
	struct fetch_parent parent; /* its interface is used as long as the image comes */
	unsigned running;
	uint64_t next_us, line_us; /* when the table, and a line of the log, are due */
	bool table, stats_failed;
};

/* Logs the failure of a session.  The failure of a single session is that of the program, which
 * reports it at the end. */
static void
say_failure(const struct whole *d, const struct session_view *s)
{
	if (d->all.n > 1)
		log_err("session failed file=%s: %s", s->image, s->stats.err.text);
}

/* Opens all sessions.  A session that cannot be opened is shown, too.  -1: no session can be
 * served. */
static int
open_sessions(struct whole *d, const struct place *places, struct source *image,
    uint32_t *numbers, struct err *e)
{
	struct session_views *all = &d->all;
	int rc = serve_open(all->serve, places, all->n, image, numbers, e);

	if (numbers[0] == 0)
		return -1;
	for (unsigned i = 0; i < all->n; i++) {
		all->session[i].image = places[i].image;
		all->session[i].number = numbers[i];
	}
	session_view_renew_all(all);
	for (unsigned i = 0; i < all->n; i++)
		if (all->session[i].stats.state == SESSION_FAILED)
			say_failure(d, &all->session[i]);
	return rc;
}

static int
open_all(struct whole *d, const struct place *places, struct source *image, struct err *e)
{
	uint32_t *numbers = calloc(d->all.n, sizeof *numbers);
	int rc;

	d->all.session = calloc(d->all.n, sizeof *d->all.session);
	if (numbers == NULL || d->all.session == NULL) {
		source_close(image);
		rc = err_nomem(e, "the sessions");
	} else {
		rc = open_sessions(d, places, image, numbers, e);
	}
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
	session_view_renew_all(&d->all);
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
		const struct session_view *s = session_view_renew(&d->all, number);
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

	/* Sessions that share a rate share the terminal, too. */
	d->table = terminal_draws() && !d->opts->quiet && !d->opts->debug &&
	           d->opts->share_file == NULL;
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
		const struct session_view *s = &d->all.session[i];
		if (s->stats.state != SESSION_OPEN)
			continue;
		bool started = serve_start(d->all.serve, s->number, &ignored) == 0;
		s = session_view_renew(&d->all, s->number);
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
	session_view_renew_all(&d->all);
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
open_and_serve(struct whole *d, const struct place *places, struct source *image,
    struct err *e)
{
	bool any = false;

	if (open_all(d, places, image, e) != 0)
		return -1;
	for (unsigned i = 0; i < d->all.n; i++)
		any |= d->all.session[i].stats.state == SESSION_OPEN;
	return any ? serve_all(d, e) : serve_none(d, e);
}

/* Takes DEVICE:INODE of --only-file, which are those of a single image. */
static int
take_only_file(const struct opts *o, struct place *places, unsigned n, struct err *e)
{
	uint64_t device, inode;
	char first[32];

	if (o->only_file == NULL)
		return 0;
	size_t len = strcspn(o->only_file, ":");
	if (n != 1 || len >= sizeof first || o->only_file[len] == '\0')
		return err_set(e, ERR_USAGE,
		    "--only-file takes DEVICE:INODE, and there can be one image only");
	snprintf(first, sizeof first, "%.*s", (int)len, o->only_file);
	if (number_uint(first, 0, UINT64_MAX, &device, e) != 0 ||
	    number_uint(o->only_file + len + 1, 1, UINT64_MAX, &inode, e) != 0)
		return err_ctx(e, "--only-file");
	places->device = (dev_t)device;
	places->inode = (ino_t)inode;
	return 0;
}

/* Fills in the parent of the options.  1: there is one; 0: there is none. */
static int
parent_of(const struct opts *o, unsigned n, struct fetch_parent *p, struct err *e)
{
	if (o->parent == NULL) {
		if (o->parent_name == NULL && o->parent_token == NULL &&
		    o->parent_iface == NULL)
			return 0;
		return err_set(e, ERR_USAGE, "--parent-name, --parent-token and "
		                             "--parent-interface need --parent");
	}
	if (n != 1 || o->parent_name == NULL || strlen(o->parent_name) > MASTER_NAME_MAX)
		return err_set(e, ERR_USAGE,
		    "--parent needs --parent-name, of at most %d bytes, and one image",
		    MASTER_NAME_MAX);
	if (snprintf(p->host, sizeof p->host, "%s", o->parent) >= (int)sizeof p->host ||
	    snprintf(p->iface, sizeof p->iface, "%s",
	        o->parent_iface != NULL ? o->parent_iface : "") >= (int)sizeof p->iface ||
	    snprintf(p->token_file, sizeof p->token_file, "%s",
	        o->parent_token != NULL ? o->parent_token : "") >= (int)sizeof p->token_file)
		return err_set(e, ERR_USAGE, "--parent: a name is too long");
	return 1;
}

/* Begins to load the image that only a parent has; the source stays empty when there is
 * no parent. */
static int
fetch(struct whole *d, const struct place *place, struct source *image, struct err *e)
{
	struct fetch_parent *p = &d->parent;
	struct err ignored; /* the failure itself is told */
	int rc = parent_of(d->opts, d->all.n, p, e);

	if (rc > 0) {
		rc = fetch_begin(image, p, d->opts->parent_name, place->image,
		    &d->all.bytes, &d->all.mtime, e);
		if (rc != 0) {
			struct report_end end = { *e, daemon_exit_status(e) };
			d->all.n = 0;
			(void)save_stats(d, &end, &ignored);
		}
	}
	return rc;
}

int
daemon_run(const struct opts *o, char **images, unsigned n, struct err *e)
{
	struct serve_config c = { .session = &o->session,
		.sessions_max = n,
		.share = o->share_file,
		.force = o->force };
	struct whole d = { .opts = o, .all.n = n };
	struct source image = { NULL, NULL };
	struct place *places;

	if (places_parse(&places, images, n, &o->session.net, e) != 0)
		return -1;
	uint64_t card_bits = places_card_bits(places, n);
	int rc = opts_configure(o, card_bits, &c.engine, &c.rate, e);
	if (rc == 0)
		rc = take_only_file(o, places, n, e);
	if (rc == 0)
		rc = serve_new(&d.all.serve, &c, e);
	if (rc == 0)
		rc = fetch(&d, places, &image, e);
	if (rc == 0)
		rc = open_and_serve(&d, places, image.ops != NULL ? &image : NULL, e);
	serve_free(d.all.serve);
	free(d.all.session);
	places_free(places, n);
	return rc;
}
