/* reader.h: the chunks of a server's image, read by a thread of their own. */
#ifndef DOLLY_NET_READER_H
#define DOLLY_NET_READER_H

#include "common/base/mailbox.h"
#include "common/image/read/image.h"

enum chunk_reader_event {
	CHUNK_READER_READ = 1, /* n: a slot */
	CHUNK_READER_FAILED,   /* n: a slot; chunk_reader_why() */
};

struct chunk_reader;

/* The image is borrowed, and seekable; nobody else reads it.  At most `most` chunks are
 * asked for at a time. */
int chunk_reader_start(
    struct chunk_reader **, struct image *, uint32_t most, struct err *);
int chunk_reader_fd(const struct chunk_reader *);
void chunk_reader_ask(struct chunk_reader *, uint32_t slot, uint32_t chunk, void *to);
/* As mailbox_take(). */
bool chunk_reader_take(struct chunk_reader *, struct event *);
void chunk_reader_why(struct chunk_reader *, struct err *);
void chunk_reader_stop(struct chunk_reader *); /* also NULL */

#endif /* DOLLY_NET_READER_H */
