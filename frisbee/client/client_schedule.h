/* client_schedule.h: when the policies are asked next for messages to send.
 *
 * They are asked at once when something has happened that may change their answer, and
 * otherwise at the earliest time that one of them named when they were last asked.
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
/* All were asked, and have no message before this time. */
void client_schedule_next(struct client_schedule *, uint64_t at_us);

#endif /* FRISBEE_CLIENT_CLIENT_SCHEDULE_H */
