/* daemon.h: all sessions of one process, from their opening to the last report. */
#ifndef FRISBEED_DAEMON_H
#define FRISBEED_DAEMON_H

#include "frisbeed/options.h"

/* Serve the images until each session has ended or a signal arrives.  Returns -1 if
 * a session failed; the others were served anyway. */
int daemon_run(const struct opts *, char **images, unsigned n, struct err *);

/* The exit status of the program for an error of daemon_run(). */
int daemon_exit_status(const struct err *);

#endif /* FRISBEED_DAEMON_H */
