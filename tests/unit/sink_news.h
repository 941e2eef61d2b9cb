/* sink_news.h: what a client's sink says through its mailbox. */
#ifndef TESTS_UNIT_SINK_NEWS_H
#define TESTS_UNIT_SINK_NEWS_H

#include <poll.h>
#include <stdint.h>

#include "common/base/mailbox.h"

static struct mailbox *box;

/* What the sink says next; UINT32_MAX: nothing. */
static inline uint32_t
news(void)
{
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	uint32_t n;

	/* What was taken before may still make it readable. */
	while (!mailbox_take(box, &n))
		if (poll(&fd, 1, 20000) != 1)
			return UINT32_MAX;
	return n;
}

#endif /* TESTS_UNIT_SINK_NEWS_H */
