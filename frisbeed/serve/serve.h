/* serve.h: several sessions in one process, each an image at its place, which come and go
 * while others run.
 *
 *	serve_add()		opens and starts a session, which gets a number
 *	serve_stats()		tells what a session does, serve_clients() what its clients do
 *	serve_fd()		gives a descriptor, readable when a session has ended by itself
 *	serve_take_ended()	says which session has ended by itself
 *	serve_remove()		ends a session
 *
 * A caller that begins with several sessions calls serve_open() and then serve_start() in
 * place of serve_add(). A session that has ended or failed keeps its number, and its last
 * statistics, until it is removed.  Numbers begin at 1, and none is given twice.
 *
 * Any thread may call any of these functions at any time; serve_free() is the last call.
 * Sessions work for the owner of the thread that starts them (cancel.h): a signal to that
 * owner ends them as serve_remove() does. */
#ifndef FRISBEED_SERVE_SERVE_H
#define FRISBEED_SERVE_SERVE_H

#include "frisbeed/serve/session.h"

struct serve_config {
	const struct session_config *session; /* the caller's, until serve_free() */
	/* The configuration of each engine.  The session itself fills in the members that follow
	 * from the image, the socket and the network: image_bytes, whole_chunks, srcip, ext. */
	struct server_config engine;
	/* Bits a second that all sessions share.  If this is 0, or if there can be no more
	 * than one stream, each stream keeps the pace that `engine` says. */
	uint64_t rate;
	unsigned sessions_max; /* sessions at once, ended ones included; > 0 */
	const char *share;     /* the file of a rate that other processes share; NULL: none */
	bool force;            /* serve even where another server answers */
	/* Each place says by itself whether it is for unicast (place.net.unicast). */
	bool unicast_too;
};

/* The statistics of one session, all taken at one moment. */
struct serve_stats {
	enum session_state state;
	struct err err;      /* SESSION_FAILED: why */
	char where[32];      /* "ADDR:PORT", empty when it was never open */
	double seconds;      /* from its start until its end, or until now */
	uint32_t chunks;     /* of the image; 0: it could not be opened */
	struct tally tally;
	char chunk_map[SENTMAP_CELLS + 1]; /* sentmap_text() */
	uint32_t clients_known, clients_done; /* done: have said that they are complete */
	bool from_store; /* the image is in a store, and its chunks are cached in memory */
	uint64_t cache_hits, cache_misses, cache_bytes;
};

struct serve;

/* Makes a server without sessions, which serve_free() releases.  ERR_NOMEM, ERR_IO. */
int serve_new(struct serve **, const struct serve_config *, struct err *);
/* Ends all sessions that still run, and waits for them.  NULL is allowed. */
void serve_free(struct serve *);

/* Open the images and the sockets of n sessions, which send nothing yet, and ask for a quarter
 * of a second whether other servers are there (neighbour.h).  The places are copied, but for
 * what places_one() leaves to the caller.  numbers[] has room for n numbers, and gets those of
 * the sessions.  image: of serve_add_source(), for a single session; NULL: each place names its
 * own.
 *
 * A session that cannot be opened has a number, too; its state is SESSION_FAILED.  -1 when
 * there is no room for n more (ERR_REFUSED) or no memory: then all numbers are 0.  Also -1
 * when the question could not be asked (ERR_IO, ERR_CANCELLED): then the sessions are there,
 * and the caller removes them or serves all the same. */
int serve_open(struct serve *, const struct place *, unsigned n, struct source *image,
    uint32_t *numbers, struct err *);
/* Starts a session that is open.  -1 when the session is not open (with the reason why it has
 * failed) or there is no session of this number (ERR_ABSENT). */
int serve_start(struct serve *, uint32_t number, struct err *);
/* Opens and starts one session.  Errors are those of serve_open() and serve_start(); after an
 * error there is no session. */
int serve_add(struct serve *, const struct place *, uint32_t *number, struct err *);
/* serve_add() for an image that comes from a source, which may be live: a relay, whose source is
 * another server's session, sends each chunk as soon as it has come.  The source is taken over,
 * also on failure; NULL: the same as serve_add().  The name in the place is only for the log. */
int serve_add_source(struct serve *, const struct place *, struct source *image,
    uint32_t *number, struct err *);
/* Ends a session and waits for it, for about a quarter of a second.  Its clients are told
 * nothing, as after a signal.  When this returns its address is free, and its statistics are
 * gone.  ERR_ABSENT when there is no session of this number. */
int serve_remove(struct serve *, uint32_t number, struct err *);

/* A descriptor for poll(2): it is readable when serve_take_ended() may have something. */
int serve_fd(const struct serve *);
/* Sets *number to a session that has ended or failed since it was started.  Each session is named
 * once, unless it is removed before.  False: no session has ended since. */
bool serve_take_ended(struct serve *, uint32_t *number);

/* To be called once a second by one of the caller's threads: the rate in the statistics is that
 * between the last two calls. */
void serve_sample(struct serve *);
/* Copies the statistics of a session.  ERR_ABSENT: there is no session with this number. */
int serve_stats(struct serve *, uint32_t number, struct serve_stats *, struct err *);
/* Copies up to max rows of the table of clients, clients heard last first.  Returns the number of
 * rows; 0 also when there is no such session. */
uint32_t serve_clients(
    struct serve *, uint32_t number, struct client_row *rows, uint32_t max);

#endif /* FRISBEED_SERVE_SERVE_H */
