/* swapdb.h: the state of the controller in a folder: a SQLite database that survives a kill at any
 * point, and a lock, so that no two controllers use it.
 *
 * All functions are called in one thread. */
#ifndef CONTROLLER_STATE_SWAPDB_H
#define CONTROLLER_STATE_SWAPDB_H

#include "controller/engine/swap.h"

struct swapdb;

/* Open the state in this folder, which is made if it is not there (for its user alone), and lock
 * it.  salt: that of this state, made at random when it is new.  The caller closes it.
 * ERR_REFUSED: another controller uses it; ERR_FORMAT: it is damaged, or of another version;
 * ERR_IO, ERR_NOMEM. */
int swapdb_open(struct swapdb **, const char *folder, char salt[SWAP_SALT_BYTES], struct err *);
/* NULL is allowed. */
void swapdb_close(struct swapdb *);
/* Give the engine, whose table of nodes is complete, all that was saved.  ERR_FORMAT, ERR_IO,
 * ERR_NOMEM. */
int swapdb_load(struct swapdb *, struct swap *, struct swap_now, struct err *);
/* Save all that has changed in one transaction, which is on the disk when this returns.
 * ERR_IO: nothing of it is saved, and all of it counts as changed still. */
int swapdb_save(struct swapdb *, struct swap *, struct err *);

/* Call each() for sessions that have ended, newest first, with numbers below `before` (0: all),
 * at most `most`.  The session is each()'s until it returns.  -1: an error of each(), or of the
 * database. */
int swapdb_history(struct swapdb *, uint32_t before, unsigned most,
    int (*each)(void *arg, const struct swap_session *, struct err *), void *arg, struct err *);
/* Call each() for one session of the history.  ERR_ABSENT: there is none of this number. */
int swapdb_session(struct swapdb *, uint32_t id,
    int (*each)(void *arg, const struct swap_session *, struct err *), void *arg, struct err *);
/* Call each() for the nodes of the session, as they were at last.  Of one that was noted only those are
 * here that have been in no other session since. */
int swapdb_members(struct swapdb *, uint32_t session,
    int (*each)(void *arg, const struct swap_node *, struct err *), void *arg, struct err *);
/* Find the first session behind the one of this number that has ended and is not noted; *id is 0: there is
 * none. */
int swapdb_unnoted(struct swapdb *, uint32_t behind, uint32_t *id, struct err *);
/* Call each() for its first node behind this name, if there is one. */
int swapdb_member_behind(struct swapdb *, uint32_t session, const char *name,
    int (*each)(void *arg, const struct swap_node *, struct err *), void *arg, struct err *);
/* mfrisbeed's history has its nodes: their rows go, but for the last one of each node.  ERR_IO. */
int swapdb_noted(struct swapdb *, uint32_t session, struct err *);
/* Has mfrisbeed's history nodes of this session whose rows are gone? */
bool swapdb_lacks_members(struct swapdb *, uint32_t session);
/* The number of the session that this request has started; 0: none. */
uint32_t swapdb_request(struct swapdb *, const char *request);

#endif /* CONTROLLER_STATE_SWAPDB_H */
