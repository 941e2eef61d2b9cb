/* reader.c: reads runs of blocks in a thread of its own (reader.h).  loop.c asks for them in the
 * stream's thread. */
#include "frisbeed/serve/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/base/queue.h"
#include "frisbeed/serve/identity.h"
#include "frisbeed/serve/retry_read.h"

/* The empty end of a chunk is searched in pieces of this many blocks. */
enum { LOOK_BLOCKS = 16 };

struct reader {
	struct source *source;
	struct identity *identity; /* or NULL */
	struct mailbox *done;
	struct queue *runs;
	uint32_t ahead, run_blocks;
	struct server_run *slots; /* by buffer: the run that it is filled with */
	uint8_t *blocks;   /* buffers of ahead + SERVER_URGENT_BUFFERS runs */
	uint8_t *chunks;   /* SERVER_PARITY_BUFFERS whole chunks, for parity */
	uint16_t *content; /* by chunk: blocks before the empty end; 0: not known */
	pthread_t thread;
	bool started;
	struct err err; /* written before the mailbox is told */
};

static uint8_t *
buffer(const struct reader *r, uint32_t buf)
{
	size_t each = (size_t)r->run_blocks * WIRE_BLOCK_BYTES;
	const size_t chunk = (size_t)WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
	uint32_t parity = buf - r->ahead, urgent = parity - SERVER_PARITY_BUFFERS;

	if (buf < r->ahead)
		return r->blocks + buf * each;
	return parity < SERVER_PARITY_BUFFERS ? r->chunks + parity * chunk
	                                      : r->blocks + (r->ahead + urgent) * each;
}

/* The number of blocks up to the last one that is not all zero. */
static uint32_t
used_blocks(const uint8_t *bytes, uint32_t n)
{
	static const uint8_t zeros[WIRE_BLOCK_BYTES];

	while (n > 0 && memcmp(bytes + (size_t)(n - 1) * WIRE_BLOCK_BYTES, zeros,
			    WIRE_BLOCK_BYTES) == 0)
		n--;
	return n;
}

/* Finds the blocks before the empty end of a chunk.  Every byte of the end is read,
 * because what the image says of itself is not trusted. */
static int
find_content(struct reader *r, const struct server_run *run)
{
	uint8_t look[LOOK_BLOCKS * WIRE_BLOCK_BYTES];
	uint32_t end = WIRE_CHUNK_BLOCKS, used = 0;

	if (run->first + run->count == end) {
		used = used_blocks(buffer(r, run->buf), run->count);
		end = run->first;
	} else {
		source_want(r->source, run->chunk, NULL, SOURCE_SOON);
	}
	while (used == 0 && end > 0) {
		uint32_t n = end % LOOK_BLOCKS != 0 ? end % LOOK_BLOCKS : LOOK_BLOCKS;
		end -= n;
		if (retry_read(r->source, run->chunk, end, n, look, &r->err) != 0)
			return -1;
		used = used_blocks(look, n);
	}
	r->content[run->chunk] = (uint16_t)(end + used + (end + used == 0));
	return 0;
}

static int
read_run(struct reader *r, const struct server_run *run)
{
	if (retry_read(r->source, run->chunk, run->first, run->count,
		buffer(r, run->buf), &r->err) != 0)
		return -1;
	if (r->content == NULL || r->content[run->chunk] != 0)
		return 0;
	return find_content(r, run);
}

static void *
reader_main(void *arg)
{
	struct reader *r = arg;
	void *p;

	while (queue_get(r->runs, &p) == QUEUE_OK) {
		struct server_run *run = p;
		if (read_run(r, run) != 0) {
			mailbox_put(r->done, READER_FAILED, 0);
			break;
		}
		/* The identity is asked after the read, so that it does not judge bytes that are
		 * older than those that were read. */
		if (r->identity == NULL || identity_holds(r->identity, run->chunk))
			mailbox_put(r->done, READER_READ, run->buf);
	}
	return NULL;
}

int
reader_new(struct reader **out, struct source *source, uint32_t ahead, uint32_t run_blocks,
    bool content, struct identity *identity, struct mailbox *done, struct err *e)
{
	struct source_info info;

	if (source_info(source, &info, e) != 0)
		return -1;
	struct reader *r = calloc(1, sizeof *r);
	if (r == NULL)
		return err_nomem(e, "the reader");
	*r = (struct reader){
		.source = source,
		.identity = identity,
		.done = done,
		.ahead = ahead,
		.run_blocks = run_blocks
	};
	uint32_t urgent = SERVER_URGENT_BUFFERS;
	r->runs = queue_new(ahead + urgent);
	r->slots = calloc(ahead + SERVER_PARITY_BUFFERS + urgent, sizeof *r->slots);
	r->blocks = malloc((size_t)(ahead + urgent) * run_blocks * WIRE_BLOCK_BYTES);
	r->chunks = malloc(
	    (size_t)SERVER_PARITY_BUFFERS * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES);
	if (content) /* without memory everything is sent */
		r->content = calloc(info.chunks, sizeof *r->content);
	if (r->runs == NULL || r->slots == NULL || r->blocks == NULL ||
	    r->chunks == NULL) {
		reader_free(r);
		return err_nomem(e, "read-ahead buffers");
	}
	errno = thread_start(&r->thread, reader_main, r);
	if (errno != 0) {
		err_os(e, "cannot start a thread");
		reader_free(r);
		return -1;
	}
	r->started = true;
	*out = r;
	return 0;
}

void
reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	if (r->started) {
		queue_cancel(r->runs);
		pthread_join(r->thread, NULL);
	}
	queue_free(r->runs);
	free(r->slots);
	free(r->blocks);
	free(r->chunks);
	free(r->content);
	free(r);
}

void
reader_ask(struct reader *r, const struct server_run *run)
{
	const struct blockmap need = blockmap_range(run->first, run->count);

	source_want(r->source, run->chunk, &need, SOURCE_NOW);
	r->slots[run->buf] = *run;
	if (run->buf >= r->ahead + SERVER_PARITY_BUFFERS)
		queue_put_first(r->runs, &r->slots[run->buf]);
	else
		queue_put(r->runs, &r->slots[run->buf]);
}

const uint8_t *
reader_block(const struct reader *r, uint32_t buf, uint32_t at)
{
	return buffer(r, buf) + (size_t)at * WIRE_BLOCK_BYTES;
}

bool
reader_content(const struct reader *r, uint32_t buf, uint32_t *chunk, uint32_t *blocks)
{
	*chunk = r->slots[buf].chunk;
	*blocks = r->content != NULL ? r->content[*chunk] : 0;
	return *blocks != 0;
}

const struct err *
reader_error(struct reader *r)
{
	return &r->err;
}
