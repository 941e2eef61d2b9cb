/* servers.h: the images of sessions are sent by mfrisbeed, which is asked for each, and let go of it:
 * the controller's part of what mfrisbeed holds. */
#ifndef CONTROLLER_SENDING_SERVERS_H
#define CONTROLLER_SENDING_SERVERS_H

#include "common/base/jtree.h"
#include "common/base/loop.h"
#include "controller/engine/swap.h"
#include "controller/state/swapdb.h"

struct servers;

struct servers_config {
	const char *master;        /* its socket; NULL: one is started that serves this controller alone */
	const char *state, *images; /* folders, for that one */
	const char *store;         /* of images, for that one, or NULL */
	const char *address;       /* of this host, that it sends from */
	const char *group;         /* the first one of that one's sessions */
	uint16_t port;             /* of that group; each next one has the next port */
	const char *rate;          /* bits a second, or NULL */
	const char *group_key;     /* a file, or NULL */
	bool debug, quiet, syslog; /* how that one logs */
	struct swapdb *db; /* of what the history is still to be told; NULL: nothing */
	struct swap_now (*now)(void *arg);
	/* The question of this number is answered (images_take()). */
	void (*images_said)(void *arg, uint64_t number, struct jtree *, const char *why);
	/* The session of which somebody waits for what the history has of its nodes; 0: none. */
	uint32_t (*members_wanted)(void *arg);
	/* What it has (mfrisbeed(8), LOCAL REQUESTS), which is taken over; NULL: `why` says why there is
	 * nothing, of this session or, if that is 0, of all. */
	void (*members_said)(void *arg, uint32_t session, struct jtree *, const char *why);
	void *arg;
};

/* The config is copied; what it points to must stay.  ERR_USAGE: a path or a value is none that
 * mfrisbeed understands; ERR_IO; ERR_NOMEM. */
int servers_open(struct servers **, struct loop *, struct swap *, const struct servers_config *,
    struct err *);
/* What is sent goes on; when nothing is, the mfrisbeed that was started ends.  NULL is allowed. */
void servers_close(struct servers *);
/* Ask mfrisbeed for what the engine wants.  To be called after the state was saved, and once a
 * second. */
void servers_settle(struct servers *);
/* Asks which images there are.  Returns the number of the question, which is answered soon, unless mfrisbeed
 * does not answer: then all are, by a sentence. */
uint64_t servers_ask_images(struct servers *);
/* All that mfrisbeed sends, as it has said last: the array `sessions` of its list.  NULL: it does not
 * answer. */
const struct jtree *servers_sent(const struct servers *);
/* Read the statistics of what is sent.  To be called once a second. */
void servers_look(struct servers *);

#endif /* CONTROLLER_SENDING_SERVERS_H */
