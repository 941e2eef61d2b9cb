/* starter.h: a process that starts one program, as often as it is told to, for a
 * server that gives up the right to start any (rights.h).
 *
 * The server begins it before, and asks it by a pair of sockets.  Whoever takes the
 * server over can start that program alone, by the starter's user.  When the server
 * ends, in whatever way, the starter kills what it has started, and ends; the starter
 * of the next server of the same lock waits until then.  When the starter itself is
 * killed, that ends which has called process_ends_with() (process.h). */
#ifndef COMMON_BASE_STARTER_H
#define COMMON_BASE_STARTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

enum { STARTER_IDS = 256, STARTER_WORDS_MAX = 48, STARTER_BYTES_MAX = 16384 };

struct starter;

/* Begins it, in the process's only thread.  The program is looked for beside this one,
 * and then in PATH.  lock: a file that it makes.  ERR_IO; ERR_NOMEM. */
int starter_new(struct starter **, const char *program, const char *lock, struct err *);
/* Kills all that it has started, and waits for its end.  NULL is allowed. */
void starter_free(struct starter *);
/* Lets go of a starter that has started nothing, without waiting for its end: it ends by itself, also
 * while it waits for the lock.  NULL is allowed. */
void starter_leave(struct starter *);
/* The number of its process, which is the parent of all that it starts. */
pid_t starter_pid(const struct starter *);
/* Readable when starter_take() has something. */
int starter_fd(const struct starter *);
/* Starts the program with these words, up to NULL, under a number below STARTER_IDS
 * that no running one has.  Whether that was possible is told by starter_take().
 * ERR_USAGE: there are too many words; ERR_IO: the starter is gone. */
int starter_begin(struct starter *, uint32_t id, const char *const words[], struct err *);
/* Asks the program with this number to end; it is killed when it does not within some
 * seconds. */
void starter_end(struct starter *, uint32_t id);

enum { STARTER_WHY_BYTES = 256 };
struct starter_news {
	uint32_t id;
	pid_t pid;  /* 0: it could not be started */
	bool ended; /* false: it has been started */
	bool killed; /* by a signal */
	int status; /* `ended`, and not `killed`: its exit status */
	char why[STARTER_WHY_BYTES]; /* `ended`: how, for people */
};
/* 1: there are news; 0: there are none; -1: the starter has ended. */
int starter_take(struct starter *, struct starter_news *);

#endif /* COMMON_BASE_STARTER_H */
