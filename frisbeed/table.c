/* table.c: draws the sessions and their clients on a terminal.  daemon.c calls this, in the
 * program's first thread; a line of the log, by any thread, erases the table before. */
#include "frisbeed/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/plain.h"
#include "common/base/say.h"
#include "common/cli/cli.h"
#include "common/cli/terminal.h"
#include "common/wire/addr.h"

enum { LINE_MAX_BYTES = 512 };

/* Lines of the table that are on the terminal.  It is used between log_hold() and
 * log_release(). */
static unsigned drawn;

/* Erases the table; the cursor is below it. */
static void
erase(void)
{
	if (drawn > 0)
		fprintf(stderr, "\033[%uA\r\033[J", drawn);
	drawn = 0;
}

void
table_begin(void)
{
	log_before_lines(erase);
}

void
table_end(void)
{
	log_before_lines(NULL);
	log_hold();
	erase();
	log_release();
}

static void __attribute__((format(printf, 2, 3)))
line(const struct terminal_size *w, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;

	if (drawn + 1 >= w->rows)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	size_t fits = terminal_fit(plain_text(text), w->columns - 1);
	say_text(stderr, "%.*s\n", (int)fits, text);
	drawn++;
}

/* Clients that need attention come first, then those that have received least.  The
 * order does not depend on which client was heard last. */
struct seen {
	struct client_row row;
	enum client_doing doing;
};

static int
by_trouble(const void *va, const void *vb)
{
	const struct seen *a = va, *b = vb;
	uint64_t done_a = a->row.of != 0 ? 1000 * a->row.blocks / a->row.of : 0;
	uint64_t done_b = b->row.of != 0 ? 1000 * b->row.blocks / b->row.of : 0;

	if (a->doing != b->doing)
		return a->doing < b->doing ? -1 : 1;
	if (done_a != done_b)
		return done_a < done_b ? -1 : 1;
	int ip = memcmp(a->row.ip, b->row.ip, 4);
	return ip != 0 ? ip : (a->row.port > b->row.port) - (a->row.port < b->row.port);
}

static void
draw_client(const struct terminal_size *w, const struct seen *c, uint64_t now_us, uint64_t sent)
{
	const struct client_row *r = &c->row;
	char text[ADDR_TEXT_MAX], name[32], done[8] = "-", bytes[32], rate[40] = "", left[32] = "";
	bool aside = c->doing == CLIENT_DOING_ASIDE;
	/* The client may have been heard after the time was taken. */
	double silent = now_us > r->heard_us ? (double)(now_us - r->heard_us) / 1e6 : 0;

	snprintf(name, sizeof name, r->port != 0 ? "%s:%u" : "%s", addr_text(r->ip, text),
	    r->port);
	if (r->of != 0) {
		double seconds = client_row_seconds_left(r);
		uint64_t per_s = (uint64_t)(client_row_rate(r) * WIRE_BLOCK_BYTES);
		snprintf(done, sizeof done, "%u %%",
		    (unsigned)(100 * r->blocks / r->of) % 1000);
		snprintf(rate, sizeof rate, "%s/s", human_bytes(per_s, bytes, sizeof bytes));
		if (seconds > 0)
			human_left((uint64_t)seconds, left, sizeof left);
	}
	line(w, "    %-21s %-9s %5s  %10s  %-11s %s %5.1f %%  heard %.0f s ago", name,
	    client_doing_name(c->doing), done, rate, left, aside ? "gets" : "loss",
	    100 * (aside ? r->share_received : client_row_loss(r, sent)), silent);
}

/* Prints how many clients of each kind have no room on the terminal. */
static void
draw_rest(const struct terminal_size *w, const struct seen *c, uint32_t n)
{
	uint32_t count[CLIENT_DOING_DONE + 1] = { 0 };
	char text[LINE_MAX_BYTES] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++)
		count[c[i].doing]++;
	for (unsigned d = 0; d <= CLIENT_DOING_DONE && at < sizeof text; d++)
		if (count[d] > 0)
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%u %s",
			    at > 0 ? ", " : "", count[d],
			    client_doing_name((enum client_doing)d));
	line(w, "    and %u more: %s", n, text);
}

static void
draw_clients(const struct terminal_size *w, struct serve *serve, const struct session_view *s,
    unsigned room)
{
	struct client_row *rows = calloc(SESSION_CLIENT_ROWS, sizeof *rows);
	struct seen *seen = calloc(SESSION_CLIENT_ROWS, sizeof *seen);
	uint64_t now = clock_us(), sent = tally_packets(&s->stats.tally);
	uint32_t n = 0;

	if (rows != NULL && seen != NULL)
		n = serve_clients(serve, s->number, rows, SESSION_CLIENT_ROWS);
	for (uint32_t i = 0; i < n; i++)
		seen[i] = (struct seen){ rows[i], client_row_doing(&rows[i], sent) };
	if (n > 0)
		qsort(seen, n, sizeof *seen, by_trouble);
	uint32_t shown = n <= room ? n : room > 0 ? room - 1 : 0;
	for (uint32_t i = 0; i < shown; i++)
		draw_client(w, &seen[i], now, sent);
	if (shown < n)
		draw_rest(w, seen + shown, n - shown);
	free(rows);
	free(seen);
}

static void
draw_session(const struct terminal_size *w, struct serve *serve, const struct session_view *s,
    unsigned room)
{
	const struct serve_stats *st = &s->stats;
	const struct tally *t = &st->tally;

	if (st->state != SESSION_SERVING)
		return;
	line(w,
	    "%s  %s  %.1f Mbit/s  clients %u  %u of %u done  sent %" PRIu64
	    "  again %" PRIu64 "  parity %" PRIu64 "  stalls %" PRIu64,
	    s->image, st->where, (double)t->rate / 1e6, t->server.clients,
	    st->clients_done, st->clients_known, t->server.blocks_sent,
	    t->server.blocks_resent, t->server.parity_sent, t->stalls);
	draw_clients(w, serve, s, room);
}

void
table_draw(const struct session_views *all)
{
	const struct terminal_size w = terminal_size();

	log_hold();
	erase();
	/* The sessions share the lines; the last one of the terminal stays empty. */
	for (unsigned i = 0; i < all->n; i++) {
		unsigned each = (w.rows - 1u - drawn) / (all->n - i);
		draw_session(&w, all->serve, &all->session[i], each > 1 ? each - 1 : 0);
	}
	fflush(stderr);
	log_release();
}
