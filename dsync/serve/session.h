/* session.h: one request to `dsync serve`, from somebody who has the key. */
#ifndef DSYNC_SERVE_SESSION_H
#define DSYNC_SERVE_SESSION_H

#include "dsync/serve/serve.h"
#include "dsync/talk/talk.h"

/* Hear the request, let dmmerge do the work, send the result, and log it.  from: the address of the
 * client, for the log.  The connection is borrowed. */
void session(const struct serve_config *, struct talk *, const char *from);

#endif /* DSYNC_SERVE_SESSION_H */
