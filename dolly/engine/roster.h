/* roster.h: the nodes that have joined a server, and the tree that they form.
 *
 * Nodes that begin together form the tree rack by rack: the nodes of a rack fill it level
 * after level, each parent with as many children as the arity says, and the last node of
 * a rack also sends to the first node of the next rack.  Each rack's uplink is crossed
 * once in each direction, whatever the arity is; with arity 1 the tree is a chain.
 *
 * A node that joins later, or has lost its parent, gets the first free place in its own
 * rack, or else the first free place of all.  It keeps its own children.
 *
 * A suspect (judge.h) is a leaf: it has no children, and does not count as one of its
 * parent's.  So is a node that measures nothing, since it speaks an older version: it counts
 * as a suspect from the beginning. */
#ifndef DOLLY_ENGINE_ROSTER_H
#define DOLLY_ENGINE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/engine/judge.h"
#include "dolly/engine/peer.h"

enum { ROSTER_MAX = 65536 };
#define ROSTER_NO_RACK UINT32_MAX
#define ROSTER_NOT_LISTED UINT32_MAX

/* The position of a node among the others. */
struct roster_spot {
	uint64_t order;  /* nodes are placed in ascending order; the nodes of a rack have
	                    adjacent numbers */
	uint32_t rack;   /* or ROSTER_NO_RACK: not known */
	uint32_t listed; /* index in the list of --nodes, or ROSTER_NOT_LISTED */
};

enum member_state {
	MEMBER_WAITS, /* the node has joined, and has no place in the tree yet */
	MEMBER_TAKES, /* the node has a place */
	MEMBER_LEFT,  /* the node was whole when it left */
	MEMBER_OUT,   /* the node has failed, was cut out, or went away: see `why` */
};

/* Of those who came from the address of a node before it, and were cut out, and of the same node
 * when it was whole and left. */
struct roster_past {
	unsigned times;
	uint32_t most; /* chunks that one of them had */
};

struct member {
	uint32_t id;     /* its index + 1 */
	uint64_t number; /* members that had joined before it */
	enum member_state state;
	bool whole;
	char name[MSG_TEXT_MAX + 1];
	uint8_t address[4];
	uint16_t port, version; /* version: of the protocol, that the node speaks */
	uint8_t key[MSG_KEY_BYTES];
	struct roster_spot spot;
	struct roster_past past;
	uint32_t have; /* chunks that it has installed */
	uint32_t digests; /* so many were said to it (server_digests.c) */
	struct judge judge;
	uint64_t heard_us;
	bool aside;         /* it is silent, and waits without a place until it is heard again */
	unsigned asides;    /* times that it was set aside */
	unsigned lost;     /* times in a row that it could not reach this parent */
	uint64_t retry_us; /* when it is told its parent again; 0: it need not be */
	struct peer *peer; /* its connection; NULL: none */
	char why[MSG_TEXT_MAX + 1];
	/* The tree, which only roster.c writes: */
	bool placed;   /* the node has had a place */
	uint32_t from; /* the id of its last parent, also after the node has left; 0: the server */
	struct member *parent; /* NULL: the server */
	struct member *child, *next; /* its first child; the next child of its parent */
	unsigned children, leaves;   /* leaves: those of the children that are suspects */
	bool leaf;                   /* it was a suspect when it got its place */
	bool takes;                  /* for roster_place_leaf() */
};

struct roster {
	struct member **members; /* owned; member `id` is at [id - 1] */
	size_t n, cap;
	uint64_t joined;      /* members that have ever joined */
	unsigned arity;       /* children of a node, > 0; ROSTER_MAX: a star */
	uint32_t rack;        /* of the server, or ROSTER_NO_RACK */
	struct member *child; /* the server's first child */
	unsigned children, leaves; /* of the server */
};

/* Where a node comes from, and its place among the others. */
struct roster_guest {
	uint8_t address[4];
	uint16_t port;
	struct roster_spot spot;
};

/* Adds a member without a place; the roster owns it.  One that comes and goes costs
 * nothing: of the entries of a node that was cut out, or of all nodes of an address, only
 * some stay, and the oldest is used again.  NULL with the error: ERR_NOMEM; ERR_REFUSED:
 * ROSTER_MAX nodes are there or whole. */
struct member *roster_add(struct roster *, const struct roster_guest *, struct err *);
/* Are both the same node: the same place in --nodes, or the same address and port? */
bool roster_is_same(const struct member *, const struct roster_guest *);
/* Is the member worth that the server stays for it?  One that is not whole is, but who comes again
 * and again only when it has got further than before. */
bool roster_is_worth(const struct member *);
/* Releases all members; the roster is empty afterwards. */
void roster_free(struct roster *);
/* The member with this id, or NULL. */
struct member *roster_find(const struct roster *, uint32_t id);
/* Gives places to all members that wait and are no suspects, in their order.  It is called
 * once, before any member has a place.  ERR_NOMEM. */
int roster_place_all(struct roster *, struct err *);
/* Gives the member, which is no suspect, a place of which `avoid` is not the parent
 * (NULL: anyone may be).  False: there is no other place. */
bool roster_place(struct roster *, struct member *, const struct member *avoid);
/* Gives the member the place at this parent (NULL: at the server). */
void roster_place_at(struct roster *, struct member *, struct member *parent);
/* The first member of a chain that lacks chunks and is doubted (judge.h); or NULL. */
struct member *roster_first_doubted(const struct roster *);
/* Gives a suspect a place as a leaf, at a node that has time for it: fewer children than
 * the arity says are not whole.  False: there is none now. */
bool roster_place_leaf(struct roster *, struct member *);
/* The first leaf at this parent (NULL: at the server), if it has more children than the
 * arity says; or NULL. */
struct member *roster_leaf_too_many(const struct roster *, const struct member *parent);
/* Takes the member out of the tree.  The caller removes the member's children with
 * roster_orphan() and gives each of them another place. */
void roster_take_out(struct roster *, struct member *);
/* Detaches the first child of a member, and returns it; NULL: there are no children. */
struct member *roster_orphan(struct member *);

#endif /* DOLLY_ENGINE_ROSTER_H */
