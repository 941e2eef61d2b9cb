/* confined.h: runs code that reads a stranger's bytes in a process of its own.
 *
 * A library that parses what is on a disk may crash, hang or do what the disk's maker
 * wants.  confined_run() forks.  The child has limits of time and memory.  Where the system
 * has a filter of system calls (seccomp), the child may only read what is open already, by
 * pread(2), write to its pipe, and have memory of its own.  The child tells the parent in
 * frames (frame.h) what it finds, and the result at the end.  The parent trusts none of it;
 * when there is no result, the parent says why.
 *
 * The child has one thread, the copy of the one that called: locks that other threads held
 * when it was forked are never released in it.  What it runs may allocate memory and read
 * files; it must not wait for threads nor print. */
#ifndef COMMON_BASE_CONFINED_H
#define COMMON_BASE_CONFINED_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"

struct confined; /* the child's way to the parent */

enum { CONFINED_KINDS = 128 }; /* the kinds of the caller's frames are below this */

struct confined_job {
	const char *who; /* names the child in sentences: "the process that reads it" */
	/* Called in the child.  Returns 0, or -1 with the sentence that the parent is to
	 * report. */
	int (*run)(void *arg, struct confined *, struct err *);
	/* Called in the parent for each frame, in the order in which they were sent. -1
	 * ends the child. */
	int (*heard)(void *arg, uint8_t kind, struct rd *payload, struct err *);
	void *arg;
	unsigned seconds;      /* from 1; limit of elapsed time, and of the processor's time */
	uint64_t memory_bytes; /* limit for the child's data; not set under a sanitizer */
	int asks_fd; /* a descriptor that the child may also write to; 0: none */
};

/* Runs the job in a child and waits for its end.  Returns 0 when run() has returned 0 and
 * every frame was heard.  Otherwise returns -1 with the reason: the error of run() or
 * heard(); ERR_FORMAT when the child crashed, took too long, needed too much memory or
 * ended without a result; ERR_IO when no process can be started; ERR_CANCELLED when this
 * thread's work is to end (cancel.h).  The child has ended in every case.  *unfiltered
 * becomes NULL, or a static string that says why the child's system calls were not
 * filtered. */
int confined_run(const struct confined_job *, const char **unfiltered, struct err *);
/* Called in the child: sends one frame to the parent.  kind is below CONFINED_KINDS, len at
 * most FRAME_PAYLOAD_MAX.  ERR_FORMAT when they are not; ERR_IO. */
int confined_say(
    struct confined *, uint8_t kind, const void *payload, size_t len, struct err *);

/* How many bytes of memory a child may be given: half of the machine's memory, but at most
 * 4 GiB, which is what the largest filesystems of this time need. */
uint64_t confined_memory(void);

#endif /* COMMON_BASE_CONFINED_H */
