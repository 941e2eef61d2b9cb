/* server_interleave.c: whether chunks take turns.  The server's engine tells it what reports
 * say that are believed, and asks it before it gives out chunks. */
#include "frisbeed/server/server_interleave.h"

#include <string.h>

enum {
	/* Blocks that are lacking.  With fewer than five a group, the variance over eight
	 * groups says nothing. */
	ENOUGH = 5 * WIREXT_GROUPS,
	SMOOTH = 12, /* reports: one that is an exception changes nothing */
};
/* The variance of losses one by one is their mean (they are binomial); of a burst that
 * is spread over the groups it is almost 0.  Chunks begin to take turns when half of
 * the reports are of that kind, and stop when few are, so that it does not go to and
 * fro. */
static const double OF_BURSTS = 0.33, ON = 0.5, OFF = 0.15;

/* Bursts at one client's port are no reason for all chunks to take turns: of several
 * clients, none is heard twice in a row. */
static bool
is_another(struct server_sets *t, const uint8_t ip[4])
{
	bool another = memcmp(t->heard, ip, sizeof t->heard) != 0;

	memcpy(t->heard, ip, sizeof t->heard);
	return another;
}

bool
server_sets_hear(struct server_sets *t, const uint8_t ip[4], bool several,
    const uint8_t lack[WIREXT_GROUPS])
{
	if (!is_another(t, ip) && several)
		return false;
	double sum = 0, squares = 0;
	bool before = t->on;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		sum += lack[g];
		squares += (double)lack[g] * lack[g];
	}
	if (sum < ENOUGH)
		return false;
	double mean = sum / WIREXT_GROUPS;
	double variance = squares / WIREXT_GROUPS - mean * mean;
	t->bursts += ((variance < OF_BURSTS * mean) - t->bursts) / SMOOTH;
	if (t->bursts > ON)
		t->on = true;
	else if (t->bursts < OFF)
		t->on = false;
	return t->on != before;
}
