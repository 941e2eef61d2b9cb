/* silence.h: when to join a group again because nothing comes from it.
 *
 * A switch that snoops sends a group only to the ports whose membership it knows, and
 * may forget one: a report was lost, or held back because a neighbour's was heard.  It
 * learns of us again with the next general query, after up to two minutes, or when we
 * leave and join, which costs two small packets.  So the group is joined again at once
 * when the silence is longer than it should be, and then after times that double,
 * because perhaps nobody sends.
 */
#ifndef COMMON_NET_SILENCE_H
#define COMMON_NET_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct silence {
	uint64_t heard_us;
	/* when to join next in this silence, and the time after that; 0: not yet joined */
	uint64_t again_us, wait_us;
	uint64_t most_us;           /* the longest time between two joins */
};

/* most_us: the longest time between two joins; 0: 30 s. */
void silence_begin(struct silence *, uint64_t now_us, uint64_t most_us);
/* Something came, or there is no reason why anything should. */
void silence_broken(struct silence *, uint64_t now_us);
/* Join again now?  Silence is expected to last no longer than patience_us. */
bool silence_due(struct silence *, uint64_t now_us, uint64_t patience_us);

#endif /* COMMON_NET_SILENCE_H */
