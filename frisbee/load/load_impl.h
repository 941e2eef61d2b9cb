/* load_impl.h: the parts of a load, which only they include.
 *
 * load.c its thread, and what others call; load_open.c what is opened before there is a
 * thread; loop.c what the thread does; asks.c what others ask of it meanwhile. */
#ifndef FRISBEE_LOAD_LOAD_IMPL_H
#define FRISBEE_LOAD_LOAD_IMPL_H

#include <pthread.h>

#include "common/base/cancel.h"
#include "frisbee/load/asks.h"
#include "frisbee/load/load.h"
#include "frisbee/load/loop.h"

struct load {
	struct load_config cfg; /* without the key; net is as the socket has it */
	struct cancel cancel;   /* of the thread, and of the feeder's and the sink's */
	struct sock *sock;
	struct auth *auth;
	struct mailbox *box; /* the loop's events */
	struct asks *asks;   /* puts events into `box` */
	struct feeder *feeder; /* puts events into `box`, too; NULL: the loop has closed it */
	bool writes_nothing;   /* its sink */
	struct client *client;
	struct mailbox *ended; /* holds one event from when the load has ended */
	pthread_t thread;
	/* How it ended.  The load's thread writes this, and others read it after they have
	 * joined the thread. */
	int rc;
	struct err err;
	struct load_stats result;
	pthread_mutex_t lock; /* of this: */
	struct load_stats noted;
};

/* Fills in what is 0, and opens all but the thread.  -1: load_close() is to be called. */
int load_open(struct load *, struct err *);
/* Closes what was opened; the thread, if there was one, has ended. */
void load_close(struct load *);

#endif /* FRISBEE_LOAD_LOAD_IMPL_H */
