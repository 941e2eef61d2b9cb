/* progress.c: the progress line on a terminal, or progress as numbers on a descriptor.
 * Programs call this, each struct progress in one thread at a time: frisbee's in the
 * load's thread, the others' in the first. */
#include "common/cli/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/plain.h"
#include "common/base/say.h"
#include "common/cli/terminal.h"

/* A person sees a line move that changes ten times a second; a program that reads lines needs fewer. */
enum { TERMINAL_EVERY_US = 100000, FD_EVERY_US = 1000000, LINE_BYTES = 512 };

void
progress_begin(struct progress *p, const char *what, uint64_t total, int fd, int quiet)
{
	*p = (struct progress){ .what = what, .total = total, .fd = fd };
	p->shown = fd >= 0 || (!quiet && terminal_draws());
	p->started_us = clock_us();
}

void
progress_line(const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list ap;

	if (!terminal_draws())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	/* The last column stays empty: behind it, the cursor of some terminals is in the next line. */
	text[terminal_fit(plain_text(text), terminal_size().columns - 1)] = '\0';
	say_line(text);
}

static void
terminal_line(const struct progress *p, uint64_t done, uint64_t now)
{
	char bytes[32], rate[32], left[32];
	double s = (double)(now - p->started_us) / 1e6;
	uint64_t per_s = s > 0 ? (uint64_t)((double)done / s) : 0;

	human_bytes(done, bytes, sizeof bytes);
	human_bytes(per_s, rate, sizeof rate);
	if (p->total == 0) {
		progress_line("%s: %s, %s/s", p->what, bytes, rate);
		return;
	}
	/* 100 % is said of what is complete, and of nothing else. */
	double share = done < p->total ? (double)done / (double)p->total : 1;
	human_left(per_s > 0 && share < 1 ? (p->total - done) / per_s : 0, left, sizeof left);
	progress_line("%s: %3u %%  %s, %s/s, %s", p->what, (unsigned)(100 * share), bytes, rate,
	    left);
}

static void
show(struct progress *p, uint64_t done, uint64_t now)
{
	p->last_us = now;
	if (p->fd < 0) {
		terminal_line(p, done, now);
	} else if (dprintf(p->fd, "%" PRIu64 " %" PRIu64 "\n", done, p->total) < 0) {
		p->shown = 0; /* nobody reads it any more; the run does not fail */
	}
}

void
progress_at(struct progress *p, uint64_t done)
{
	if (!p->shown)
		return;
	uint64_t now = clock_us();
	uint64_t every = p->fd < 0 ? TERMINAL_EVERY_US : FD_EVERY_US;
	if (now - p->last_us >= every)
		show(p, done, now);
}

void
progress_total(struct progress *p, uint64_t total)
{
	p->total = total;
}

void
progress_of(void *progress, uint64_t done, uint64_t total)
{
	progress_total(progress, total);
	progress_at(progress, done);
}

void
progress_end(struct progress *p, uint64_t done)
{
	if (!p->shown)
		return;
	if (p->fd >= 0)
		show(p, done, clock_us());
	else
		say_line_clear(); /* the summary takes its place */
	p->shown = 0;
}
