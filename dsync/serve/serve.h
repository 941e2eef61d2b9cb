/* serve.h: `dsync serve`: lets those who have its key keep copies on this host, by TLS 1.3 instead
 * of ssh.  dmmerge does the work, as a program of its own for each request.
 *
 * Whoever does not have the key gets no byte, and holds a place among a limited number of
 * strangers for a limited time. */
#ifndef DSYNC_SERVE_SERVE_H
#define DSYNC_SERVE_SERVE_H

#include "common/base/err.h"

struct serve_config {
	/* All strings are borrowed. */
	const char *listen;  /* "[ADDRESS:]PORT"; an address of IPv6 is in brackets; port 0: any */
	const char *keyfile; /* a key of imagekey --group-key */
	const char *dmmerge; /* the program */
	const char *folder;  /* its --state-dir */
	char *const *targets; /* absolute paths of the devices and files that may be written */
	int ntargets;
};

/* Serve until a signal comes, and log what happens (log.h is open).  ERR_USAGE: an address or a
 * target is not one; ERR_IO: the port cannot be had; errors of tls_new(). */
int serve(const struct serve_config *, struct err *);

#endif /* DSYNC_SERVE_SERVE_H */
