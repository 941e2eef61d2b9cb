/* call.h: a request to `dsync serve`, in place of a program that runs dmmerge: it is a struct
 * command, with pipes to what dmmerge reads there and from what it prints. */
#ifndef DSYNC_TALK_CALL_H
#define DSYNC_TALK_CALL_H

#include "common/base/err.h"
#include "dsync/run/command.h"
#include "dsync/talk/request.h"

struct call {
	/* Borrowed until the end of the command. */
	const char *host; /* a name or an address of IPv4 or IPv6 */
	const char *port; /* a number */
	const char *keyfile;
	struct request request;
};

/* Begin a call; *c must stay as it is until command_end(), which returns what came of it: ERR_IO,
 * with the sentence of the server, of dmmerge there, or about the connection; ERR_REFUSED: the
 * keys differ; ERR_ABSENT: the host has no address; errors of tls_new().  Errors of
 * command_start_function(). */
int call_start(struct command **, struct call *c, unsigned pipes, struct err *);

#endif /* DSYNC_TALK_CALL_H */
