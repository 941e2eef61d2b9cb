/* byname.h: frisbee -F and -Q: a master server says where an image is. */
#ifndef FRISBEE_BYNAME_H
#define FRISBEE_BYNAME_H

#include "frisbee/options.h"

/* Ask the master (-S) for the image (-F), again while it says so, and set the group, the
 * port and the server in the options.  ERR_ABSENT: it has no such image; ERR_REFUSED: it
 * does not give it away; errors of ask.h. */
int byname_find(struct opts *, struct err *);
/* Asks the master for an image (-Q), and prints the reply.  Errors as byname_find(). */
int byname_report(const struct opts *, struct err *);

#endif /* FRISBEE_BYNAME_H */
