/* rights.h: what a server gives up before it hears strangers, so that whoever takes it over
 * can do little.
 *
 * A server does all of it in its first thread, before it starts others; each step is for
 * good, and for all threads that are started later. */
#ifndef COMMON_BASE_RIGHTS_H
#define COMMON_BASE_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

enum { RIGHTS_PATHS_MAX = 16 };

/* The files and folders that may be written.  Begins as all zeros. */
struct rights {
	const char *paths[RIGHTS_PATHS_MAX]; /* borrowed */
	size_t n;
};

/* Allow a folder, in which files and folders may then be made, written and removed; or a
 * file, which may then be written.  The path is borrowed.  What does not exist when
 * rights_give_up() is called is left out; so are NULL, and paths beyond RIGHTS_PATHS_MAX. */
void rights_may_write(struct rights *, const char *path);
/* Allow a file that is replaced as a whole, by allowing its folder, whose path is written
 * to folder[cap] and borrowed from there.  When `file` exists and is no regular file, the
 * path itself is allowed.  ERR_USAGE: the path is too long. */
int rights_may_replace(struct rights *, const char *file, char folder[], size_t cap,
    struct err *);

/* Become this user, with its groups.  Does nothing when the process runs as this user
 * already.  ERR_ABSENT: there is no such user; ERR_IO: this process may not. */
int rights_become(const char *user, struct err *);
/* Make a folder, unless it exists, that this user is to own; NULL: this process's user.
 * ERR_ABSENT: there is no such user; ERR_IO. */
int rights_give_folder(const char *user, const char *folder, struct err *);

/* From now on this process can run no other program, start, trace or kill no other process,
 * write nothing but what the rights allow (Landlock), and make only those system calls that
 * a server needs (seccomp): others fail with EPERM.  *without becomes NULL, or a static
 * sentence for the log that says which of this the system cannot do.  ERR_IO: the system
 * can do it, but it has failed. */
int rights_give_up(const struct rights *, const char **without, struct err *);

#endif /* COMMON_BASE_RIGHTS_H */
