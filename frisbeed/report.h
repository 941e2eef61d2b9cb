/* report.h: the statistics of all sessions, as JSON and as lines. */
#ifndef FRISBEED_REPORT_H
#define FRISBEED_REPORT_H

#include "common/base/err.h"
#include "frisbeed/session_view.h"

/* How the program ends. */
struct report_end {
	struct err failure; /* valid when status is not 0 */
	int status;         /* exit status; 0: nothing has failed */
};

/* Writes the sums, each session with its clients, and the failure (of `end`; NULL: the server
 * is still running) into the file, which is replaced as a whole.  path NULL: nothing is done.
 * ERR_IO; ERR_NOMEM. */
int report_save_stats(const struct session_views *, const struct report_end *,
    const char *path, struct err *);
/* Prints what report_save_stats() writes on standard output.  ERR_IO; ERR_NOMEM. */
int report_print_stats(
    const struct session_views *, const struct report_end *, struct err *);
/* Logs, at the end of a session, what it has done, and a line for each client that has not said
 * that it has the whole image. */
void report_done(const struct session_views *, const struct session_view *);
/* Logs a line for each session that has sent something since the last call. */
void report_progress(const struct session_views *);

#endif /* FRISBEED_REPORT_H */
