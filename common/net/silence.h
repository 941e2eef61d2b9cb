/* silence.h: when to join a group again because nothing comes from it.
 *
 * A switch with IGMP snooping sends a group only to ports that it knows to have a member, and
 * may forget a port: a report was lost, or held back because a neighbour's was heard.  The
 * switch learns of this host again with the next general query, after up to two minutes, or
 * when this host leaves the group and joins it, which costs two small packets.  Therefore the
 * group is joined again as soon as the silence is longer than it should be, and after that at
 * intervals that double, because perhaps nobody sends.
 */
#ifndef COMMON_NET_SILENCE_H
#define COMMON_NET_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct silence {
	uint64_t heard_us; /* when something last came */
	/* The time of the next join in this silence, and the interval before it; an interval
	 * of 0: this silence has had no join yet. */
	uint64_t again_us, wait_us;
	uint64_t most_us;           /* the longest time between two joins */
};

/* Begin at now_us.  most_us: the longest time between two joins; 0: 30 s. */
void silence_begin(struct silence *, uint64_t now_us, uint64_t most_us);
/* To be called when a packet came, or when there is no reason why one should come. */
void silence_broken(struct silence *, uint64_t now_us);
/* Is the group to be joined again now?  Silence is expected to last no longer than
 * patience_us. */
bool silence_due(struct silence *, uint64_t now_us, uint64_t patience_us);

#endif /* COMMON_NET_SILENCE_H */
