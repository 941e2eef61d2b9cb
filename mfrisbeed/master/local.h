/* local.h: programs of this host, such as a controller, tell the master by a Unix socket what to
 * serve, and watch it.
 *
 * A request is a line; its words are those of statements.h, and names are encoded as names.h does.
 * Each is answered by one line of JSON (mfrisbeed(8), section LOCAL REQUESTS):
 *
 *	version 1			the first one
 *	begin NAME holder=LABEL [at=GROUP:PORT] [OPTIONS]	sessions_hold()
 *	end NAME holder=LABEL		sessions_release()
 *	watch				all sessions, now and after each change
 *	images				catalog_each()
 *	note OBJECT			note_read(), history_note()
 *	members holder=LABEL		history_ask()
 */
#ifndef MFRISBEED_MASTER_LOCAL_H
#define MFRISBEED_MASTER_LOCAL_H

#include "common/base/loop.h"
#include "mfrisbeed/master/parents.h"
#include "mfrisbeed/master/sessions.h"

/* LOCAL_LINE_BYTES: of a request, with its newline. */
enum { LOCAL_VERSION = 1, LOCAL_LINE_BYTES = 8192 };

struct local;

/* Listens at this path, before the right to make a socket is given up.  Returns the
 * descriptor; -1: ERR_USAGE; ERR_IO. */
int local_listen(const char *path, struct err *);
/* Serves who calls there; the descriptor is taken over.  Only root and the user of
 * this process are heard.  The settings, the sessions, the parents and the history, which may
 * be NULL, are the caller's, and *settings may change.  ERR_IO; ERR_NOMEM. */
int local_new(struct local **, struct loop *, const char *path, int listener,
    const struct settings *, struct sessions *, struct parents *, struct history *, struct err *);
/* Hangs up on all.  NULL is allowed. */
void local_free(struct local *);
/* The parent has answered: those who wait for that are answered.  NULL is allowed. */
void local_again(struct local *);
/* The history may have answered, and those who watch are told what has changed.  NULL is allowed. */
void local_tell(struct local *);

/* One request. */
enum local_what { LOCAL_NOTHING, LOCAL_VERSION_IS, LOCAL_BEGIN, LOCAL_END, LOCAL_WATCH, LOCAL_IMAGES,
	LOCAL_NOTE, LOCAL_MEMBERS };
struct local_request {
	enum local_what what;
	uint64_t version; /* LOCAL_VERSION_IS */
	char name[MASTER_NAME_MAX + 1];
	char holder[SESSIONS_HOLDER_BYTES];
	uint8_t group[4]; /* `at` */
	uint16_t port;    /* 0: none */
	struct sessions_options options;
	struct history_event note; /* LOCAL_NOTE; its `told` is part of the line */
};
/* Reads one line, without its newline.  ERR_USAGE, ERR_FORMAT: what is wrong with it. */
int local_read(struct local_request *, const char *text, size_t bytes, struct err *);

#endif /* MFRISBEED_MASTER_LOCAL_H */
