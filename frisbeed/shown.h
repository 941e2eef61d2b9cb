/* shown.h: the sessions of this program, as its reports and its table show them. */
#ifndef FRISBEED_SHOWN_H
#define FRISBEED_SHOWN_H

#include "frisbeed/serve/serve.h"

struct shown {
	const char *image; /* the operand's */
	uint32_t number;   /* of serve.h */
	struct serve_stats stats;
	uint64_t said; /* packets that it had sent when a line said so last */
};

/* All of them, in the order of the operands. */
struct shown_all {
	struct serve *serve;
	struct shown *session;
	unsigned n;
};

/* Their statistics, as they are now. */
void shown_look(const struct shown_all *);
/* The same for the one of this number, which is there. */
struct shown *shown_look_at(const struct shown_all *, uint32_t number);

#endif /* FRISBEED_SHOWN_H */
