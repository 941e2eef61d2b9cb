/* reader.h: the chunks of what a server serves, read by a thread of their own. */
#ifndef DOLLY_NET_READER_H
#define DOLLY_NET_READER_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/mailbox.h"

enum chunk_reader_event {
	CHUNK_READER_READ = 1, /* n: a slot */
	CHUNK_READER_FAILED,   /* n: a slot; chunk_reader_why() */
};

struct chunk_reader;

/* Reads a chunk, as it is sent, to there; *length: its bytes. */
typedef int chunk_reader_fn(
    void *arg, uint32_t chunk, void *to, uint32_t *length, struct err *);

/* read(arg) is called by the thread alone.  At most `slots` chunks are asked for at a
 * time, each into a slot with a number below that. */
int chunk_reader_start(struct chunk_reader **, chunk_reader_fn *, void *arg,
    uint32_t slots, struct err *);
int chunk_reader_fd(const struct chunk_reader *);
void chunk_reader_ask(struct chunk_reader *, uint32_t slot, uint32_t chunk, void *to);
/* As mailbox_take(). */
bool chunk_reader_take(struct chunk_reader *, struct event *);
/* Of the chunk that was read into this slot last. */
uint32_t chunk_reader_length(const struct chunk_reader *, uint32_t slot);
void chunk_reader_why(struct chunk_reader *, struct err *);
void chunk_reader_stop(struct chunk_reader *); /* also NULL */

#endif /* DOLLY_NET_READER_H */
