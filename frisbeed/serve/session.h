/* session.h: one image at one place, in a thread of its own.  serve.h has several of them, and
 * a lock around the functions here, which know of none. */
#ifndef FRISBEED_SERVE_SESSION_H
#define FRISBEED_SERVE_SESSION_H

#include "common/base/mailbox.h"
#include "common/net/allow.h"
#include "common/net/netopts.h"
#include "emustore/store/cache.h"
#include "frisbeed/serve/place.h"
#include "frisbeed/serve/unicast.h"

enum { SESSION_CLIENT_ROWS = 4096 };

enum session_event { SESSION_HAS_ENDED /* number n */ };
enum session_state { SESSION_FAILED, SESSION_OPEN, SESSION_SERVING, SESSION_ENDED };

/* What all sessions of one process have in common, besides the engine's configuration. */
struct session_config {
	struct net_options net; /* where no place says otherwise */
	struct allow allow;
	bool base;            /* without the extension */
	const char *store;    /* the images are names in it; NULL: files */
	uint64_t store_cache; /* bytes of each image */
	uint64_t unicast_max; /* clients at once, of each image */
	/* end when this number of clients have installed it; 0: never */
	uint64_t until_clients;
};

struct session {
	const struct session_config *cfg;
	struct place *place; /* its own */
	uint32_t number;
	enum session_state state;
	char where[32];         /* "ADDR:PORT", empty when it was never open */
	struct err err;         /* FAILED: why */
	struct source image;
	struct unicast unicast; /* its .stream is the session's */
	struct clients *clients;
	struct store_cache cache; /* with --store */
	struct tally_box tally;
	uint64_t started_us, ended_us;
	atomic_bool stop;
	pthread_t thread;
	int rc;
	struct err thread_err;
	struct mailbox *ended; /* told its number */
};

/* With its image (NULL: the file, or store's image, that the place names; else it is taken over,
 * also on failure) and its socket open.  When they cannot be opened, its state is
 * SESSION_FAILED and its err says why; NULL: not even this could be made, with *err.  The
 * configuration stays the caller's until session_free(). */
struct session *session_new(const struct session_config *, const struct place *,
    struct source *image, uint32_t number, const struct server_config *, struct err *);
/* Open the second port, if one is free; called when the first ports of all sessions are
 * open. */
void session_open_second(struct session *);
/* In a thread, which works for the caller's owner (cancel.h); SESSION_HAS_ENDED comes through
 * the mailbox when it is over.  -1: the session has failed, its err says why. */
int session_start(struct session *, struct budget *, struct mailbox *ended);
/* Makes the session's thread end soon, as after a signal. */
void session_stop(struct session *);
/* Waits for the session's thread, and takes over how it ended. */
void session_join(struct session *);
/* Releases a session that has no thread any more.  NULL is allowed. */
void session_free(struct session *);
/* The seconds from its start until its end, or until now; 0: it was not started. */
double session_seconds(const struct session *);

#endif /* FRISBEED_SERVE_SESSION_H */
