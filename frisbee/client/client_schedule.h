/* client_schedule.h: when the policies are asked next what they have to say.
 *
 * They are asked at once when something has happened that may change their mind, and else at
 * the earliest time that one of them named when it was asked last.
 */
#ifndef FRISBEE_CLIENT_CLIENT_SCHEDULE_H
#define FRISBEE_CLIENT_CLIENT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_schedule.c writes it. */
struct client_schedule {
	uint64_t at_us;
};

/* Something has happened: ask now. */
void client_schedule_now(struct client_schedule *, uint64_t now_us);
/* Ask at this time at the latest. */
void client_schedule_by(struct client_schedule *, uint64_t at_us);
/* All were asked, and have nothing to say before this time. */
void client_schedule_next(struct client_schedule *, uint64_t at_us);

#endif /* FRISBEE_CLIENT_CLIENT_SCHEDULE_H */
