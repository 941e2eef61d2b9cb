/* progress.c: the progress line on a terminal, or progress as numbers on a descriptor.
 * Programs call this, each struct progress in one thread at a time: frisbee's in the
 * load's thread, the others' in the first. */
#include "common/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/cli.h"

/* A person sees a line move that changes ten times a second; a program that reads lines needs fewer. */
enum { TERMINAL_EVERY_US = 100000, FD_EVERY_US = 1000000 };

void
progress_begin(struct progress *p, const char *what, uint64_t total, int fd, int quiet)
{
	*p = (struct progress){ .what = what, .total = total, .fd = fd };
	p->shown = fd >= 0 || (!quiet && isatty(STDERR_FILENO));
	p->started_us = clock_us();
}

static void
terminal_line(const struct progress *p, uint64_t done, uint64_t now)
{
	char bytes[32], rate[32], line[200];
	double s = (double)(now - p->started_us) / 1e6;
	uint64_t per_s = s > 0 ? (uint64_t)((double)done / s) : 0;

	human_bytes(done, bytes, sizeof bytes);
	human_bytes(per_s, rate, sizeof rate);
	if (p->total == 0) {
		snprintf(line, sizeof line, "%s: %s, %s/s ", p->what, bytes, rate);
		say_line(line);
		return;
	}
	uint64_t left = per_s > 0 && done < p->total ? (p->total - done) / per_s : 0;
	snprintf(line, sizeof line, "%s: %3.0f %%  %s, %s/s, %" PRIu64 ":%02" PRIu64 " left ",
	    p->what, 100.0 * (double)done / (double)p->total, bytes, rate, left / 60, left % 60);
	say_line(line);
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
progress_end(struct progress *p, uint64_t done)
{
	if (!p->shown)
		return;
	show(p, done, clock_us());
	if (p->fd < 0)
		say_line_clear(); /* the summary takes its place */
	p->shown = 0;
}
