/* history.h: who loaded and uploaded what, when, how long it took and what failed, in a database (SQLite) of the
 * state folder.  It keeps the last million of such events. */
#ifndef MFRISBEED_MASTER_HISTORY_H
#define MFRISBEED_MASTER_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/master.h"

enum history_kind { HISTORY_LOAD, HISTORY_UPLOAD, HISTORY_SESSION };
enum history_outcome {
	HISTORY_DONE,
	HISTORY_FAILED,
	HISTORY_LEFT, /* a client that does not say how it ended, as Emulab's */
	HISTORY_GONE, /* a client that was not heard any more */
};
enum { HISTORY_WHY_BYTES = 256 };

struct history_event {
	enum history_kind kind;
	enum history_outcome outcome;
	char image[MASTER_NAME_MAX + 1];
	uint8_t host[4];    /* zeros: none */
	uint64_t began_us;  /* of the clock of clock_us() */
	double seconds;
	uint64_t bytes;     /* written to the disk, or uploaded; 0: not known */
	char why[HISTORY_WHY_BYTES]; /* it failed: for this reason; else empty */
};

struct history;

/* Open the database of this folder, or make it, and start the thread that writes it.  ERR_IO, ERR_FORMAT: it is
 * no such database. */
int history_open(struct history **, const char *folder, struct err *);
/* Writes what is left.  NULL is allowed. */
void history_close(struct history *);
/* Note an event; it is copied.  An event of the same kind, image and host that began at the same time is
 * replaced.  Never waits: what cannot be written in time, or at all, is left out, and the log says so.  NULL
 * is allowed. */
void history_note(struct history *, const struct history_event *);

/* "load", "upload", "session"; "done", "failed", "left", "gone". */
const char *history_kind_name(enum history_kind);
const char *history_outcome_name(enum history_outcome);

/* Print what the database of this folder holds: sums for each image, and the last events that did not end
 * well; json: all sums, and the last 10,000 events.  ERR_ABSENT: there is none; ERR_IO, ERR_FORMAT. */
int history_report(const char *folder, bool json, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_H */
