/* history.h: a database (SQLite) in the state folder of who loaded and uploaded what, when,
 * how long it took and what failed.  It keeps the last million events.  All functions are
 * called in one thread. */
#ifndef MFRISBEED_MASTER_HISTORY_H
#define MFRISBEED_MASTER_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/loop.h"
#include "common/wire/master.h"

enum history_kind { HISTORY_LOAD, HISTORY_UPLOAD, HISTORY_SESSION, HISTORY_CAPTURE };
enum history_outcome {
	HISTORY_DONE,
	HISTORY_FAILED,
	HISTORY_LEFT, /* the client has left without a word of how it ended, as Emulab's does */
	HISTORY_GONE, /* the client was not heard any more */
	HISTORY_STOPPED, /* somebody has stopped it */
};
enum { HISTORY_WHY_BYTES = 256, HISTORY_NODE_BYTES = 254, HISTORY_HOLDER_BYTES = 24 };

struct history_event {
	enum history_kind kind;
	enum history_outcome outcome;
	char image[MASTER_NAME_MAX + 1];
	uint8_t host[4];    /* IPv4 address; zeros: no host */
	uint64_t began_us;  /* by clock_us(); of a node: in microseconds since 1970 */
	double seconds;     /* that it took */
	uint64_t bytes;     /* written to the disk, or uploaded; 0: not known */
	char why[HISTORY_WHY_BYTES]; /* the reason of a failure; else empty */
	/* Of a node that a controller has given an order (note.h); else empty: */
	char holder[HISTORY_HOLDER_BYTES]; /* the label of the order's session */
	char node[HISTORY_NODE_BYTES];
	unsigned tries;
	const char *told; /* what the controller has said, told_bytes of it */
	size_t told_bytes;
};

struct history;

/* Opens the database of this folder, or makes it, and starts the thread that writes it.  The loop,
 * which may be NULL, is woken when a question is answered.  ERR_IO; ERR_FORMAT: the file is no such
 * database; ERR_NOMEM. */
int history_open(struct history **, const char *folder, struct loop *, struct err *);
/* Writes the events that are left, and closes the database.  NULL is allowed. */
void history_close(struct history *);
/* Notes an event, which is copied.  It replaces an event of the same kind, image and host
 * that began at the same time, or that of the same holder and node.  A load of a node is one event:
 * what the session of its image says of its host in that time is put into it, whichever of the two
 * comes first.  The function never waits.  Some thousand events that cannot be written are kept until
 * the next one, when all are tried again; those of nodes are not, since controllers tell of them again.
 * One that the database would refuse each time is lost, and the log says why.
 * Events that are more, or cannot be written in time, are left out, and the log says how many.  False: it
 * is left out.  A history that is NULL is allowed. */
bool history_note(struct history *, const struct history_event *);
/* Asks what was told of the nodes of this holder, behind all that was noted before.  False: so
 * many ask that there is no room. */
bool history_ask(struct history *, const char *holder, uint64_t ticket);
/* The next answer: the ticket of its question, and an array, as JSON on a line, which
 * the caller frees; NULL: the error says why there is none.  False: there is no answer
 * yet.  A history that is NULL is allowed. */
bool history_answer(struct history *, uint64_t *ticket, char **told, struct err *);

/* The name in the database: "done", "failed", "left", "gone", "stopped". */
const char *history_outcome_name(enum history_outcome);

/* Prints sums for each image, and the last 20 events that did not end well; with `json`
 * prints the sums and the last 10,000 events as JSON.  ERR_ABSENT: the folder has no
 * database; ERR_IO; ERR_FORMAT: it is no such database. */
int history_report(const char *folder, bool json, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_H */
