/* load_impl.h: what load.c, load_open.c and loop.c share; no other file includes it.
 *
 * load.c has the load's thread and the public functions; load_open.c opens what the load needs
 * before there is a thread.  loop.c does the work of the thread: sockets and time around the
 * client's engine.  asks.c keeps what other threads ask of it. */
#ifndef FRISBEE_LOAD_LOAD_IMPL_H
#define FRISBEE_LOAD_LOAD_IMPL_H

#include <pthread.h>

#include "common/base/cancel.h"
#include "frisbee/load/asks.h"
#include "frisbee/load/load.h"

struct load {
	struct load_config cfg; /* without the key; `net` is what the socket was opened with */
	struct cancel cancel;   /* owner of the threads of load, feeder and sink */
	struct sock *sock;
	struct auth *auth;
	struct mailbox *box; /* events for the loop */
	struct asks *asks;   /* puts events into `box` */
	struct feeder *feeder; /* puts events into `box`, too; NULL: the loop has closed it */
	struct client *client;
	struct mailbox *ended; /* holds one event from when the load has ended */
	pthread_t thread;
	/* How it ended.  The load's thread writes this, and others read it after they have
	 * joined the thread. */
	int rc;
	struct err err;
	struct load_stats result;
	pthread_mutex_t lock; /* of `noted` */
	struct load_stats noted; /* what load_stats() gives */
};

/* Replaces zeros of the configuration by defaults, and opens everything that the thread needs.
 * -1: the caller calls load_close(). */
int load_open(struct load *, struct err *);
/* Closes what was opened; the thread, if there was one, has ended. */
void load_close(struct load *);
/* Loads the image into the feeder's sink, and leaves the session, in the load's thread.  The
 * feeder is closed, and the statistics are filled in.  0: the whole image is installed; -1: the
 * error says why not. */
int loop_run(struct load *, struct load_stats *, struct err *);
/* Keeps the statistics that load_stats() gives from now on. */
void load_note(struct load *, const struct load_stats *);

#endif /* FRISBEE_LOAD_LOAD_IMPL_H */
