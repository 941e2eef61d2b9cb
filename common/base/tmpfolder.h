/* tmpfolder.h: a new, empty folder for temporary files. */
#ifndef COMMON_BASE_TMPFOLDER_H
#define COMMON_BASE_TMPFOLDER_H

#include "common/base/err.h"

enum { TMPFOLDER_CAP = 80 }; /* a socket in it needs a name of fewer than 108 bytes */

/* Make a folder that only this user can look into, in the folder that TMPDIR names, and put
 * its path into `path`.  It is made in /tmp where TMPDIR is not set, no absolute path, or so
 * long that the folder's path would not fit.  `name`: what the folder's name begins with, of
 * at most 30 bytes.  The caller removes the folder.  ERR_IO: it cannot be made. */
int tmpfolder_make(char path[TMPFOLDER_CAP], const char *name, struct err *);

#endif /* COMMON_BASE_TMPFOLDER_H */
