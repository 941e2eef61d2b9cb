/* shown.h: the sessions of this program, as its reports and its table show them. */
#ifndef FRISBEED_SHOWN_H
#define FRISBEED_SHOWN_H

#include "frisbeed/serve/serve.h"

struct shown {
	const char *image; /* of the operand */
	uint32_t number;   /* of the session (serve.h) */
	struct serve_stats stats;
	uint64_t said; /* packets that it had sent when report_progress() last said so */
};

/* All sessions, in the order of the operands. */
struct shown_all {
	struct serve *serve;
	struct shown *session;
	unsigned n;
	/* Of an image that comes from a parent, as it says; bytes 0: there is no parent. */
	uint64_t bytes;
	int64_t mtime;
};

/* Copies the present statistics of all sessions. */
void shown_look(const struct shown_all *);
/* Copies the present statistics of the session with this number, which must exist, and returns
 * it. */
struct shown *shown_look_at(const struct shown_all *, uint32_t number);

#endif /* FRISBEED_SHOWN_H */
