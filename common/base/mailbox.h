/* mailbox.h: passes events from any thread to the one that sleeps in poll(2).
 *
 * The receiver polls mailbox_fd() for input, and then calls mailbox_take() until it returns
 * false.  At most `cap` events may be inside at a time (asserted).  The owner can know that
 * number, because most events name a buffer or a thread. */
#ifndef COMMON_BASE_MAILBOX_H
#define COMMON_BASE_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* The sender's header has an enum for `what`, and says what n means. */
struct event {
	uint32_t what, n;
};

struct mailbox;

/* Make an empty mailbox; the caller frees it.  ERR_NOMEM; ERR_IO: there is no eventfd. */
int mailbox_new(struct mailbox **, uint32_t cap, struct err *);
/* Free it when no thread puts events any more; NULL is allowed. */
void mailbox_free(struct mailbox *);
/* The descriptor to poll for input; it belongs to the mailbox. */
int mailbox_fd(const struct mailbox *);
/* Put an event, in any thread.  Never waits. */
void mailbox_put(struct mailbox *, uint32_t what, uint32_t n);
/* Take the oldest event.  False: the mailbox is empty, and its descriptor is not readable
 * until the next put. */
bool mailbox_take(struct mailbox *, struct event *);

#endif /* COMMON_BASE_MAILBOX_H */
