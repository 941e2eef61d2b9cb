/* swap_impl.h: what the files of the engine share. */
#ifndef CONTROLLER_ENGINE_SWAP_IMPL_H
#define CONTROLLER_ENGINE_SWAP_IMPL_H

#include "controller/engine/swap.h"

/* swap.c: the node with this MAC address, or NULL. */
struct swap_node *swap_node_of_mac(const struct swap *, const uint8_t mac[6]);

/* swap_node.c: the node or the session has changed: it is to be saved, and shown.  live: only
 * shown. */
void swap_touch_node(struct swap *, struct swap_node *);
void swap_show_node(struct swap *, struct swap_node *);
/* The node begins a phase.  words: its last words from now on; NULL: they stay. */
void swap_enter(struct swap *, struct swap_now, struct swap_node *, enum swap_phase,
    const char *words);
/* The node becomes a member of the session, and has its first try. */
void swap_join(struct swap *, struct swap_now, struct swap_node *, struct swap_session *);
/* The node has failed, for this reason: it is tried again, or that was its last try. */
void swap_fail_node(struct swap *, struct swap_now, struct swap_node *, const char *why);
/* The node has waited too long. */
void swap_tick_node(struct swap *, struct swap_now, struct swap_node *);

/* swap_session.c: the session of this node has to be looked at again. */
void swap_touch_session(struct swap *, struct swap_session *);
void swap_say(struct swap *, struct swap_session *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts the phases of the session's nodes, and ends it when nobody has anything left to do. */
void swap_settle(struct swap *, struct swap_now, struct swap_session *);
/* All nodes that still have something to do end like this. */
void swap_end_all(struct swap *, struct swap_now, struct swap_session *, enum swap_phase,
    const char *why);
/* Frees a session. */
void swap_session_free(struct swap_session *);
/* Adds an empty session with this number, in its place.  NULL: no memory. */
struct swap_session *swap_session_add(struct swap *, uint32_t id);

#endif /* CONTROLLER_ENGINE_SWAP_IMPL_H */
