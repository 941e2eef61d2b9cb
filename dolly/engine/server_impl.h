/* server_impl.h: the parts of the server's engine.  Each struct is written by one file, and
 * each file has the functions below its name.  All are called in the engine's thread. */
#ifndef DOLLY_ENGINE_SERVER_IMPL_H
#define DOLLY_ENGINE_SERVER_IMPL_H

#include "dolly/engine/server.h"

/* server_read.c */
struct server_reading {
	uint32_t cursor; /* the search for the next wanted chunk begins here */
	uint32_t now;    /* chunks that are being read */
};

/* server_digests.c */
struct server_digests {
	uint8_t (*of)[MSG_DIGEST_BYTES]; /* by chunk, of those that are `known` */
	struct chunkmap known, wanted; /* wanted: that nodes lack, and that are not known */
	uint32_t *order; /* the chunks of which they are known, in the order of their first reading */
	uint32_t told;   /* so many of these are to be said to all nodes now */
	uint64_t told_us; /* since when */
};

/* server_begin.c */
struct server_beginning {
	bool begun; /* the first nodes have their places */
	uint64_t again_us; /* when a node was there that has chunks already; 0: none was */
};

/* server_suspects.c */
struct server_suspects {
	unsigned n; /* that there have been */
};

/* server_messages.c */
struct server_joining {
	struct peer *peer; /* over which a node has joined of which the owner says who it is */
	uint16_t port, version;
	char name[MSG_TEXT_MAX + 1];
};

/* server.c */
struct dolly_server {
	struct dolly_server_config cfg;
	struct roster roster;
	struct spread *spread;
	struct wishes wishes;
	uint64_t now_us, made_us, busy_us; /* busy_us: when it last was `busy` */
	uint64_t act_us;                   /* when the server acts again */
	bool busy;                         /* a node for which it stays waits or takes chunks now */
	uint64_t sent;                     /* bytes, to all peers */
	struct err failure;
	struct server_reading reading;
	struct server_digests digests;
	struct server_beginning beginning;
	struct server_suspects suspects;
	struct server_joining joining;
};

/* --- server.c --- */

/* Wants this of the owner. */
void server_wish(struct dolly_server *, const struct wish *);
/* Tells the owner what has happened to a node. */
void server_tell(struct dolly_server *, const struct member *, const char *what);
/* Ends a connection. */
void server_hang_up(struct dolly_server *, struct peer *);
/* The server has failed, and ends. */
void server_fail(struct dolly_server *, const struct err *);
/* This node waits or takes chunks now: the server stays, if the node is worth it. */
void server_note_busy(struct dolly_server *, const struct member *);

/* --- server_read.c --- */

/* Reads chunks that children want, as long as there is room. */
void server_read_more(struct dolly_server *);

/* --- server_digests.c --- */

bool server_make_digests(struct dolly_server *);
void server_free_digests(struct dolly_server *);
/* A chunk was read, and has this digest.  -1: it had another one before. */
int server_note_digest(
    struct dolly_server *, uint32_t chunk, const uint8_t *digest, struct err *);
/* Is it time to say what is new?  Then it is due from now on. */
bool server_digests_are_due(struct dolly_server *);
/* Says to the nodes what is due and what they lack. */
void server_say_digests(struct dolly_server *);
/* Handles WANT of a node that has joined. */
void server_hear_want(struct dolly_server *, struct member *, const struct msg *);
/* Takes the next chunk that has to be read for its digest, and is not being read; or
 * SPREAD_NONE. */
uint32_t server_next_digest(struct dolly_server *);

/* --- server_places.c --- */

/* Tells a node its parent, with a new link. */
void server_say_parent(struct dolly_server *, struct member *);
/* Ends the connection of a child of the server itself. */
void server_drop_child(struct dolly_server *, uint32_t id);
/* Tells the parent of a member to drop it. */
void server_drop_at_parent(struct dolly_server *, struct member *);
/* Takes a member out of the tree, and gives its children other parents. */
void server_leave_tree(struct dolly_server *, struct member *);
/* The member has got its place in the roster, and is told. */
void server_is_placed(struct dolly_server *, struct member *);
/* Gives suspects that wait a place as leaves. */
void server_place_leaves(struct dolly_server *);
/* Gives a member a place, if there is one without the parent `avoid` (NULL: anywhere). */
bool server_place(struct dolly_server *, struct member *, const struct member *avoid);
/* Gives a place to a member that was a suspect, and is none any more. */
void server_place_cleared(struct dolly_server *, struct member *);
/* Takes a silent node out of the tree until it is heard again. */
void server_set_aside(struct dolly_server *, struct member *);
/* Cuts a node out, or lets it go when it is whole. */
void server_cut(struct dolly_server *, struct member *, const char *why);
/* Lets nodes go that are whole before they have a place. */
void server_let_go_whole(struct dolly_server *);
/* Lets a member (NULL is allowed) go that is whole and has no children, and then its parents. */
void server_settle(struct dolly_server *, struct member *);

/* --- server_begin.c --- */

/* Gives places to those that wait, if it is time to. */
void server_check_begin(struct dolly_server *);

/* --- server_suspects.c --- */

/* Judges the link of a member to its parent, if it is time to. */
void server_judge(struct dolly_server *, struct member *);
/* The link between a parent (NULL: the server) and its child is bad. */
void server_part(struct dolly_server *, struct member *parent, struct member *child);
/* A node that has joined measures nothing: it is a leaf from now on. */
void server_be_leaf(struct dolly_server *, struct member *);

#endif /* DOLLY_ENGINE_SERVER_IMPL_H */
