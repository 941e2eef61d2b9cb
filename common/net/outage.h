/* outage.h: what a session does while its network is away: it waits, and tries again
 * every second.
 *
 * The loop of a session calls outage_mind() in each turn.  The sockets note by themselves
 * when a send failed for want of a network (sock_away()).
 */
#ifndef COMMON_NET_OUTAGE_H
#define COMMON_NET_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/sock.h"

struct outage {
	uint64_t since_us; /* 0: the network is there */
	uint64_t again_us; /* when the network is tried again */
};

/* What outage_mind() has found. */
enum outage_news { OUTAGE_NOTHING, OUTAGE_BEGAN, OUTAGE_ENDED };

enum { OUTAGE_TEXT_MAX = 200 };

/* Look after both sockets of a session (the second may be NULL).  When something has
 * changed, a sentence about the change is written into text.  After OUTAGE_ENDED this host's
 * address may be another one, and the group was joined again. */
enum outage_news outage_mind(struct outage *, uint64_t now_us, struct sock *first,
    struct sock *second, char text[OUTAGE_TEXT_MAX]);
/* Is the network away? */
static inline bool
outage_goes_on(const struct outage *o)
{
	return o->since_us != 0;
}

#endif /* COMMON_NET_OUTAGE_H */
