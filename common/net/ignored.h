/* ignored.h: packets that were not taken because of their authentication are counted, and
 * reported in a sentence once a minute at most.
 *
 * The sender may be a stranger, or somebody who means well and does not have the right key.  A
 * user who waits in vain should be told why.
 */
#ifndef COMMON_NET_IGNORED_H
#define COMMON_NET_IGNORED_H

#include <stdbool.h>
#include <stdint.h>

enum ignored_why {
	IGNORED_PLAIN,  /* not authenticated, in a session that has a key */
	IGNORED_KEY,    /* authenticated by another key */
	IGNORED_FORGED, /* apparently authenticated by the session's key, but wrong */
	IGNORED_SEALED, /* authenticated, in a session that has no key */
	IGNORED_WHYS
};

enum { IGNORED_TEXT_MAX = 256 };

struct ignored {
	bool ever; /* a packet was right, so keys are not why a client waits */
	struct ignored_count {
		uint64_t n;     /* packets since the last sentence */
		uint64_t all;   /* packets since the beginning */
		uint8_t first[4]; /* the sender of the first of n */
		uint64_t at_us; /* the earliest time for the next sentence; 0: not set yet */
	} of[IGNORED_WHYS];
	/* Senders may not know whether the session is authenticated.  One of them is told
	 * once a second at most; if there are several, it is not always the same one. */
	bool asks;           /* `asker` is to be told */
	uint64_t told_us;    /* when a sender was last told; 0: never */
	uint8_t asker[4];    /* its address */
	uint16_t asker_port; /* its port */
	uint8_t told[4];     /* the address of the sender that was told last */
};

/* Count a packet that was not taken, from this address and port. */
void ignored_add(struct ignored *, enum ignored_why, const uint8_t from[4], uint16_t port);
/* True: text has a sentence to be printed, and ignored_say() is to be called again until it
 * returns false.  waits: the caller is a client that waits for a server. */
bool ignored_say(
    struct ignored *, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX]);
/* True, once a second at most: `asker` is to be told now whether the session is authenticated. */
bool ignored_answer(struct ignored *, uint64_t now_us);
/* Why a client has waited for a server in vain, if keys can be the reason: the end of a
 * sentence, or NULL. */
const char *ignored_reason(const struct ignored *);

#endif /* COMMON_NET_IGNORED_H */
