/* call.h: a request to `dsync serve`, in place of a program that runs dmmerge: there are
 * pipes to what dmmerge reads there and from what it prints, as a child has them
 * (child.h). */
#ifndef DSYNC_TALK_CALL_H
#define DSYNC_TALK_CALL_H

#include <pthread.h>

#include "common/base/err.h"
#include "dsync/talk/request.h"

struct call {
	/* Borrowed until the end of the call. */
	const char *host; /* a name or an address of IPv4 or IPv6 */
	const char *port; /* a number */
	const char *keyfile;
	struct request request;
	/* The descriptors to write to and to read from; -1: there is none.  They stay the
	 * call's. */
	int to, from;
	/* The thread's until it ends: its ends of the pipes, and what came of the
	 * call. */
	pthread_t thread;
	int in, out;
	int rc;
	struct err why;
};

/* Begin a call, with the pipes of enum child_pipes (child.h), in a thread of its own; *c
 * must stay as it is until call_end().  ERR_IO; ERR_NOMEM. */
int call_start(struct call *c, unsigned pipes, struct err *);
/* Close the pipes, by which the thread notices that it is to end, and wait for its end.
 * Returns what came of the call: ERR_IO, with the sentence of the server, of dmmerge
 * there, or about the connection; ERR_REFUSED: the keys differ; ERR_ABSENT: the host has
 * no address; errors of tls_new(). */
int call_end(struct call *c, struct err *);

#endif /* DSYNC_TALK_CALL_H */
