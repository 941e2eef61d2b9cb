/* noted.h: lists of ranges of a device, which are noted beside the file of its states.  They have the
 * form of a file of ranges (change/lines.h). */
#ifndef DSYNC_EXTRACT_NOTED_H
#define DSYNC_EXTRACT_NOTED_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"

/* Which list it is. */
enum noted {
	NOTED_UNSENT,  /* never sent, because no filesystem used it; zeros in the copy */
	NOTED_DIFFERS, /* a comparison has found that the copy differs, and nothing was sent since */
};

/* Read a list; the set, in bytes, is added to and sealed.  No file: no ranges.  ERR_IO, ERR_FORMAT,
 * ERR_NOMEM. */
int noted_read(const char *state_path, enum noted, uint64_t device_bytes, struct rangeset *,
    struct err *);
/* Replace a list; an empty set, which is in bytes and sealed, removes it.  The ranges must begin and
 * end at multiples of 512 bytes, or at the end of the device.  ERR_IO, ERR_NOMEM. */
int noted_write(const char *state_path, enum noted, const struct rangeset *, struct err *);

#endif /* DSYNC_EXTRACT_NOTED_H */
