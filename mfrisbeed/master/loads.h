/* loads.h: the loads of a session become events of the history. */
#ifndef MFRISBEED_MASTER_LOADS_H
#define MFRISBEED_MASTER_LOADS_H

#include "mfrisbeed/master/slots.h"

/* Note the loads that have ended since the last call; of two loads that a client has ended since then, the
 * last.  over: the session ends, and with it all loads that have
 * not ended. */
void loads_note(struct slot *, bool over);

#endif /* MFRISBEED_MASTER_LOADS_H */
