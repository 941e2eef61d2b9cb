#include "frisbeed/server/server_sets.h"

enum {
	ENOUGH = 5 * WIREXT_GROUPS, /* blocks lacking; of fewer nothing is known */
	SMOOTH = 12,                /* reports */
};
/* The variance of losses one by one is their mean. */
static const double OF_BURSTS = 0.33, ON = 0.5, OFF = 0.15;

bool
server_sets_hear(struct server_sets *t, const uint8_t lack[WIREXT_GROUPS])
{
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
