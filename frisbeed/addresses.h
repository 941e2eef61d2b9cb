/* addresses.h: a file that says where images are served (-A). */
#ifndef FRISBEED_ADDRESSES_H
#define FRISBEED_ADDRESSES_H

#include "frisbeed/session_view.h"

/* Writes the file.  For a single session it has "ADDR:PORT\n" and a NUL, as the original writes
 * it; for several, a line "ADDR:PORT IMAGE" for each.  Sessions that have failed are left out.
 * path NULL: nothing is done.  ERR_IO; ERR_NOMEM. */
int addresses_write(const struct session_views *, const char *path, struct err *);

#endif /* FRISBEED_ADDRESSES_H */
