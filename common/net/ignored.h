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
	IGNORED_FORGED, /* apparently authenticated by the session's key, but wrong */
	IGNORED_SEALED, /* authenticated, in a session that has no key */
	IGNORED_WHYS
};

enum { IGNORED_TEXT_MAX = 256 };

struct ignored {
	bool ever; /* a packet was right: keys are not the reason for waiting in vain */
	struct ignored_count {
		uint64_t n;     /* since it was last said */
		uint64_t all;
		uint8_t first[4]; /* the sender of the first of n */
		uint64_t at_us; /* the earliest time for the next sentence; 0: not set yet */
	} of[IGNORED_WHYS];
	/* Somebody may not know whether the session is authenticated.  One of them is told
	 * once a second at most; with several, it is not always the same one. */
	bool asks;
	uint64_t told_us;
	uint8_t asker[4];
	uint16_t asker_port;
	uint8_t told[4];
};

void ignored_add(struct ignored *, enum ignored_why, const uint8_t from[4], uint16_t port);
/* True: text has a sentence to be printed.  To be called again until it returns false.
 * waits: the caller is a client that waits for a server. */
bool ignored_say(
    struct ignored *, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX]);
/* True, once a second at most: the sender that asks is to be told whether the session is
 * authenticated. */
bool ignored_answer(struct ignored *, uint64_t now_us);
/* Why a client has waited for a server in vain, if keys can be the reason: the end of a
 * sentence, or NULL. */
const char *ignored_reason(const struct ignored *);

#endif /* COMMON_NET_IGNORED_H */
