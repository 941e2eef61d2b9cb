/* reader.h: the chunks of a server's image, read by a thread of their own. */
#ifndef DOLLY_NET_READER_H
#define DOLLY_NET_READER_H

#include "common/base/mailbox.h"
#include "common/image/read/image.h"

enum reader_event {
	READER_READ = 1, /* n: a slot */
	READER_FAILED,   /* n: a slot; reader_why() */
};

struct reader;

/* The image is borrowed, and seekable; nobody else reads it.  At most `most` chunks are asked for
 * at a time. */
int reader_start(struct reader **, struct image *, uint32_t most, struct err *);
int reader_fd(const struct reader *);
void reader_ask(struct reader *, uint32_t slot, uint32_t chunk, void *to);
/* As mailbox_take(). */
bool reader_take(struct reader *, struct event *);
void reader_why(struct reader *, struct err *);
void reader_stop(struct reader *); /* also NULL */

#endif /* DOLLY_NET_READER_H */
