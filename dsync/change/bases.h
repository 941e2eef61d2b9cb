/* bases.h: what the source of change remembers of one device for one target: the state that
 * the target is known to have (the base), and the states that were sent and not yet
 * confirmed (pending).
 *
 * The memory is a text file, which is replaced as a whole.  The base stays until a later state
 * is confirmed to have arrived: an extract adds a pending state, and bases_confirm() makes one
 * the base.  While one program has the file open, no other program can open it.
 */
#ifndef DSYNC_CHANGE_BASES_H
#define DSYNC_CHANGE_BASES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/stream/stream.h"

enum {
	BASES_PENDING_MAX = STREAM_BASES_MAX - 1,
	BASE_TOKEN_BYTES = 256, /* one word and its NUL */
};

/* A state of the device, and what the source of change needs to find what has changed since. */
struct base {
	struct stream_id id;
	char token[BASE_TOKEN_BYTES]; /* "-": none */
};

struct bases {
	char *path; /* owned */
	int lock; /* descriptor of the lock file; -1: not open */
	char kind[STREAM_KIND_BYTES]; /* name of the source of change */
	uint64_t device_bytes; /* 0: nothing was extracted yet */
	struct stream_id lineage;
	uint64_t made_at;                     /* of the newest stream, also of one that failed */
	unsigned n;                           /* states in all[] */
	bool confirmed;                       /* all[0] is the base */
	struct base all[STREAM_BASES_MAX];    /* the base, then the pending, oldest first */
	char damage[320]; /* of the file, because of which there are no states; "": none */
};

/* How a file is opened. */
enum bases_how {
	BASES_LOOK = 1, /* where there is no file, nothing is created, and nothing can be saved */
	BASES_ANEW = 2, /* a file that is damaged counts as one without states */
};

/* Open the file at `path`, or begin with no states if there is no such file.  `kind` is the
 * name of the source of change, `how` of enum bases_how.  ERR_REFUSED: another program has the
 * file open, or the file belongs to another kind.  ERR_FORMAT: it is damaged.  ERR_UNSUPPORTED: its
 * version is not known.  ERR_IO, ERR_NOMEM. */
int bases_open(struct bases *, const char *path, const char *kind, unsigned how,
    struct err *);
/* Replace the file, so that its new contents survive a crash.  ERR_IO, ERR_NOMEM. */
int bases_save(const struct bases *, struct err *);
void bases_close(struct bases *); /* release the lock; a struct of zeros is allowed */
/* Forget all states and begin a new lineage: the next extract is a full copy. */
void bases_forget(struct bases *);
/* Let the time of a new stream, in seconds since 1970, be later than that of each stream before,
 * whatever the clock says, and remember it.  Errors of bases_save(). */
int bases_next_time(struct bases *, uint64_t *made_at, struct err *);
/* Add a pending state, which is copied.  When there is no room, the oldest pending state is
 * removed, and dropped() is called with it; dropped may be NULL. */
void bases_add(struct bases *, const struct base *,
    void (*dropped)(void *arg, const struct base *), void *arg);
/* Forget the pending states; dropped(), which may be NULL, is called with each. */
void bases_drop_pending(
    struct bases *, void (*dropped)(void *arg, const struct base *), void *arg);
/* Record that the target has this state (NULL: the state that was sent last).  It becomes the
 * base, and dropped(), which may be NULL, is called with each older state.  A state that is
 * the base already is no error.  ERR_ABSENT: the state is not remembered, or NULL was given and
 * no state is pending. */
int bases_confirm(struct bases *, const struct stream_id *,
    void (*dropped)(void *arg, const struct base *), void *arg, struct err *);
/* Whether a base is confirmed: changes since these states can be asked for only then. */
bool bases_known(const struct bases *);

/* The path of a device's file when the user named none: FOLDER/source/NAME, followed by
 * ".TARGET" unless target is NULL; NAME is that of the device mapper where the device has one,
 * so that /dev/mapper/x and x have one file.  Nothing is created.  Returns a new string, which the
 * caller frees; NULL: ERR_NOMEM. */
char *bases_path(const char *folder, const char *device, const char *target, struct err *);

#endif /* DSYNC_CHANGE_BASES_H */
