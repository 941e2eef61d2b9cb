/* confined.h: run code that reads a stranger's bytes in a process of its own.
 *
 * A library that parses what is on a disk may crash, hang or do what the disk's maker
 * wants.  confined_run() forks; the child has limits of time and memory and, where the
 * system has a filter of system calls (seccomp), may only read what is open already and
 * write to its pipe.  It tells the parent in frames (frame.h) what it finds, and the
 * parent, which believes none of it, hears a verdict in the end, or says why there is none.
 *
 * The child has one thread, that which called: other threads' locks may be held for ever
 * in it.  What it runs may allocate memory and read files; it must not wait for threads
 * nor print.
 */
#ifndef COMMON_BASE_CONFINED_H
#define COMMON_BASE_CONFINED_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"

struct confined; /* the child's way to the parent */

enum { CONFINED_KINDS = 128 }; /* frames of the caller's have kinds below this */

struct confined_job {
	const char *who; /* the child in sentences: "the process that reads it" */
	/* In the child: 0, or -1 with the sentence that the parent is to have. */
	int (*run)(void *arg, struct confined *, struct err *);
	/* In the parent, for each frame, in the order of confined_say().  -1 ends it all. */
	int (*heard)(void *arg, uint8_t kind, struct rd *payload, struct err *);
	void *arg;
	unsigned seconds;      /* 1..: of time that passes, and as many of a processor */
	uint64_t memory_bytes; /* of the child's data; not kept under a sanitizer */
	int asks_fd; /* the child may write to this descriptor, too; 0: to none */
};

/* Run it and wait for its end.  0: run() has returned 0, and every frame was heard.  Else
 * -1 with why: what run() or heard() said, or that the child crashed, took too long, needed
 * too much memory or was silent (ERR_FORMAT), or that no process can be started (ERR_IO);
 * ERR_CANCELLED when this thread's work is to end (cancel.h).  The child has ended.
 * *unfiltered becomes NULL, or why its system calls were not filtered: a static string. */
int confined_run(const struct confined_job *, const char **unfiltered, struct err *);
/* In the child: tell the parent.  kind is below CONFINED_KINDS, len at most
 * FRAME_PAYLOAD_MAX. */
int confined_say(
    struct confined *, uint8_t kind, const void *payload, size_t len, struct err *);

/* How much memory a child may be given: half of the machine's, and 4 GiB at most, which is
 * what the largest filesystems of this time need. */
uint64_t confined_memory(void);

#endif /* COMMON_BASE_CONFINED_H */
