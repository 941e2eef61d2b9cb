/* reader.h: reads runs of blocks ahead of their sending, in its own thread. */
#ifndef FRISBEED_SERVE_READER_H
#define FRISBEED_SERVE_READER_H

#include <stdbool.h>

#include "common/base/mailbox.h"
#include "common/image/read/source.h"
#include "frisbeed/server/server.h"

struct reader;
struct identity;

enum reader_event {
	READER_READ,   /* buffer n has what it was asked for */
	READER_FAILED, /* the last event: see reader_error() */
};

/* With `content`, also how much of each chunk is not empty is found out.  What the
 * identity (NULL: not asked) does not hold to be the same any more is never given out.
 * `ahead` buffers of run_blocks blocks each, behind them SERVER_PARITY_BUFFERS of a whole
 * chunk, and SERVER_URGENT_BUFFERS of run_blocks blocks.  What becomes of them comes through the mailbox, as
 * enum reader_event has it. */
int reader_new(struct reader **, struct source *, uint32_t ahead, uint32_t run_blocks,
    bool content, struct identity *, struct mailbox *, struct err *);
/* Waits for the thread. */
void reader_free(struct reader *);
/* Never blocks: no more than `ahead` runs, and SERVER_URGENT_BUFFERS, are out at a time. */
void reader_ask(struct reader *, const struct server_run *);
/* Block `at` of a buffer: WIRE_BLOCK_BYTES. */
const uint8_t *reader_block(const struct reader *, uint32_t buf, uint32_t at);
/* Of the run that was read into this buffer: its chunk, and how many blocks that has
 * before those that are all zero.  False: that is not known. */
bool reader_content(
    const struct reader *, uint32_t buf, uint32_t *chunk, uint32_t *blocks);
/* Why reading failed. */
const struct err *reader_error(struct reader *);

#endif /* FRISBEED_SERVE_READER_H */
