/* bases.h: what the source of changes remembers of one device for one target: the state that
 * the target is known to have (the base), and the states that were sent and not yet
 * confirmed (pending).
 *
 * It is a text file, replaced as a whole.  Nothing is forgotten until it is confirmed that it
 * has arrived: an extract adds a pending state, and bases_confirm() makes one the base.
 * While the file is open, no other program can open it.
 */
#ifndef DSYNC_CHANGE_BASES_H
#define DSYNC_CHANGE_BASES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/stream/stream.h"

enum {
	BASES_PENDING_MAX = STREAM_BASES_MAX - 1,
	BASE_TOKEN_BYTES = 256, /* with its NUL; one word */
};

/* A state of the device, and what its kind needs to tell what has changed since. */
struct base {
	struct stream_id id;
	char token[BASE_TOKEN_BYTES]; /* "-": none */
};

struct bases {
	char *path; /* owned */
	int lock;
	char kind[STREAM_KIND_BYTES];
	uint64_t device_bytes; /* 0: nothing was extracted yet */
	struct stream_id lineage;
	unsigned n;                           /* of all: 0: no base */
	bool confirmed;                       /* all[0] is the base */
	struct base all[STREAM_BASES_MAX];    /* the base, then the pending, oldest first */
};

/* Open the file, or begin one that is not there.  ERR_REFUSED: another program has it, or it
 * is of another kind.  ERR_FORMAT: it is damaged. */
int bases_open(struct bases *, const char *path, const char *kind, struct err *);
/* Write it, so that it survives a crash. */
int bases_save(const struct bases *, struct err *);
void bases_close(struct bases *); /* all zeros are fine */
/* Forget all of it: what comes next is a full copy. */
int bases_forget(struct bases *, struct err *);
/* One more pending state; the oldest pending one goes when there is no room, and its place
 * in all[] is told to dropped() before. */
void bases_add(struct bases *, const struct base *,
    void (*dropped)(void *arg, const struct base *), void *arg);
/* The target has this state (NULL: the last one that was sent).  It is the base now; those
 * before it are told to dropped().  ERR_ABSENT: it is not pending.  A state that is the base
 * already is no error. */
int bases_confirm(struct bases *, const struct stream_id *,
    void (*dropped)(void *arg, const struct base *), void *arg, struct err *);
/* May a change since these bases be asked for?  Only when one is confirmed. */
bool bases_known(const struct bases *);

/* The file of a device when none was named, into a new string: FOLDER/source/NAME, with
 * ".TARGET" behind it unless target is NULL.  The folders are made.  NULL: *e says why. */
char *bases_path(const char *folder, const char *device, const char *target, struct err *);

#endif /* DSYNC_CHANGE_BASES_H */
