/* swap_impl.h: what the files of the engine share. */
#ifndef CONTROLLER_ENGINE_SWAP_IMPL_H
#define CONTROLLER_ENGINE_SWAP_IMPL_H

#include "controller/engine/swap.h"

/* swap_index.c: make room for `nodes` nodes in the index of all nodes.  ERR_NOMEM: it stays as it was. */
int swap_index_room(struct swap *, size_t nodes, struct err *);
/* The table of nodes has been replaced, or names or MAC addresses in it: all are put in anew. */
void swap_index_fill(struct swap *);
/* A node was added behind all others. */
void swap_index_add(struct swap *, const struct swap_node *);
/* The node gets another IP address; zeros: it has none. */
void swap_index_address(struct swap *, struct swap_node *, const uint8_t ip[4]);
/* The first node behind `after` (NULL: of all), in no order, that has this name, MAC address, UUID
 * or serial number, or IP address; or NULL. */
struct swap_node *swap_index_find(const struct swap *, enum swap_key, const void *value,
    const struct swap_node *after);
void swap_index_free(struct swap *);

/* swap_who.c: another node of this table with the same MAC address, if that is what one of the two is
 * known by; or NULL. */
struct swap_node *swap_confused(const struct swap *, const struct swap_node *);
/* The node becomes the machine of the other one, which may be of another table: what it is known by. */
void swap_take_machine(struct swap_node *, const struct swap_node *other);
/* The node that has sent this report.  One whose UUID or serial number turns out to be that of two
 * machines is doubted.  NULL: ERR_ABSENT, or ERR_REFUSED if the machine obeys another node's order. */
struct swap_node *swap_who(struct swap *, struct swap_now, const struct swap_report *, struct err *);

/* swap_node.c: the node has changed.  swap_touch_node(): it is to be saved, and shown to readers;
 * swap_show_node(): it is only to be shown. */
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
/* One of its nodes has left a phase for another one. */
void swap_count(struct swap *, struct swap_session *, enum swap_phase from, enum swap_phase to);
/* Median and worst of the times that its nodes took, if any has changed its phase since. */
void swap_measure_all(const struct swap *, struct swap_session *);
/* A node that is captured has said how far it is: that is the course of its session. */
void swap_captured(struct swap *, struct swap_now, struct swap_session *, const struct swap_view *);
/* Ends the session when nobody in it has anything left to do. */
void swap_settle(struct swap *, struct swap_now, struct swap_session *);
/* All nodes that still have something to do end like this. */
void swap_end_all(struct swap *, struct swap_now, struct swap_session *, enum swap_phase,
    const char *why);
/* Frees a session. */
void swap_session_free(struct swap_session *);
/* Adds an empty session with this number, in its place.  NULL: no memory. */
struct swap_session *swap_session_add(struct swap *, uint32_t id);

#endif /* CONTROLLER_ENGINE_SWAP_IMPL_H */
