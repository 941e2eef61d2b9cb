/* asks.h: what other threads ask of a load's loop, which sleeps in poll(2) meanwhile. */
#ifndef FRISBEE_LOAD_ASKS_H
#define FRISBEE_LOAD_ASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mailbox.h"
#include "common/image/read/feeder.h"
#include "common/wire/blockmap.h"

enum {
	/* How many events of this kind the mailbox must have room for, besides those of
	 * the feeder. */
	ASKS_EVENTS = 1,
	ASKS_EVENT = FEEDER_DONE + 1, /* something was asked: see asks_take() */
};

struct asks;

/* Makes an empty list of requests.  The mailbox is the loop's, and must exist until asks_free().
 * ERR_NOMEM. */
int asks_new(struct asks **, struct mailbox *, struct err *);
/* Releases the list.  NULL is allowed. */
void asks_free(struct asks *);

/* A chunk, or blocks of it, that somebody needs now. */
struct asked_chunk {
	uint32_t chunk;
	bool whole;           /* the whole chunk is needed, proved */
	struct blockmap need; /* not whole: these blocks are needed, as they come */
};

/* Asks for a chunk, which is needed now; it is copied.  Any thread may call it.  When the
 * loop has not taken CLIENT_URGENT_MAX of them yet, the oldest is forgotten. */
void asks_chunk(struct asks *, const struct asked_chunk *);
/* Makes the loop look at once whether its work is still wanted.  Any thread may call it. */
void asks_to_look(struct asks *);

/* Takes the oldest request.  The loop calls this after ASKS_EVENT until it returns false:
 * there is no request any more. */
bool asks_take(struct asks *, struct asked_chunk *);

#endif /* FRISBEE_LOAD_ASKS_H */
