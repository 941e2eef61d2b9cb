/* client_schedule.c: when the policies are asked next.  The files of the engine call
 * this in its only thread. */
#include "frisbee/client/client_schedule.h"

void
client_schedule_now(struct client_schedule *s, uint64_t now_us)
{
	s->at_us = now_us;
}

void
client_schedule_by(struct client_schedule *s, uint64_t at_us)
{
	if (s->at_us > at_us)
		s->at_us = at_us;
}

void
client_schedule_next(struct client_schedule *s, uint64_t at_us)
{
	s->at_us = at_us;
}
