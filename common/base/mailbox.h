/* mailbox.h: events handed from any thread to the one that sleeps in poll(2).
 *
 * The receiver polls mailbox_fd() for input and then takes until there is nothing left.
 * At most `cap` events may be inside at a time (asserted).  The owner can know that
 * number, because most events name a buffer or a thread.
 */
#ifndef COMMON_BASE_MAILBOX_H
#define COMMON_BASE_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

/* The header of the sender has an enum for `what`, and says what n means. */
struct event {
	uint32_t what, n;
};

struct mailbox;

int mailbox_new(struct mailbox **, uint32_t cap, struct err *);
void mailbox_free(struct mailbox *);
int mailbox_fd(const struct mailbox *);
void mailbox_put(struct mailbox *, uint32_t what, uint32_t n);
/* False when it is empty; then the descriptor is quiet until the next put. */
bool mailbox_take(struct mailbox *, struct event *);

#endif /* COMMON_BASE_MAILBOX_H */
