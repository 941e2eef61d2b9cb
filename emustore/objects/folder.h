/* folder.h: objects that are files of a folder, called like their keys; and what only a
 * folder has: a lock for the one who writes, and a reserve of room.
 *
 *	DIR/lock	held, by flock(2), by the one who writes
 *	DIR/new/	files that have no name of their own yet
 *	DIR/reserve	room that gc gives up when the disk is full
 *
 * A file is written below new/ and synced, and then gets its name, which nobody else has.
 */
#ifndef EMUSTORE_OBJECTS_FOLDER_H
#define EMUSTORE_OBJECTS_FOLDER_H

#include "emustore/objects/objects.h"

/* A folder that is there.  ERR_IO with errno. */
int folder_open(struct objects **, const char *dir, struct err *);
/* A new one, or one that is there and empty: *made says which. */
int folder_make(const char *dir, bool *made, struct err *);
/* The folders and the lock that each store has; and removing a store that has just
 * been made. */
int folder_make_parts(struct objects *, struct err *);
void folder_undo(struct objects *);
/* To be the only one who writes, until folder_unlock().  ERR_REFUSED: another one
 * is, and `wait` is not set; or the folder is on a network filesystem on which locks are
 * not seen by other machines. */
int folder_lock(struct objects *, bool wait, struct err *);
void folder_unlock(struct objects *);
/* For whoever holds the lock: an object of that key in place of what is there, if anything
 * is. */
int folder_replace(
    struct objects *, const char *key, const void *data, size_t bytes, struct err *);
/* Set aside this much room if there is that much; otherwise do nothing. */
void folder_reserve(struct objects *, uint64_t bytes);
/* Give it up.  false: there was none. */
bool folder_use_reserve(struct objects *);
/* Is path, which need not be there, in it? */
bool folder_holds(const struct objects *, const char *path);
/* May this process make files in it, and does SQLite's log work there: is it no network
 * filesystem? */
bool folder_may_cache(const struct objects *);
/* Is dir on a filesystem of another machine, which has no memory in common with others? */
bool folder_is_remote(const char *dir);

#endif /* EMUSTORE_OBJECTS_FOLDER_H */
