/* session.h: one image at one place, served in a thread of its own.  serve.c has several
 * sessions, and protects them by a lock; the functions here take no lock. */
#ifndef FRISBEED_SERVE_SESSION_H
#define FRISBEED_SERVE_SESSION_H

#include "common/base/cancel.h"
#include "common/base/mailbox.h"
#include "common/net/allow.h"
#include "common/net/netopts.h"
#include "emustore/store/cache.h"
#include "frisbeed/serve/place.h"
#include "frisbeed/serve/unicast.h"

/* Rows of the table of clients. */
enum { SESSION_CLIENT_ROWS = 4096 };

enum session_event { SESSION_HAS_ENDED /* number n */ };
enum session_state { SESSION_FAILED, SESSION_OPEN, SESSION_SERVING, SESSION_ENDED };

/* What all sessions of one process have in common, besides the engine's configuration. */
struct session_config {
	struct net_options net; /* what holds where a place does not say otherwise */
	struct allow allow;     /* whose packets are heard */
	bool base;            /* the base protocol only, without the extension */
	const char *store;    /* images are names in this store; NULL: files */
	/* the folder with orders of reads, IMAGE.order; NULL: they are beside the image files */
	const char *orders;
	uint64_t store_cache; /* bytes of memory for the chunks of each image */
	uint64_t unicast_max; /* clients that each image is served to at once */
	/* a session ends when this number of clients have installed its image; 0: never */
	uint64_t until_clients;
};

struct session {
	const struct session_config *cfg;
	struct place *place; /* the session's own copy */
	uint32_t number;
	enum session_state state;
	char where[32];         /* "ADDR:PORT", empty when it was never open */
	struct err err;         /* FAILED: why */
	struct source image;
	struct unicast unicast; /* unicast.stream is the session's stream, also for a group */
	struct clients *clients;
	struct stream_lines lines;
	struct store_cache cache; /* with --store */
	char *order; /* the file with the order of reads, which may be absent; NULL: none */
	struct tally_box tally;
	struct sentmap sentmap;
	uint64_t started_us, ended_us;
	atomic_bool stop;
	struct cancel cancel; /* of the session's threads; set with `stop` */
	pthread_t thread;
	int rc;
	struct err thread_err;
	struct mailbox *ended; /* gets SESSION_HAS_ENDED with the session's number */
};

/* Makes a session, and opens its image and its socket.  image: taken over, also on failure;
 * NULL: the session opens the file, or the image in the store, that the place names.  When
 * image or socket cannot be opened, the session's state is SESSION_FAILED and its err says
 * why.  NULL: not even the session could be made, and *err says why.  The configuration stays
 * the caller's, and must exist until session_free(). */
struct session *session_new(const struct session_config *, const struct place *,
    struct source *image, uint32_t number, const struct server_config *, struct err *);
/* Opens the second port, if one is free.  To be called when the first ports of all sessions are
 * open. */
void session_open_second(struct session *);
/* Serves in a thread, which works for the session, a part of the caller's work (cancel.h).  SESSION_HAS_ENDED comes
 * through the mailbox when the thread ends.  budget: NULL: the session keeps its own pace. 
 * -1: the session has failed, and its err says why. */
int session_start(struct session *, struct budget *, struct mailbox *ended);
/* Makes the session's threads end soon, as after a signal, also those that try a read of a
 * failing disk again. */
void session_stop(struct session *);
/* Waits for the session's thread, and takes over how it ended. */
void session_join(struct session *);
/* Releases a session that has no thread any more.  NULL is allowed. */
void session_free(struct session *);
/* The seconds from its start until its end, or until now; 0: it was not started. */
double session_seconds(const struct session *);

#endif /* FRISBEED_SERVE_SESSION_H */
