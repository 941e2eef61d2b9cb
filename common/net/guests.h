/* guests.h: who may keep a connection, and for how long: the one policy of all servers towards
 * those who connect.  It is an engine: it has no socket, and time is told to it.
 *
 *	- There are places, and an address may have only its share of them.
 *	- A guest that comes when its address has its share takes the place of the oldest one of that
 *	  address that has said nothing.
 *	- A guest that comes when all places are taken takes one from the address that has most of
 *	  them, if that has more than its own: of the oldest there that has said nothing, or else of
 *	  the oldest.  Otherwise the oldest that has said nothing gives way, of an address that
 *	  has no fewer places than that of the new one.
 *	- Where nobody gives way, the new one is turned away.
 *	- Each has a time for its first message, and one for whatever comes after it.  A message that
 *	  comes in pieces gets no more time with each piece.
 *	- Those who were turned away, gave way, or were late are counted, and there is one sentence
 *	  about them in 10 seconds at most.  What else would be logged because of a guest is limited, too.
 *
 * Like this, an address that has few places never waits for one that has many, and one that
 * speaks at once is heard, however many are silent.  All functions are called in one thread. */
#ifndef COMMON_NET_GUESTS_H
#define COMMON_NET_GUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct guests_limits {
	unsigned most;     /* places */
	unsigned share;    /* of them for one address, 1 to most */
	uint64_t first_us; /* the time for the first message */
};

/* One connection, embedded in its owner's struct, where it must stay until guests_go(). */
struct guest {
	struct guest *older, *newer;
	uint8_t from[4];
	bool here;  /* it has a place */
	bool heard; /* its first message has come */
	uint64_t until_us;
};

struct guests;

enum { GUESTS_TEXT_MAX = 200 };

/* ERR_NOMEM. */
int guests_new(struct guests **, const struct guests_limits *, struct err *);
/* Its guests are forgotten.  NULL is allowed. */
void guests_free(struct guests *);
/* From now on there are this many places at most, at least 1, and never more than those of
 * guests_new().  Whoever has one keeps it until another comes. */
void guests_places(struct guests *, unsigned most);

/* Whom to send away, with guests_go(), before a guest from this address comes; NULL: nobody
 * (any more). */
struct guest *guests_gives_way(struct guests *, const uint8_t from[4]);
/* Gives it a place and the time for its first message.  False: there is none, and it is turned
 * away. */
bool guests_come(struct guests *, struct guest *, const uint8_t from[4], uint64_t now_us);
/* Its message has come, or it is to have another time for another reason: from now on it has
 * this time, until the next call. */
void guests_heard(struct guests *, struct guest *, uint64_t now_us, uint64_t us);
/* Its connection has ended, or it is no guest any more.  One that has no place is left alone. */
void guests_go(struct guests *, struct guest *);

/* One whose time is over, or NULL.  The caller sends it away, or gives it another time. */
struct guest *guests_late(const struct guests *, uint64_t now_us);
/* Counts one that is sent away because it was late or gives way. */
void guests_count(struct guests *, const uint8_t from[4]);
/* True: the text says how many were sent away since the last one, and is to be logged. */
bool guests_say(struct guests *, uint64_t now_us, char text[GUESTS_TEXT_MAX]);
/* May a line be logged now about what a guest wants?  20 may in 200 seconds; the
 * others are counted, and guests_say() says how many they were. */
bool guests_may_log(struct guests *, uint64_t now_us);
/* When guests_late() or guests_say() has something next; UINT64_MAX: never. */
uint64_t guests_deadline(const struct guests *);

#endif /* COMMON_NET_GUESTS_H */
