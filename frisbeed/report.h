/* report.h: the statistics of all sessions, as JSON and as lines. */
#ifndef FRISBEED_REPORT_H
#define FRISBEED_REPORT_H

#include "common/base/err.h"
#include "frisbeed/shown.h"

/* How it ended: status 0, or why not. */
struct report_end {
	struct err failure;
	int status;
};

/* Write the sums, each session with its clients, and what failed (end; NULL: the
 * server is still running) into the file, which is replaced as a whole. path NULL:
 * do nothing.  ERR_IO, ERR_NOMEM. */
int report_save_stats(const struct shown_all *, const struct report_end *,
    const char *path, struct err *);
/* The same on standard output. */
int report_print_stats(
    const struct shown_all *, const struct report_end *, struct err *);
/* What was done, at the end of a session, and which clients have not said that they have the
 * whole image: a line for each. */
void report_done(const struct shown_all *, const struct shown *);
/* What is being done: only of those that have sent something since the last time. */
void report_progress(const struct shown_all *);

#endif /* FRISBEED_REPORT_H */
