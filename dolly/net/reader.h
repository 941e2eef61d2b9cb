/* reader.h: reads the chunks of what a server serves, in a thread of its own. */
#ifndef DOLLY_NET_READER_H
#define DOLLY_NET_READER_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/mailbox.h"

enum chunk_reader_event {
	CHUNK_READER_READ = 1, /* n: the slot whose chunk was read */
	CHUNK_READER_FAILED,   /* n: the slot; chunk_reader_why() says why */
};

struct chunk_reader;

/* Reads a chunk, in the form in which it is sent, into `to`, and sets *length to its bytes.
 * Returns 0, or -1 with the error. */
typedef int chunk_reader_fn(
    void *arg, uint32_t chunk, void *to, uint32_t *length, struct err *);

/* Starts the thread, which alone calls the function with `arg`.  At most `slots` chunks may
 * be asked for at a time, each with a slot number below `slots`.  ERR_NOMEM; ERR_IO: no
 * thread. */
int chunk_reader_start(struct chunk_reader **, chunk_reader_fn *, void *arg,
    uint32_t slots, struct err *);
/* A descriptor for poll(2), readable while there are events. */
int chunk_reader_fd(const struct chunk_reader *);
/* Asks for a chunk; `to` stays valid until its event comes. */
void chunk_reader_ask(struct chunk_reader *, uint32_t slot, uint32_t chunk, void *to);
/* Takes the next event, as mailbox_take() does.  False: there is none. */
bool chunk_reader_take(struct chunk_reader *, struct event *);
/* The bytes of the chunk that was read into this slot last. */
uint32_t chunk_reader_length(const struct chunk_reader *, uint32_t slot);
/* After CHUNK_READER_FAILED: the error. */
void chunk_reader_why(struct chunk_reader *, struct err *);
/* Ends the thread, and releases the reader.  NULL is allowed. */
void chunk_reader_stop(struct chunk_reader *);

#endif /* DOLLY_NET_READER_H */
