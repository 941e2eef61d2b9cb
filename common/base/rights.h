/* rights.h: what a server gives up before it hears strangers, so that whoever takes it over can do little.
 *
 * A server does all of it in its first thread, before it starts others; each step is for good, and for all
 * threads that are started later. */
#ifndef COMMON_BASE_RIGHTS_H
#define COMMON_BASE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

enum { RIGHTS_PATHS_MAX = 16 };

/* What may be written. */
struct rights {
	const char *paths[RIGHTS_PATHS_MAX]; /* borrowed */
	size_t n;
};

/* A folder, in which files and folders may be made, written and removed; or a file, which may be written.  What
 * is not there when rights_give_up() is called is left out; so are NULL, and more than RIGHTS_PATHS_MAX. */
void rights_may_write(struct rights *, const char *path);
/* The folder of this file, which is replaced as a whole. */
int rights_may_replace(struct rights *, const char *file, char folder[], size_t cap,
    struct err *);

/* Become this user, with its groups.  Does nothing when it is this user already.  ERR_USAGE: there is none;
 * ERR_IO: this process may not. */
int rights_become(const char *user, struct err *);
/* Make a folder, if it is missing, that this user is to own; NULL: it is this process's.  ERR_USAGE, ERR_IO. */
int rights_give_folder(const char *user, const char *folder, struct err *);

/* From now on no other program can be run, no other process started, traced or killed, nothing written but what
 * the rights say (Landlock), and only those system calls made that a server needs (seccomp): others fail
 * with EPERM.  *without becomes NULL, or what the system cannot do of this: a sentence for the log.  ERR_IO:
 * it could, but has failed. */
int rights_give_up(const struct rights *, const char **without, struct err *);

#endif /* COMMON_BASE_RIGHTS_H */
