/* byname.h: frisbee -F and -Q: a master server says where an image is. */
#ifndef FRISBEE_BYNAME_H
#define FRISBEE_BYNAME_H

#include "frisbee/options.h"

/* Asks the master server (-S) for the image (-F), repeatedly while the reply is to try
 * again, and sets the group, the port and the server in the options.  ERR_ABSENT: the
 * master has no such image; ERR_REFUSED: it refuses the image; errors of ask.h. */
int byname_find(struct opts *, struct err *);
/* Asks the master for an image (-Q), and prints the reply.  Errors as byname_find(). */
int byname_report(const struct opts *, struct err *);

#endif /* FRISBEE_BYNAME_H */
