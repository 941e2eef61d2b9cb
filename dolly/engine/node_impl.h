/* node_impl.h: the parts of a node's engine.  Each struct is written by one file, and each
 * file has the functions below its name.  All are called in the engine's thread. */
#ifndef DOLLY_ENGINE_NODE_IMPL_H
#define DOLLY_ENGINE_NODE_IMPL_H

#include "dolly/engine/dials.h"
#include "dolly/engine/node.h"

enum { NODE_WINDOW = 8 }; /* chunks asked for ahead by a target that needs them in order */
enum { NODE_LEAVES = 64 }; /* children that nobody waits for, and of which the node is told */

/* node_server.c */
struct node_server {
	struct peer *peer; /* NULL: not connected */
	uint32_t id;       /* of the node */
	uint8_t key[MSG_KEY_BYTES];
	uint64_t deadline_us, slow;
	uint16_t version; /* of the protocol, as the server has chosen it */
	struct node_image image;
	uint64_t away_us; /* when the server went away; 0: it is there */
	uint64_t redial_us, redial_wait_us; /* when the server is dialled again, and how long after
	                                       the time before */
	char unanswered[MSG_TEXT_MAX + 1]; /* why the server was not reached */
	bool alone; /* it did not come back within patience_us */
};

/* node_parent.c */
struct node_parent {
	struct peer *peer;    /* NULL: not connected */
	struct msg to_dial;   /* PARENT, of one that is to be dialled at its time; type 0: none */
	struct dials dials;
	struct msg_link link; /* what was measured of it; waited_ms is made from this: */
	uint64_t waited_us;
	bool hungry;          /* since the node has acted last it could have sent something */
	unsigned parents;     /* connections to parents, one after another */
};

/* node_asking.c */
struct node_asking {
	struct chunkmap ask;   /* chunks to ask the parent for */
	struct chunkmap asked; /* chunks that the parent was asked for, and has not sent */
	struct chunkmap again; /* chunks to ask for again when the node acts next */
};

/* node_arrival.c */
struct node_arrival {
	uint32_t slot;    /* of the chunk that is arriving, or SPREAD_NONE */
	uint32_t ignored; /* chunk that arrives, but is in memory; or SPREAD_NONE */
	uint32_t *from;   /* by slot: the parent from which its chunk came */
	uint64_t bytes;   /* of chunks, in all */
};

/* node_putting.c */
struct node_putting {
	struct node_target target;
	struct chunkmap lacks; /* chunks that were not put yet */
	uint32_t *chunks;      /* by slot: the chunk that was put last, also when it is forgotten */
	uint32_t next;         /* in_order: the chunk to put next */
	uint32_t early[NODE_WINDOW]; /* in_order: slots of chunks from `next` on, at
	                                chunk % NODE_WINDOW */
	uint32_t now, have;    /* chunks given to the target; installed */
	uint32_t damaged, damaged_by_server; /* chunks that came damaged: all; of the server */
	bool opening; /* the owner opens the target: what the server says later waits */
	bool proving; /* the owner proves a chunk: what the parent sends later waits */
	bool more;    /* ... after which the target may take other chunks */
	bool finishing, whole;
};

/* node_digests.c */
struct node_digests {
	/* By chunk: the digest that the server has said, if the chunk is in `said`; or, if it is
	 * in `unsaid`, that of what was put, and the parent from which it came. */
	struct node_digest {
		uint8_t is[MSG_DIGEST_BYTES];
		uint32_t from;
	} *of;
	struct chunkmap said, unsaid;
	uint64_t asked_us; /* when the server was asked for what it has not said; 0: never */
};

/* node_children.c */
struct node_children {
	uint32_t leaves[NODE_LEAVES]; /* ids; 0: none */
	unsigned next_leaf;
	uint64_t forwarded; /* bytes of chunks */
};

/* node.c */
struct node {
	struct node_config cfg;
	struct spread *spread; /* NULL: the server has not sent WELCOME yet */
	uint64_t now_us; /* when the node has acted last */
	uint64_t act_us; /* when it does so again */
	bool ended;
	struct wishes wishes;
	struct err failure; /* kind ERR_NONE: the node has not failed */
	struct node_server server;
	struct node_parent parent;
	struct node_asking asking;
	struct node_arrival arrival;
	struct node_putting putting;
	struct node_digests digests;
	struct node_children children;
};

/* --- node.c --- */

/* The node has failed: it tells its server, and ends. */
void node_fail(struct node *, const struct err *);
/* The node ends: the server has let it go, or nobody tells it any more. */
void node_end(struct node *);
/* Wants this of the owner. */
void node_wish(struct node *, const struct wish *);
/* Ends a connection (NULL: none). */
void node_hang_up(struct node *, struct peer *);
/* The server has described the image: makes what depends on the number of its chunks. */
int node_prepare(struct node *, const struct node_image *, struct err *);

/* --- node_server.c --- */

/* ERR_NOMEM. */
int node_dial_server(struct node *, struct err *);
/* Handles a message of the server. */
int node_hear_server(struct node *, const struct msg *, struct err *);
/* The connection to the server has ended.  False: the node does not go on without it. */
bool node_server_closed(struct node *, struct peer *, const char *why);
/* This peer is gone; perhaps it was the server. */
void node_server_forget(struct node *, const struct peer *);
/* Dials a server that is away, when it is time to. */
void node_seek_server(struct node *);
/* Tells the server how far the node is, and what it has measured. */
void node_report(struct node *);
/* Tells the server something, if it is there. */
void node_tell_server(struct node *, const struct msg *);

