/* link.h: the connection to mfrisbeed, which serves the images of sessions: requests and answers on
 * its socket for programs of this host (mfrisbeed(8), section LOCAL REQUESTS).
 *
 * A connection that breaks is made anew, after pauses that grow to some seconds.  One request is asked
 * at a time; the list of all sessions comes whenever it changes. */
#ifndef CONTROLLER_SENDING_LINK_H
#define CONTROLLER_SENDING_LINK_H

#include <stdbool.h>

#include "common/base/jtree.h"
#include "common/base/loop.h"

struct link;

struct link_config {
	const char *socket;
	/* The command line of the mfrisbeed that is started when nobody listens there; NULL: none. */
	const char *const *start;
	/* The list of mfrisbeed's sessions, in a document that is taken over. */
	void (*listed)(void *arg, struct jtree *);
	/* A request is answered, by a document that is taken over; NULL: `why` says why it was refused. */
	void (*answered)(void *arg, struct jtree *, const char *why);
	/* It does not answer, or is of another version. */
	void (*lost)(void *arg, const char *why);
	/* The one of `start` cannot be started, or has ended before it answered; for_good: so will the next
	 * one, because its command line, its configuration or its state is wrong. */
	void (*unable)(void *arg, const char *why, bool for_good);
	void *arg;
};

/* The config is copied; what it points to must stay.  ERR_USAGE: the path is too long for a socket;
 * ERR_NOMEM. */
int link_open(struct link **, struct loop *, const struct link_config *, struct err *);
/* end_it: the mfrisbeed that was started here, or by an earlier controller, ends; otherwise it goes
 * on, and the next controller finds it.  NULL is allowed. */
void link_close(struct link *, bool end_it);
/* Somebody waits for mfrisbeed: what would be tried later is tried at once. */
void link_hurry(struct link *);
/* Has the list come, and is the last request answered, and shown in the list? */
bool link_is_idle(const struct link *);
/* Asks for something, when link_is_idle(); the words are a line without its newline.  changes: the list is
 * another one when it is answered with yes. */
void link_ask(struct link *, const char *words, bool changes);

#endif /* CONTROLLER_SENDING_LINK_H */
