/* ignored.h: packets that were not taken because of their authentication, counted, and said in
 * a sentence once a minute at most.
 *
 * They may be a stranger's, or of somebody who means well and has not the right key: one who
 * waits in vain should be told why.
 */
#ifndef COMMON_NET_IGNORED_H
#define COMMON_NET_IGNORED_H

#include <stdbool.h>
#include <stdint.h>

enum ignored_why {
	IGNORED_PLAIN,  /* not authenticated, in a session that has a key */
	IGNORED_KEY,    /* authenticated by another key */
	IGNORED_FORGED, /* by this one, as it seems, but wrong */
	IGNORED_SEALED, /* authenticated, in a session that has no key */
	IGNORED_WHYS
};

enum { IGNORED_TEXT_MAX = 256 };

struct ignored {
	bool ever; /* a packet was right: this is no reason to wait in vain */
	struct ignored_count {
		uint64_t n;     /* since it was last said */
		uint64_t all;
		uint8_t first[4]; /* who sent the first of n */
		uint64_t at_us; /* it is said then at the earliest; 0: now begins */
	} of[IGNORED_WHYS];
	/* Somebody may not know how it is: one is told once a second at most, not always the
	 * same one when there are several. */
	bool asks;
	uint64_t told_us;
	uint8_t asker[4];
	uint16_t asker_port;
	uint8_t told[4];
};

void ignored_add(struct ignored *, enum ignored_why, const uint8_t from[4], uint16_t port);
/* True: there is something to say, in text; to be called again until there is not.  waits:
 * for who waits for a server. */
bool ignored_say(
    struct ignored *, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX]);
/* True, once a second at most: tell the asker how it is here. */
bool ignored_answer(struct ignored *, uint64_t now_us);
/* Why who waits for a server has waited in vain, as far as this can be the reason: the end of
 * a sentence, or NULL. */
const char *ignored_reason(const struct ignored *);

#endif /* COMMON_NET_IGNORED_H */
