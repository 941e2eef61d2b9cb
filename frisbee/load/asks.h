/* asks.h: what other threads ask of a load's loop, which sleeps in poll(2) meanwhile. */
#ifndef FRISBEE_LOAD_ASKS_H
#define FRISBEE_LOAD_ASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/mailbox.h"
#include "frisbee/load/feeder.h"

enum {
	ASKS_EVENTS = 1, /* room for so many in the mailbox, which the feeder has, too */
	ASKS_EVENT = FEEDER_DONE + 1, /* something was asked: see asks_take() */
};

struct asks;

/* The mailbox is the loop's, and stays as long as this.  ERR_NOMEM. */
int asks_new(struct asks **, struct mailbox *, struct err *);
/* NULL is allowed. */
void asks_free(struct asks *);

/* From any thread.  This chunk is needed now; of very many that the loop has not taken yet,
 * the first ones are forgotten. */
void asks_chunk(struct asks *, uint32_t chunk);
/* From any thread: the loop is to look at once whether its work is still wanted. */
void asks_to_look(struct asks *);

/* The loop's, after ASKS_EVENT, until it returns false: the next chunk that is needed. */
bool asks_take(struct asks *, uint32_t *chunk);

#endif /* FRISBEE_LOAD_ASKS_H */
