/* sessions.h: which images are served now, and where: sessions begin when somebody asks for an image,
 * are shared by all who ask for it, and end when nobody has asked for blocks for a while.
 *
 * A session is known by the image's name and file: when another file has the name, the next who
 * asks gets another session, and the old one goes on for those who have it.  All functions are
 * called in one thread; sessions and their starts have threads of their own. */
#ifndef MFRISBEED_MASTER_SESSIONS_H
#define MFRISBEED_MASTER_SESSIONS_H

#include "mfrisbeed/master/catalog.h"
#include "mfrisbeed/master/history.h"

enum { SESSIONS_FDS = 2 };

enum sessions_state { SESSIONS_STARTING, SESSIONS_RUNNING, SESSIONS_FAILED };

/* Of one session. */
struct sessions_place {
	enum sessions_state state;
	struct err err;  /* SESSIONS_FAILED: why */
	uint8_t addr[4]; /* SESSIONS_RUNNING: where clients join */
	uint16_t port;
};

struct sessions;

/* Nothing is served yet.  The settings stay the caller's, until sessions_settings() or
 * sessions_free(), and the history (NULL: none) until then.  ERR_NOMEM, ERR_IO. */
int sessions_new(
    struct sessions **, const struct settings *, struct history *, struct err *);
/* Other settings from now on; sessions that run are not disturbed. */
void sessions_settings(struct sessions *, const struct settings *);
/* Ends all sessions.  What they are stays in the state folder, and sessions_resume() begins
 * them again.  NULL is allowed. */
void sessions_free(struct sessions *);

/* Serve again what the state folder says, each image at its group and port.  What cannot be served
 * is logged.  ERR_IO: the folder cannot be made or read. */
int sessions_resume(struct sessions *, struct err *);

/* What is asked for. */
struct sessions_wish {
	const char *name;
	const struct catalog_entry *entry;
	const uint8_t *unicast_at; /* by unicast, from this address of ours (4 bytes); NULL: by multicast */
};

/* Is it served, or will it be?  False: there is no session. */
bool sessions_find(struct sessions *, const struct sessions_wish *, struct sessions_place *);
/* As sessions_find(), and begin one where there is none.  One that has failed says so once.
 * ERR_REFUSED: there are too many, or no group is left; ERR_NOMEM. */
int sessions_ask(struct sessions *, const struct sessions_wish *, struct sessions_place *,
    struct err *);

/* Descriptors for poll(2): when one is readable, sessions_collect() has something to do. */
void sessions_fds(const struct sessions *, int fds[SESSIONS_FDS]);
/* Take over what sessions and starts have done meanwhile.  True: something is not as it was. */
bool sessions_collect(struct sessions *);
/* How many there are. */
unsigned sessions_count(const struct sessions *);

#endif /* MFRISBEED_MASTER_SESSIONS_H */
