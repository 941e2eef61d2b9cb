/* place.h: the files in which dsync remembers things, and their locks. */
#ifndef DSYNC_RUN_PLACE_H
#define DSYNC_RUN_PLACE_H

#include "common/base/err.h"

/* The path FOLDER/KIND/NAME, without a slash at the beginning of `name`; other slashes and blanks
 * in `name` become "-".  Nothing is created.  Returns a new string, which the caller frees; NULL:
 * ERR_NOMEM. */
char *place_file(const char *folder, const char *kind, const char *name, struct err *);
/* Create both folders of a path that place_file() has made.  ERR_IO, ERR_NOMEM. */
int place_make(const char *path, struct err *);
/* Lock PATH.lock, which is created.  A lock on the file itself would not survive that the file is
 * replaced.  *fd is for place_unlock(); -1 on failure.  ERR_REFUSED with the sentence "PATH: why":
 * another program has the lock.  ERR_IO, ERR_NOMEM. */
int place_lock(const char *path, const char *why, int *fd, struct err *);
/* End the lock; -1: there is none.  Its file is removed where there is no file at `path`. */
void place_unlock(const char *path, int fd);

#endif /* DSYNC_RUN_PLACE_H */
