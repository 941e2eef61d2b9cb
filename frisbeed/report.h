/* report.h: the statistics of all sessions, as JSON and as lines. */
#ifndef FRISBEED_REPORT_H
#define FRISBEED_REPORT_H

#include "common/base/json.h"
#include "frisbeed/serve/session.h"

/* How it ended: status 0, or why not. */
struct report_end {
	struct err failure;
	int status;
};

/* The sums in front, then each session with its clients, then what failed; NULL: it
 * goes on.  NULL: no memory. */
struct json *report_json(struct session *, unsigned n, const struct report_end *);
/* What was done, at the end of a session. */
void report_done(struct session *);
/* What is being done: only of those that have sent something since the last time. */
struct report_lines {
	uint64_t *sent; /* of n sessions */
};
void report_progress(struct session *, unsigned n, struct report_lines *);

#endif /* FRISBEED_REPORT_H */