/* --- node_parent.c --- */

/* Handles PARENT. */
int node_hear_parent(struct node *, const struct msg *, struct err *);
/* Dials the parent that the server has named, when it is time to. */
int node_dial_parent(struct node *, struct err *);
/* Hangs up, and forgets what the parent was asked for: it has to be asked for again. */
void node_leave_parent(struct node *);
/* No parent is to be dialled, until the server names one. */
void node_dial_nobody(struct node *);
/* The connection to the parent is bad: hangs up, and tells the server. */
void node_parent_lost(struct node *, const char *why);
/* This peer is gone; perhaps it was the parent. */
void node_parent_forget(struct node *, const struct peer *);
/* So many bytes of chunks have come; a chunk was complete; a chunk was damaged. */
void node_parent_sent(struct node *, uint32_t bytes);
void node_parent_is_good(struct node *);
void node_parent_damaged(struct node *, uint32_t from);
/* Tells the parent that this node does not read what it sends because its own children do not
 * take it, if it is so. */
void node_excuse_itself(struct node *);
/* Could the parent send something now? */
bool node_parent_could_send(const struct node *);
/* How long the node has waited for the parent: messages came; the time is `now_us`. */
void node_note_hunger(struct node *);
void node_measure(struct node *, uint64_t now_us);
/* What was measured of the connection to the parent. */
struct msg_link node_parent_link(const struct node *);

/* --- node_asking.c --- */

bool node_make_asking(struct node *, uint32_t chunks);
void node_free_asking(struct node *);
/* Notes that the parent (`arg` is the node) is to be asked for a chunk, unless the chunk is
 * in memory or was asked for. */
void node_ask_for(void *arg, uint32_t chunk);
/* Sends WANT for these chunks, in as few messages as possible. */
void node_say_want(struct peer *, const struct chunkmap *chunks);
/* Asks the parent for all chunks of `ask`. */
void node_flush_asks(struct node *);
/* The parent has sent this chunk. */
void node_has_come(struct node *, uint32_t chunk);
/* A chunk has come damaged, and is asked for a little later. */
void node_ask_later(struct node *, uint32_t chunk);
/* The later time has come. */
void node_ask_again(struct node *);
/* The parent is gone: what it was asked for has to be asked for again. */
void node_ask_anew(struct node *);

/* --- node_arrival.c --- */

bool node_make_arrival(struct node *, uint32_t slots);
/* Handles the fields of DATA. */
int node_hear_data(struct node *, const struct msg *, struct err *);
/* Where the next byte of the chunk that arrives belongs; NULL: the chunk is ignored. */
uint8_t *node_place(const struct node *);
/* More bytes of a piece have come, perhaps to their place. */
void node_hear_piece(struct node *, const void *bytes, uint32_t len);
/* What was arriving will not come. */
void node_forget_arrival(struct node *);

/* --- node_putting.c --- */

/* Opens the target for the image, which stays where it is.  ERR_NOMEM. */
int node_open_target(struct node *, const struct node_image *, struct err *);
void node_free_putting(struct node *);
/* Puts the chunks that the target can take now and that are in memory, and asks for the
 * others. */
void node_ask_own(struct node *);
/* A whole chunk has come into this slot. */
void node_chunk_is_here(struct node *, uint32_t slot, uint32_t chunk);
/* The server's digest of a chunk that was put is another one than that of what came from this
 * parent: the chunk has to come again. */
void node_take_back(struct node *, uint32_t chunk, uint32_t from);
/* Completes the target, if all is there and is what the server has. */
void node_check_whole(struct node *);

/* --- node_digests.c --- */

bool node_make_digests(struct node *, uint32_t chunks);
void node_free_digests(struct node *);
/* Handles DIGESTS. */
int node_hear_digests(struct node *, const struct msg *, struct err *);
/* Has the server said another digest of this chunk than this one (NULL: it has none)? */
bool node_digest_differs(const struct node *, uint32_t chunk, const uint8_t *digest);
/* A chunk with this digest was put, which came from this parent.  False: it is not what the
 * server has. */
bool node_note_digest(
    struct node *, uint32_t chunk, const uint8_t *digest, uint32_t from);
/* Chunks that were put, and of which the server has yet to say what they are. */
uint32_t node_unsaid(const struct node *);
/* Asks the server for the digests of these, if it is there. */
void node_ask_for_digests(struct node *);

/* --- node_children.c --- */

/* A connection has said who it is, and is a child's if it has the key. */
int node_hear_hello(struct node *, struct peer *, const struct msg *, struct err *);
/* Handles a message of a child. */
int node_hear_child(struct node *, struct peer *, const struct msg *, struct err *);
/* Handles DROP and LEAF. */
void node_drop_child(struct node *, uint32_t id);
void node_hear_leaf(struct node *, uint32_t id);
/* Hangs up all children. */
void node_leave_children(struct node *);
/* Asks for chunks that gave way while a child did not take them, as soon as it takes
 * more; and, when nobody else wants anything, for what a leaf wants. */
void node_ask_for_late(struct node *);

/* --- node_messages.c --- */

/* Without a free slot the parent's messages have to wait. */
bool node_must_wait(const struct node *, const struct peer *);
/* Handles the messages of a peer (NULL: none) that have come. */
void node_take_messages(struct node *, struct peer *);

#endif /* DOLLY_ENGINE_NODE_IMPL_H */
