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
	READER_READ,   /* n: a buffer, which holds the run that was asked for */
	READER_FAILED, /* the last event; reader_error() says why */
};

/* Makes a reader and its thread.  It has `ahead` buffers of run_blocks blocks each, behind them
 * SERVER_PARITY_BUFFERS of a whole chunk, and SERVER_URGENT_BUFFERS of run_blocks blocks.  Runs
 * that were read are told through the mailbox, by enum reader_event.  content: the reader also
 * finds the empty end of each chunk.  Chunks that the identity (NULL: not asked) does not hold
 * to be the same any more are never given out.  ERR_NOMEM, ERR_IO. */
int reader_new(struct reader **, struct source *, uint32_t ahead, uint32_t run_blocks,
    bool content, struct identity *, struct mailbox *, struct err *);
/* Waits for the thread, and releases the reader.  NULL is allowed. */
void reader_free(struct reader *);
/* Asks for a run.  It never blocks: at most `ahead` runs, and SERVER_URGENT_BUFFERS urgent ones,
 * may be asked for at a time.  Urgent ones are read before all others that are not being read
 * already. */
void reader_ask(struct reader *, const struct server_run *);
/* Block `at` of a buffer: WIRE_BLOCK_BYTES, which stay the reader's. */
const uint8_t *reader_block(const struct reader *, uint32_t buf, uint32_t at);
/* Tells of the run that was read into this buffer its chunk, and the number of blocks of the
 * chunk before its empty end.  False: the number is not known. */
bool reader_content(
    const struct reader *, uint32_t buf, uint32_t *chunk, uint32_t *blocks);
/* Why reading failed, after READER_FAILED. */
const struct err *reader_error(struct reader *);

#endif /* FRISBEED_SERVE_READER_H */
