/* loads.h: notes the loads of a session in the history. */
#ifndef MFRISBEED_MASTER_LOADS_H
#define MFRISBEED_MASTER_LOADS_H

#include "mfrisbeed/master/slots.h"

/* Notes the loads that have ended since the last call; when a client has ended two loads
 * since then, only the last one.  over: the session ends, and with it all loads that still
 * run. */
void loads_note(struct slot *, bool over);

#endif /* MFRISBEED_MASTER_LOADS_H */
