/* addresses.h: a file that says where images are served (-A). */
#ifndef FRISBEED_ADDRESSES_H
#define FRISBEED_ADDRESSES_H

#include "frisbeed/shown.h"

/* Of one session "ADDR:PORT\n" and a NUL, as the original writes it; of several, a line each
 * with the image.  Those that have failed are left out.  path NULL: nothing is to be done. */
int addresses_write(const struct shown_all *, const char *path, struct err *);

#endif /* FRISBEED_ADDRESSES_H */
