/* feeder_news.h: takes the events of a feeder from its mailbox. */
#ifndef TESTS_UNIT_FEEDER_NEWS_H
#define TESTS_UNIT_FEEDER_NEWS_H

#include <poll.h>
#include <stdint.h>

#include "common/base/mailbox.h"
#include "common/image/read/feeder.h"

static struct mailbox *box;

/* Waits for the next event of the feeder.  `what` is UINT32_MAX when none comes; the next
 * ones are not waited for then. */
static inline struct event
news(void)
{
	static int patience_ms = 60000;
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	struct event ev;

	/* An event that was taken before may still make the descriptor readable. */
	while (!mailbox_take(box, &ev))
		if (poll(&fd, 1, patience_ms) != 1) {
			patience_ms = 0;
			return (struct event){ UINT32_MAX, 0 };
		}
	return ev;
}

static inline bool
hears(enum feeder_event what, uint32_t n)
{
	struct event ev = news();

	return ev.what == what && ev.n == n;
}

#endif /* TESTS_UNIT_FEEDER_NEWS_H */
