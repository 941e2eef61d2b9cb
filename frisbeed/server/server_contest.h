/* server_contest.h: complaints about the rate while few addresses are there, so that each
 * one would be believed: clients that hear everything object.
 *
 * What most of those say counts who have said something lately.  When as many object as
 * complain, nothing shows who is right: a client behind a slow link complains, or a
 * neighbour does; a client that hears everything objects, or a neighbour does.  Then both
 * are believed in turns, each half of the time, so that neither can take more than half
 * from the other.
 *
 * Only server_contest.c writes struct contest.
 */
#ifndef FRISBEED_SERVER_SERVER_CONTEST_H
#define FRISBEED_SERVER_SERVER_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

enum { CONTEST_VOICES = 8 }; /* as many addresses are remembered */

struct contest {
	struct {
		uint8_t ip[4];
		uint64_t complained_us, objected_us; /* 0: never */
	} at[CONTEST_VOICES];
	uint64_t asked_us; /* when the clients were last asked */
	uint64_t complained_us; /* the last complaint of any of them */
	uint64_t lowered_us;    /* the last one for which the rate was lowered */
};

/* What the addresses say that have spoken lately: nobody complains, or nobody objects;
 * more complain than object; as many do; fewer do. */
enum contest_verdict { CONTEST_OVER, CONTEST_AGREED, CONTEST_TIED, CONTEST_REJECTED };

/* This address complains.  Returns true if it has not for some time, so that the rate of
 * now is one that it has not lowered. */
bool contest_complains(struct contest *, uint64_t now_us, const uint8_t ip[4]);
/* The address hears everything. */
void contest_objects(struct contest *, uint64_t now_us, const uint8_t ip[4]);
/* Is it time to ask who hears everything?  If so, it counts as asked. */
bool contest_asks(struct contest *, uint64_t now_us);
enum contest_verdict contest_verdict(const struct contest *, uint64_t now_us);
/* Does anybody hear everything, as far as was said lately? */
bool contest_heard(const struct contest *, uint64_t now_us);
/* Has anybody complained lately? */
bool contest_complained(const struct contest *, uint64_t now_us);
/* Where as many object as complain: is it the turn of those who complain? */
bool contest_turn(uint64_t now_us);
/* Where complaints are contested: have more than half of those who speak complained since
 * the rate was lowered (contest_lowered()), or as many as half, and it is their turn? */
bool contest_believes(const struct contest *, uint64_t now_us, bool turn);
void contest_lowered(struct contest *, uint64_t now_us);

#endif /* FRISBEED_SERVER_SERVER_CONTEST_H */
