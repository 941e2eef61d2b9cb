/* roster.h: the nodes that have joined a server, and the tree that they form.
 *
 * Nodes that begin together form the tree rack by rack: the nodes of a rack fill it level
 * after level, each parent with as many children as the arity says, and the last node of a
 * rack also sends to the first node of the next rack.  Each rack's uplink is crossed once in
 * each direction, whatever the arity is; with arity 1 the tree is a chain.
 *
 * A node that joins later, or has lost its parent, gets the first free place in its own
 * rack, or else the first free place of all.  It keeps its own children. */
#ifndef DOLLY_ENGINE_ROSTER_H
#define DOLLY_ENGINE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/engine/peer.h"

enum { ROSTER_MAX = 65536 }; /* a node that joins again is a new entry */
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
	bool aside;         /* it is silent, and waits without a place until it is heard again */
	unsigned asides;    /* times that it was set aside */
	uint64_t waited_us; /* when it last waited for one of its children; 0: never */
	unsigned lost;     /* times in a row that it could not reach this parent */
	uint64_t retry_us; /* when it is told its parent again; 0: it need not be */
	struct peer *peer; /* its connection; NULL: none */
	char why[MSG_TEXT_MAX + 1];
	/* The tree, which only roster.c writes: */
	bool placed;   /* the node has had a place */
	uint32_t from; /* the id of its last parent, also after the node has left; 0: the server */
	struct member *parent; /* NULL: the server */
	struct member *child, *next; /* its first child; the next child of its parent */
	unsigned children;
};

struct roster {
	struct member **members; /* owned; member `id` is at [id - 1] */
	size_t n, cap;
	unsigned arity;       /* children of a node, > 0; ROSTER_MAX: a star */
	uint32_t rack;        /* of the server, or ROSTER_NO_RACK */
	struct member *child; /* the server's first child */
	unsigned children;    /* of the server */
};

/* Adds a member without a place; the roster owns it.  NULL with the error: ERR_NOMEM;
 * ERR_REFUSED: ROSTER_MAX nodes have joined. */
struct member *roster_add(struct roster *, struct err *);
/* Releases all members; the roster is empty afterwards. */
void roster_free(struct roster *);
/* The member with this id, or NULL. */
struct member *roster_find(const struct roster *, uint32_t id);
/* Gives places to all members that wait, in their order.  It is called once, before any
 * member has a place.  ERR_NOMEM. */
int roster_place_all(struct roster *, struct err *);
/* Gives the member a place; with `direct` its parent is the server in any case. */
void roster_place(struct roster *, struct member *, bool direct);
/* Takes the member out of the tree.  The caller removes the member's children with
 * roster_orphan() and gives each of them another place. */
void roster_take_out(struct roster *, struct member *);
/* Detaches the first child of a member, and returns it; NULL: there are no children. */
struct member *roster_orphan(struct member *);

#endif /* DOLLY_ENGINE_ROSTER_H */
