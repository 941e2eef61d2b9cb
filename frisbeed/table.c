#include "frisbeed/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/progress.h"

enum {
	ROWS_DEFAULT = 24,
	COLUMNS_DEFAULT = 80,
	CLIENTS_MAX = 64, /* of a session, on the largest terminal */
	LINE_MAX_BYTES = 512,
};

/* There is one terminal.  Between log_hold() and log_release(). */
static unsigned drawn;

/* With the cursor below the table. */
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
line(const struct winsize *w, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;

	if (drawn + 1 >= w->ws_row)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	/* A name may hold anything; the terminal is not to obey it. */
	for (char *p = text; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	fprintf(stderr, "%.*s\n", (int)w->ws_col - 1, text);
	drawn++;
}

static void
draw_client(const struct winsize *w, const struct client_row *r, uint64_t now_us,
    const struct tally *t)
{
	char text[NETIF_TEXT_MAX], port[8] = "", done[8] = "-";
	/* It was heard after the time was taken, perhaps. */
	double silent = now_us > r->heard_us ? (double)(now_us - r->heard_us) / 1e6 : 0;

	if (r->port != 0)
		snprintf(port, sizeof port, ":%u", r->port);
	if (r->of != 0)
		snprintf(done, sizeof done, "%u%%",
		    (unsigned)(100 * r->blocks / r->of) % 1000);
	line(w, "    %s%-*s %5s  loss %5.1f%%  heard %.0f s ago%s",
	    netif_text(r->ip, text), 22 - (int)snprintf(NULL, 0, "%s", text), port,
	    done, 100 * client_row_loss(r, tally_packets(t)), silent,
	    r->left ? ", has left" : "");
}

static void
draw_session(const struct winsize *w, struct session *s)
{
	struct client_row rows[CLIENTS_MAX];
	const struct tally t = tally_get(&s->tally);
	uint64_t now = clock_us();
	uint32_t total = 0;

	if (s->state != SESSION_SERVING)
		return;
	line(w,
	    "%s  %s  %.1f Mbit/s  clients %u  sent %" PRIu64 "  again %" PRIu64
	    "  parity %" PRIu64 "  stalls %" PRIu64,
	    s->place->image, s->where, (double)t.rate / 1e6, t.server.clients,
	    t.server.blocks_sent, t.server.blocks_resent, t.server.parity_sent,
	    t.stalls);
	uint32_t n = clients_copy(s->clients, rows, CLIENTS_MAX, &total);
	for (uint32_t i = 0; i < n; i++)
		draw_client(w, &rows[i], now, &t);
}

void
table_draw(struct session *s, unsigned n)
{
	struct winsize w = { 0 };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 || w.ws_col == 0)
		w = (struct winsize){ .ws_row = ROWS_DEFAULT,
			.ws_col = COLUMNS_DEFAULT };
	log_hold();
	erase();
	for (unsigned i = 0; i < n; i++)
		draw_session(&w, &s[i]);
	fflush(stderr);
	log_release();
}
