/* note.h: what a controller says of the part that a node had in an order that has ended, as an event
 * of the history. */
#ifndef MFRISBEED_MASTER_NOTE_H
#define MFRISBEED_MASTER_NOTE_H

#include "mfrisbeed/master/history.h"

/* Reads text[bytes], an object (mfrisbeed(8), section LOCAL REQUESTS).  The event's `told` is the
 * text itself, which must stay.  ERR_FORMAT: it is no JSON; ERR_USAGE: what is wrong with it;
 * ERR_NOMEM. */
int note_read(struct history_event *, const char *text, size_t bytes, struct err *);

#endif /* MFRISBEED_MASTER_NOTE_H */
