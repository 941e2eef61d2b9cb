/* replay.h: was a packet with this number taken before?
 *
 * A sender numbers its packets.  Packets may come in another order than they were sent in, but
 * none is taken twice.  A bit for each of the last REPLAY_WINDOW numbers tells whether it was
 * taken; older numbers count as taken.  The bits lie in a ring of words.  When the numbers reach
 * a word, the whole word is cleared (RFC 6479), so that bits are never shifted.
 */
#ifndef COMMON_NET_REPLAY_H
#define COMMON_NET_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

enum {
	REPLAY_WORDS = 32,
	/* One word is not counted, because it has bits of old and of new numbers. */
	REPLAY_WINDOW = (REPLAY_WORDS - 1) * 64,
};

struct replay {
	uint64_t end; /* one more than the largest number that was taken; 0: none was */
	uint64_t bits[REPLAY_WORDS];
};

/* May a packet with this number be taken? */
static inline bool
replay_is_new(const struct replay *r, uint64_t number)
{
	if (number >= r->end)
		return true;
	return r->end - number <= REPLAY_WINDOW &&
	       (r->bits[number / 64 % REPLAY_WORDS] >> number % 64 & 1) == 0;
}

/* Remember that the packet with this number is taken.  replay_is_new() must have returned true,
 * and the number must be below UINT64_MAX. */
static inline void
replay_take(struct replay *r, uint64_t number)
{
	uint64_t word = number / 64;

	if (number >= r->end) {
		uint64_t last = r->end == 0 ? 0 : (r->end - 1) / 64;
		uint64_t fresh = word - last < REPLAY_WORDS ? word - last : REPLAY_WORDS;
		for (uint64_t i = 0; i < fresh; i++)
			r->bits[(word - i) % REPLAY_WORDS] = 0;
		r->end = number + 1;
	}
	r->bits[word % REPLAY_WORDS] |= UINT64_C(1) << number % 64;
}

#endif /* COMMON_NET_REPLAY_H */
