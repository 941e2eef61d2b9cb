/* history.h: a database (SQLite) in the state folder of who loaded and uploaded what, when,
 * how long it took and what failed.  It keeps the last million events.  All functions are
 * called in one thread. */
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
	HISTORY_LEFT, /* the client has left without a word of how it ended, as Emulab's does */
	HISTORY_GONE, /* the client was not heard any more */
};
enum { HISTORY_WHY_BYTES = 256 };

struct history_event {
	enum history_kind kind;
	enum history_outcome outcome;
	char image[MASTER_NAME_MAX + 1];
	uint8_t host[4];    /* IPv4 address; zeros: no host */
	uint64_t began_us;  /* by clock_us() */
	double seconds;     /* that it took */
	uint64_t bytes;     /* written to the disk, or uploaded; 0: not known */
	char why[HISTORY_WHY_BYTES]; /* the reason of a failure; else empty */
};

struct history;

/* Opens the database of this folder, or makes it, and starts the thread that writes it.  ERR_IO;
 * ERR_FORMAT: the file is no such database; ERR_NOMEM. */
int history_open(struct history **, const char *folder, struct err *);
/* Writes the events that are left, and closes the database.  NULL is allowed. */
void history_close(struct history *);
/* Notes an event, which is copied.  It replaces an event of the same kind, image and host
 * that began at the same time.  The function never waits: events that cannot be written in
 * time, or at all, are left out, and the log says so.  A history that is NULL is allowed. */
void history_note(struct history *, const struct history_event *);

/* The names in the database: "load", "upload", "session"; "done", "failed", "left", "gone". */
const char *history_kind_name(enum history_kind);
const char *history_outcome_name(enum history_outcome);

/* Prints sums for each image, and the last 20 events that did not end well; with `json`
 * prints the sums and the last 10,000 events as JSON.  ERR_ABSENT: the folder has no
 * database; ERR_IO; ERR_FORMAT: it is no such database. */
int history_report(const char *folder, bool json, struct err *);

#endif /* MFRISBEED_MASTER_HISTORY_H */
