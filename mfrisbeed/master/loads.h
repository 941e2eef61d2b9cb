/* loads.h: notes the loads of a session in the history. */
#ifndef MFRISBEED_MASTER_LOADS_H
#define MFRISBEED_MASTER_LOADS_H

#include "mfrisbeed/master/slots.h"

/* One look at the clients of a session. */
struct loads {
	const struct slot *of;
	bool over; /* the session ends, and with it all loads that still run */
	uint32_t last; /* the last load that was noted */
};

/* Notes the last load of a client, when it has ended since the last look; when a
 * client has ended two loads since then, only the last one.  arg: a struct loads. */
void loads_note(void *arg, const struct session_stats_client *);

#endif /* MFRISBEED_MASTER_LOADS_H */
