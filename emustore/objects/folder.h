/* folder.h: objects that are files of a folder, called like their keys; and what only a
 * folder has: a lock for the one who writes, and a reserve of room.
 *
 *	DIR/lock	held, by flock(2), by the one who writes; it has the mark
 *	DIR/new/	files that have no name of their own yet
 *	DIR/reserve	room that gc gives up when the disk is full
 *
 * A file is written below new/ and synced, and then gets its name, which no file may have
 * yet.
 */
#ifndef EMUSTORE_OBJECTS_FOLDER_H
#define EMUSTORE_OBJECTS_FOLDER_H

#include "emustore/objects/objects.h"

enum { FOLDER_MARK_BYTES = 35 };

/* Open an existing folder.  ERR_IO with errno; ERR_USAGE: its path is too long; ERR_NOMEM. */
int folder_open(struct objects **, const char *dir, struct err *);
/* Make a folder, or take an empty one; *made: it was made.  ERR_REFUSED: it is not empty. */
int folder_make(const char *dir, bool *made, struct err *);
/* Make the folders and the lock that each store has.  -1: one of them is there, or cannot be
 * made; those that this call has made are removed again. */
int folder_make_parts(struct objects *, struct err *);
/* Remove a store that has just been made. */
void folder_undo(struct objects *);
/* Lock the folder, so that no other program writes to it until folder_unlock().
 * ERR_REFUSED: another program has the lock, and `wait` is not set; or the folder is on a
 * network filesystem on which locks are not seen by other machines. */
int folder_lock(struct objects *, bool wait, struct err *);
void folder_unlock(struct objects *);
/* The mark of a folder is FOLDER_MARK_BYTES - 1 characters that whoever has the lock writes
 * into the file of the lock.  folder_read_mark() reads it, and needs no lock; it is empty
 * where nothing, or something else, was written.  folder_write_mark() replaces it; sync:
 * it is on the disk when this returns. */
void folder_read_mark(struct objects *, char mark[FOLDER_MARK_BYTES]);
int folder_write_mark(
    struct objects *, const char mark[FOLDER_MARK_BYTES], bool sync, struct err *);
/* Put an object in place of the one with this key, if there is one.  The caller holds the
 * lock. */
int folder_replace(
    struct objects *, const char *key, const void *data, size_t bytes, struct err *);
/* When the folder `name` in it was changed last, in nanoseconds since 1970; 0: there is no
 * such folder. */
uint64_t folder_changed_ns(const struct objects *, const char *name);
/* Reserve `bytes` of room; nothing is done if there is a reserve.  -1: there is none, and
 * *e says why: there is not enough room (ENOSPC, EDQUOT), or the filesystem keeps no room
 * for a file before it is written, nor for zeros. */
int folder_reserve(struct objects *, uint64_t bytes, struct err *);
/* Give up the reserve.  Returns false if there was none. */
bool folder_use_reserve(struct objects *);
/* Whether `path`, which need not exist, lies in the folder `dir`. */
bool folder_holds(const char *dir, const char *path);
/* May this process make files in the folder, and is the folder not on a network
 * filesystem, where each look into the index would be a request? */
bool folder_may_cache(const struct objects *);

#endif /* EMUSTORE_OBJECTS_FOLDER_H */
