/* servers.h: the frisbeed processes of sessions: started, found again, watched and ended. */
#ifndef CONTROLLER_SENDING_SERVERS_H
#define CONTROLLER_SENDING_SERVERS_H

#include "controller/engine/swap.h"
#include "common/base/loop.h"
#include "controller/nodes/orders.h"

struct servers;

struct servers_config {
	const char *frisbeed;      /* the program */
	const char *images, *state; /* folders */
	const char *address;       /* of this host, that it sends from */
	const char *rate;          /* -W, or NULL */
	const char *group_key;     /* a file, or NULL */
	const struct orders_config *orders; /* has groups and ports */
	/* Save the engine now.  A process begins to work only after its number was saved. */
	int (*save)(void *arg, struct err *);
	void *arg;
};

/* The config is copied; what it points to must stay.  ERR_NOMEM. */
int servers_open(struct servers **, struct loop *, struct swap *, const struct servers_config *,
    struct err *);
/* Processes that run go on.  NULL is allowed. */
void servers_close(struct servers *);
/* Start and end processes as the engine wants it.  To be called after the state was saved, and
 * once a second.  now: of this call. */
void servers_settle(struct servers *, struct swap_now);
/* Read what the processes say of themselves.  To be called once a second. */
void servers_look(struct servers *, struct swap_now);

#endif /* CONTROLLER_SENDING_SERVERS_H */
