/* sessions.h: which images are served now, and where.  A session begins when a client asks
 * for an image, is shared by all clients that ask for it, and ends when no client has asked
 * for blocks for a while.
 *
 * A session is identified by the image's name and file: when another file has got the name,
 * the next client that asks gets another session, and the old one goes on for its clients.
 * All functions are called in one thread; sessions and their starts have threads of their
 * own. */
#ifndef MFRISBEED_MASTER_SESSIONS_H
#define MFRISBEED_MASTER_SESSIONS_H

#include "mfrisbeed/master/catalog.h"
#include "mfrisbeed/master/history.h"

enum { SESSIONS_FDS = 2 };

enum sessions_state { SESSIONS_STARTING, SESSIONS_RUNNING, SESSIONS_FAILED };

/* State and place of one session. */
struct sessions_place {
	enum sessions_state state;
	struct err err;  /* SESSIONS_FAILED: why */
	uint8_t addr[4]; /* SESSIONS_RUNNING: where clients join */
	/* SESSIONS_RUNNING: the address that the session sends from; zeros: its interface has none
	 * just now */
	uint8_t server[4];
	uint16_t port;
};

struct sessions;

/* Makes a table without sessions.  The settings are borrowed until sessions_settings() or
 * sessions_free(), and the history (NULL: none) until sessions_free().  ERR_NOMEM; ERR_IO. */
int sessions_new(
    struct sessions **, const struct settings *, struct history *, struct err *);
/* Uses other settings from now on; sessions that run are not disturbed. */
void sessions_settings(struct sessions *, const struct settings *);
/* Ends all sessions.  The state folder keeps their list, and sessions_resume() begins them again.
 * NULL is allowed. */
void sessions_free(struct sessions *);

/* Begins the sessions in the list of the state folder, each at its group and port.  Images
 * that cannot be served are logged.  ERR_IO: a folder cannot be read; ERR_USAGE: the list is
 * wrong. */
int sessions_resume(struct sessions *, struct err *);

/* What a client asks for; all is borrowed. */
struct sessions_wish {
	const char *name;
	const struct catalog_entry *entry;
	const uint8_t *unicast_at; /* the address of this host to serve from (4 bytes), by
	                              unicast; NULL: by multicast */
};

/* Finds the session of an image, which may be starting.  False: there is no session. */
bool sessions_find(struct sessions *, const struct sessions_wish *, struct sessions_place *);
/* Finds the session of an image as sessions_find() does, and begins it where there is none.
 * A session that has failed is reported once, and forgotten; its group, and if need be its place in
 * the table, are used for others before that.  ERR_REFUSED: there are too many sessions, or no group
 * is left; ERR_IO: no thread; ERR_NOMEM. */
int sessions_ask(struct sessions *, const struct sessions_wish *, struct sessions_place *,
    struct err *);

/* Descriptors for poll(2): when one is readable, sessions_collect() has something to do. */
void sessions_fds(const struct sessions *, int fds[SESSIONS_FDS]);
/* When it has something to do although none is; UINT64_MAX: never. */
uint64_t sessions_deadline(const struct sessions *);
/* Takes over sessions that have started or ended.  True: there was one. */
bool sessions_collect(struct sessions *);
/* The number of sessions, those that start or have failed included. */
unsigned sessions_count(const struct sessions *);

#endif /* MFRISBEED_MASTER_SESSIONS_H */
