/* notes.h: what the lists beside the states (noted.h) mean for an extract: which bytes it has to send
 * though they have not changed, and which were never sent. */
#ifndef DSYNC_EXTRACT_NOTES_H
#define DSYNC_EXTRACT_NOTES_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "dsync/extract/extract.h"
#include "dsync/extract/states.h"

/* Add to *changed, which is sealed, the ranges in which the copy was found to differ.  If that list
 * cannot be read, everything has to be sent, and r->warning says so.  ERR_NOMEM. */
int notes_add_differing(
    const struct states *, struct rangeset *changed, struct extract_report *r, struct err *);
/* Remember what was never sent: after a full copy, what it leaves out (`unused`); otherwise the part
 * of the list before that is not in `changed`.  Both are in bytes, sealed.  ERR_IO, ERR_FORMAT,
 * ERR_NOMEM. */
int notes_remember_unsent(struct states *, const struct rangeset *changed,
    const struct rangeset *unused, struct err *);

#endif /* DSYNC_EXTRACT_NOTES_H */
