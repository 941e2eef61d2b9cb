/* sessions.h: which images are served now, and where.  A session begins when a client asks
 * for an image, is shared by all clients that ask for it, and ends when no client has asked
 * for blocks for a while.
 *
 * A session is identified by the image's name and file: when another file has got the name,
 * the next client that asks gets another session, and the old one goes on for its clients.
 * Each session is a frisbeed of its own, which starter.h begins: one that is killed ends nobody
 * else's load, and is begun again at its group and port.  All functions are called in one
 * thread. */
#ifndef MFRISBEED_MASTER_SESSIONS_H
#define MFRISBEED_MASTER_SESSIONS_H

#include "common/base/json.h"
#include "common/base/starter.h"
#include "mfrisbeed/master/catalog.h"
#include "mfrisbeed/master/history.h"

enum { SESSIONS_UNICAST_CLIENTS = 16 }; /* of one image at once; others ask again */

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

/* How sessions are begun; all is borrowed until sessions_free(), but the starter, which
 * sessions_new() takes over when it succeeds. */
struct sessions_config {
	struct starter *starter;
	struct history *history;   /* NULL: none is kept */
	bool debug, quiet, syslog; /* what they log, and where */
};

/* Makes a table without sessions.  The settings are borrowed until sessions_settings() or
 * sessions_free().  ERR_NOMEM; ERR_IO. */
int sessions_new(struct sessions **, const struct settings *, const struct sessions_config *,
    struct err *);
/* Uses other settings from now on; sessions that run are not disturbed. */
void sessions_settings(struct sessions *, const struct settings *);
/* Ends all sessions.  The state folder keeps their list, and sessions_resume() begins them again.
 * NULL is allowed. */
void sessions_free(struct sessions *);

/* Begins the sessions in the list of the state folder, each at its group and port.  Images
 * that cannot be served are logged.  ERR_IO: a folder cannot be read; ERR_FORMAT: the list is
 * wrong. */
int sessions_resume(struct sessions *, struct err *);

/* What a session is told beside what the settings say.  All zeros: nothing. */
struct sessions_options {
	uint64_t rate;  /* bits a second, of this session alone; 0: it shares that of all */
	uint32_t wait;  /* begins to send when this number of clients have joined */
	uint32_t until; /* ends when this number of clients have installed the image */
	char group_key[MASTER_NAME_MAX + 1]; /* a file; empty: none */
	char orders[MASTER_NAME_MAX + 1];    /* a folder; empty: beside the image */
};

/* What a client asks for; all is borrowed. */
struct sessions_wish {
	const char *name;
	const struct catalog_entry *entry;
	const uint8_t *unicast_at; /* the address of this host to serve from (4 bytes), by
	                              unicast; NULL: by multicast */
	const struct sessions_options *options; /* NULL: whatever it is told; only without a key */
	const char *holder; /* NULL: nobody holds it */
	/* With a holder: where its machines wait, because it was there before; a session that is begun
	 * is begun there, if it can be.  Port 0: nowhere. */
	uint8_t group[4];
	uint16_t port;
};

/* Finds the session of an image, which may be starting.  False: there is no session. */
bool sessions_find(struct sessions *, const struct sessions_wish *, struct sessions_place *);
/* Finds the session of an image as sessions_find() does, and begins it where there is none.
 * A session that has failed is reported once, and forgotten; its group, and if need be its place in
 * the table, are used for others before that.  ERR_REFUSED: there are too many sessions, or no group
 * is left; ERR_IO: the starter is gone; ERR_NOMEM. */
int sessions_ask(struct sessions *, const struct sessions_wish *, struct sessions_place *,
    struct err *);

/* Finds the session of an image with exactly these options, by multicast, or begins it, for the
 * holder of the wish: it does not end before all its holders have released it, or until `until` says so.
 * What the holder has by this name already stays, also when the image was replaced.  One that fails
 * stays in the list as failed, and is begun anew by the next call.  Errors of sessions_ask();
 * ERR_USAGE: this holder has it with other options; ERR_REFUSED: it has too many holders. */
int sessions_hold(struct sessions *, const struct sessions_wish *, struct err *);
/* The holder needs it no more.  When nobody holds it, a session without options that clients have
 * asked for by name goes on until it is idle; another one ends.  ERR_ABSENT: this holder holds no
 * such session. */
int sessions_release(struct sessions *, const char *name, const char *holder, struct err *);
enum { SESSIONS_HOLDERS = 64, SESSIONS_HOLDER_BYTES = 24 };
/* Can a holder be called so?  Letters, digits, ".", "-" and "_". */
bool sessions_is_holder(const char *);
/* Adds the array `sessions` to a document: all of them, as mfrisbeed(8) says. */
void sessions_put(const struct sessions *, struct json *);

/* Grows whenever sessions_put() says something else. */
uint64_t sessions_changes(const struct sessions *);

/* A descriptor for poll(2): when it is readable, sessions_collect() has something to do. */
int sessions_fd(const struct sessions *);
/* When it has something to do although none is; UINT64_MAX: never. */
uint64_t sessions_deadline(const struct sessions *);
/* Takes over sessions that have started or ended.  True: there was one. */
bool sessions_collect(struct sessions *);
/* No session can be begun any more, because the starter has ended. */
bool sessions_lost(const struct sessions *);
/* The number of sessions, those that start or have failed included. */
unsigned sessions_count(const struct sessions *);

#endif /* MFRISBEED_MASTER_SESSIONS_H */
