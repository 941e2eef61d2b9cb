/* server_interleave.c: whether the blocks of eight chunks are interleaved.  The
 * server's engine passes the NACKs that it believes, and asks before it schedules
 * chunks, in its only thread. */
#include "frisbeed/server/server_interleave.h"

#include <string.h>

enum {
	/* Missing blocks of a chunk.  With fewer than five per group, the variance over
	 * the eight groups says nothing. */
	ENOUGH = 5 * WIREXT_GROUPS,
	SMOOTH = 12, /* NACKs that are averaged, so that a single exception changes
	                nothing */
};
/* Single losses are binomial, so the variance between groups is about their mean.  A
 * burst is spread evenly over the groups, so its variance is almost 0; OF_BURSTS
 * separates the two. Interleaving begins when half of the NACKs show bursts, and ends
 * when few do: two limits keep it from changing back and forth. */
static const double OF_BURSTS = 0.33, ON = 0.5, OFF = 0.15;

/* Bursts at the port of one client are no reason to interleave for all.  Therefore, if
 * there are several clients, two NACKs in a row from the same address count once.  A NACK
 * of too few blocks is not in between: otherwise each report of a client with bursts
 * would count as soon as all clients lose a little. */
static bool
is_another(struct server_interleave *t, const uint8_t ip[4])
{
	bool another = memcmp(t->heard, ip, sizeof t->heard) != 0;

	memcpy(t->heard, ip, sizeof t->heard);
	return another;
}

bool
server_interleave_hear(struct server_interleave *t, const uint8_t ip[4], bool several,
    const uint8_t lack[WIREXT_GROUPS])
{
	double sum = 0, squares = 0;
	bool before = t->on;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++) {
		sum += lack[g];
		squares += (double)lack[g] * lack[g];
	}
	if (sum < ENOUGH || (!is_another(t, ip) && several))
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
