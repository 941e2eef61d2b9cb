/* view.h: a copy-on-write view of a disk: programs can write to the view, and the disk itself
 * is not written.
 *
 * nbdkit reads the disk, keeps what is written in a temporary file of its own, and is asked
 * through a socket; nbdfuse shows a part of that as a file, for programs. */
#ifndef IMAGEZIP_SHRINK_VIEW_H
#define IMAGEZIP_SHRINK_VIEW_H

#include "common/base/err.h"
#include "common/disk/range.h"

struct view;

/* Begin a view of a file or block device, which is opened for reading alone.  ERR_ABSENT:
 * nbdkit is not installed; ERR_IO: it does not start, with what it says. */
int view_open(struct view **, const char *path, struct err *);
/* Show these bytes of the view as a file, whose name is *file until view_hide(); nothing may
 * be shown already.  ERR_ABSENT: nbdfuse is not installed; ERR_IO: it does not start. */
int view_show(struct view *, struct range bytes, const char **file, struct err *);
/* End the file, if one is shown; what was written to it is in the view. */
void view_hide(struct view *);
/* End the view; what was written to it is lost.  NULL is fine. */
void view_close(struct view *);

#endif /* IMAGEZIP_SHRINK_VIEW_H */
