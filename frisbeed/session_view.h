/* session_view.h: the sessions of this program, as its reports and its table show them. */
#ifndef FRISBEED_SESSION_VIEW_H
#define FRISBEED_SESSION_VIEW_H

#include "frisbeed/serve/serve.h"

struct session_view {
	const char *image; /* of the operand */
	uint32_t number;   /* of the session (serve.h) */
	struct serve_stats stats;
	uint64_t said; /* packets that it had sent when report_progress() last said so */
};

/* All sessions, in the order of the operands. */
struct session_views {
	struct serve *serve;
	struct session_view *session;
	unsigned n;
	/* Of an image that comes from a parent, as it says; bytes 0: there is no parent. */
	uint64_t bytes;
	int64_t mtime;
};

/* Copies the present statistics of all sessions. */
void session_view_renew_all(const struct session_views *);
/* Copies the present statistics of the session with this number, which must exist, and returns
 * it. */
struct session_view *session_view_renew(const struct session_views *, uint32_t number);

#endif /* FRISBEED_SESSION_VIEW_H */
