/* roster.h: the nodes that have joined a server, and who is whose parent.
 *
 * Nodes that begin together form the tree rack by rack: the nodes of a rack fill its
 * places level after level, where a parent has fewer children than the arity says, and
 * the last of them sends to the first one of the next rack.  So each rack's uplink is
 * crossed once in each direction, whatever the arity is; with 1 the tree is a chain.
 *
 * Who comes later, and who has lost its parent, gets the first free place of its own
 * rack, or else of all; it takes its children along. */
#ifndef DOLLY_ENGINE_ROSTER_H
#define DOLLY_ENGINE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/engine/peer.h"

enum { ROSTER_MAX = 65536 };
#define ROSTER_NO_RACK UINT32_MAX
#define ROSTER_NOT_LISTED UINT32_MAX

/* Where a node stands among the others. */
struct roster_spot {
	uint64_t order;  /* nodes begin in ascending order; those of a rack follow each
	                    other */
	uint32_t rack;   /* or ROSTER_NO_RACK: not known */
	uint32_t listed; /* its place in --nodes, or ROSTER_NOT_LISTED */
};

enum member_state {
	MEMBER_WAITS, /* it has joined, and has no place yet */
	MEMBER_TAKES, /* it has a place */
	MEMBER_LEFT,  /* it was whole, and so were all behind it */
	MEMBER_OUT,   /* it has failed, was cut out, or went away: `why` */
};

struct member {
	uint32_t id; /* its index + 1 */
	enum member_state state;
	bool whole;
	char name[MSG_TEXT_MAX + 1];
	uint8_t address[4];
	uint16_t port;
	uint8_t key[MSG_KEY_BYTES];
	struct roster_spot spot;
	uint32_t have, stuck, waits;
	uint64_t heard_us;
	uint64_t waited_us; /* it has waited for one of its children then; 0: never */
	unsigned lost;     /* times that it could not reach this parent */
	uint64_t retry_us; /* then it is told again; 0: it is not */
	struct peer *peer; /* its connection; NULL: none */
	char why[MSG_TEXT_MAX + 1];
	/* The tree, which only roster.c writes. */
	struct member *parent; /* NULL: the server */
	struct member *child, *next;
	unsigned children;
};

struct roster {
	struct member **members; /* owned; [id - 1] */
	size_t n, cap;
	unsigned arity;       /* > 0; ROSTER_MAX: a star */
	uint32_t rack;        /* of the server, or ROSTER_NO_RACK */
	struct member *child; /* of the server */
	unsigned children;
};

/* A new member, without a place; the roster's.  ERR_NOMEM; ERR_REFUSED: there are too
 * many. */
struct member *roster_add(struct roster *, struct err *);
void roster_free(struct roster *);
/* The member, or NULL. */
struct member *roster_find(const struct roster *, uint32_t id);
/* Gives places to all that wait, in their order; once, before anybody has a place.
 * ERR_NOMEM. */
int roster_place_all(struct roster *, struct err *);
/* Give it a place; with `direct` the server is its parent in any case. */
void roster_place(struct roster *, struct member *, bool direct);
/* It has no place any more.  Its children have no parent: each is given a place by the
 * caller, while roster_orphan() has one. */
void roster_take_out(struct roster *, struct member *);
struct member *roster_orphan(struct member *);

#endif /* DOLLY_ENGINE_ROSTER_H */
