/* judge.h: what both ends of a link say of it, and whom to suspect.  A link is bad when
 * one end waits for the other one for a whole time of judgement, and the other end has no
 * excuse; which of the two is the cause nobody can tell.  So the word of one end is
 * suspicion of both, and a node is a suspect when two others say so who are no suspects
 * themselves.
 *
 * "I was offered nothing" is an excuse, and passes on to the next link up; so is "my own
 * child takes nothing", which passes on to the next link down.  The server's own word
 * counts like that of a node, and the server is never a suspect.  Who is a suspect stays
 * one, unless all who have said so turn out to be suspects, or all but one of whom others
 * say so: between two bad nodes a healthy one hears of trouble from both.
 *
 * A suspect is a leaf, and what a parent says of its leaf counts once for each time that the
 * parent has served a child well.
 *
 * Used by the engine of the server alone, in its thread. */
#ifndef DOLLY_ENGINE_JUDGE_H
#define DOLLY_ENGINE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "dolly/engine/msg.h"

enum { JUDGE_WORDS = 8 };

/* What one end has said of a link since the time of judgement began. */
struct judge_end {
	bool told;
	uint64_t bytes, bytes_then, bytes_half; /* now; when it began; when half of it was over */
	uint32_t waited_ms, waited_then;
	uint32_t wanted_least, wanted_most;
	unsigned part_before; /* percent of the time before, for which this end has waited */
};

/* Of a member: the link to its parent, and the words about it. */
struct judge {
	struct judge_end up;   /* what the member says of its parent */
	struct judge_end down; /* what its parent says of it */
	uint64_t since_us;     /* 0: neither has said anything yet */
	bool half;             /* half of the time is over */
	bool doubted;          /* the last verdict was JUDGE_DOUBT */
	uint32_t have_then, parent_had_then; /* chunks that both had installed */
	uint32_t damaged;      /* chunks that have come damaged over this link */
	uint64_t damaged_us;   /* when the last one came; 0: never */
	uint64_t unjudged_us;  /* when the first one came of which nothing follows yet; 0: none */
	uint64_t held_us; /* when a link to one of its children was found bad; 0: never */
	uint32_t words[JUDGE_WORDS]; /* ids of those who say that it is the cause; 0: the server */
	unsigned nwords;
	uint32_t as_leaf; /* id + 1 of the last parent that has said so since it is a leaf; 0: none */
	uint32_t believed; /* the same, of those that serve others well: judge_leaf() */
	bool serves;      /* a child of it got what it should, since the last leaf that did not */
	uint64_t said_us; /* when it was believed last that a leaf of it did not; 0: never */
	bool spoils;      /* chunks that came from it were damaged */
	bool certain;     /* it has said itself that it takes too little, or the server has seen it */
	bool suspect;
};

enum judge_verdict {
	JUDGE_FINE,
	JUDGE_DOUBT,   /* bad, if it is the same the next time: judge_link() does not return it */
	JUDGE_BAD,     /* one of both ends, or what is between them */
	JUDGE_DAMAGES, /* the same: chunks arrive damaged */
	JUDGE_ADMITS,  /* the child says itself that it is the cause */
};

struct judge_rule {
	uint64_t now_us, window_us; /* window_us: the time of judgement */
	uint64_t slow;              /* bytes a second that must pass; 0: any rate */
};

struct member;
struct roster;

/* The member has got a parent: what was said of the link before is forgotten. */
void judge_new_link(struct judge *);
/* The member (`up`) or its parent says this of the link between them. */
void judge_hear(struct member *, const struct msg_link *, uint64_t now_us);
/* Judges the link of a member to its parent, if it is time to, and begins anew. */
enum judge_verdict judge_link(struct member *, const struct judge_rule *);
/* Does one of these children, which are those of one parent, not let it wait?  `but` does
 * not count. */
bool judge_serves_others(
    const struct member *children, const struct member *but, const struct judge_rule *);
/* The node with the id `by` (0: the server) says that this one is the cause.  When there is
 * no room for its word, one that does not count any more goes. */
void judge_word(const struct roster *, struct judge *, uint32_t by);
/* A leaf takes too little from its parent, which is a node.  True: it is the second one that
 * says so of those that have served others well since they last said so of anyone, unless it
 * was of another leaf in the same time of judgement. */
bool judge_leaf(struct member *, const struct judge_rule *);
/* It is no suspect any more. */
void judge_acquit(struct judge *);
/* Forgets the words of a node, whose id another one gets. */
void judge_forget(struct judge *, uint32_t by);
/* Is there reason to suspect this member: two words of others who are no suspects, or its
 * own? */
bool judge_suspects(const struct roster *, const struct member *);
/* Does anyone who is no suspect say that this member is the cause? */
bool judge_doubts(const struct roster *, const struct member *);
/* Is this member a suspect without reason now, since all who have said so are suspects, or
 * all but one, of which others say so: one who is no suspect, or two suspects? */
bool judge_is_cleared(const struct roster *, const struct member *);

#endif /* DOLLY_ENGINE_JUDGE_H */
