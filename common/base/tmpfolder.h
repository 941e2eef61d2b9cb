/* tmpfolder.h: a new, empty folder for temporary files, and files without a name. */
#ifndef COMMON_BASE_TMPFOLDER_H
#define COMMON_BASE_TMPFOLDER_H

#include "common/base/err.h"

enum { TMPFOLDER_CAP = 80 }; /* a socket in it needs a name of fewer than 108 bytes */

/* Make a folder that only this user can look into, in the folder that TMPDIR names, and put
 * its path into `path`.  It is made in /tmp where TMPDIR is not set, no absolute path, or so
 * long that the folder's path would not fit.  `name`: what the folder's name begins with, of
 * at most 30 bytes.  The caller removes the folder.  ERR_IO: it cannot be made. */
int tmpfolder_make(char path[TMPFOLDER_CAP], const char *name, struct err *);

/* Open a file without a name in a folder; flags as of open(2), O_RDWR or O_WRONLY among them.
 * Returns its descriptor, or -1 with errno.  A filesystem without such files (O_TMPFILE) gets one
 * whose name is removed at once. */
int tmpfolder_open_file(const char *folder, int flags);

#endif /* COMMON_BASE_TMPFOLDER_H */
