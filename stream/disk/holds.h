/* holds.h: one lock for each page of a disk, taken for all pages of a range at once.
 *
 * Whoever writes to the disk holds the pages that it writes to, from before it looks which of
 * their sectors are present until it has marked what it wrote.  Readers hold nothing.  A thread
 * holds one range at a time, so that no threads wait for each other in a circle.  Whoever asked
 * first is served first: a thread that wants many pages is not overtaken for ever by those that
 * want one of them.  There are as many holds as requests in flight, so they are in a list.
 */
#ifndef STREAM_DISK_HOLDS_H
#define STREAM_DISK_HOLDS_H

#include <pthread.h>
#include <stdint.h>

enum { HOLD_PAGE_BYTES = 4096 };

/* A hold belongs to the thread that made it, and may be on its stack. */
struct hold {
	struct hold *next; /* which was asked for later; NULL: none was */
	uint64_t from, to; /* pages [from, to) */
};

struct holds {
	pthread_mutex_t lock;
	pthread_cond_t released;
	struct hold *first; /* holds, and threads that wait for one, in the order of asking */
};

void holds_init(struct holds *);
/* To be called when nothing is held. */
void holds_free(struct holds *);
/* Hold all pages that have bytes of [at_bytes, at_bytes + bytes), bytes > 0; waits until all threads
 * that asked for one of them before have released it. */
void hold_take(struct holds *, struct hold *, uint64_t at_bytes, uint64_t bytes);
void hold_release(struct holds *, struct hold *);

#endif /* STREAM_DISK_HOLDS_H */
