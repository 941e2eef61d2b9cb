#include "frisbeed/reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cli.h"
#include "common/base/log.h"
#include "common/base/queue.h"

/* A file on NFS may be gone for seconds. */
enum { RETRIES = 100, RETRY_MS = 100 };

struct reader {
	struct disk *disk;
	struct mailbox *done;
	struct queue *runs;
	uint32_t ahead, run_blocks;
	struct server_run *slots; /* what each buffer is being filled with */
	uint8_t *blocks;
	uint8_t *chunks; /* for parity: SERVER_PARITY_BUFFERS */
	pthread_t thread;
	bool started;
	struct err err; /* written before the mailbox is told */
};

static bool
is_passing(const struct err *e)
{
	return e->kind == ERR_IO &&
	       (e->os == EIO || e->os == ESTALE || e->os == ETIMEDOUT);
}

static uint8_t *
buffer(const struct reader *r, uint32_t buf)
{
	size_t each = (size_t)r->run_blocks * WIRE_BLOCK_BYTES;
	const size_t chunk = (size_t)WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;

	return buf < r->ahead ? r->blocks + buf * each
	                      : r->chunks + (buf - r->ahead) * chunk;
}

static uint64_t
run_at(const struct server_run *run)
{
	return ((uint64_t)run->chunk * WIRE_CHUNK_BLOCKS + run->first) *
	       WIRE_BLOCK_BYTES;
}

static int
read_run(struct reader *r, const struct server_run *run)
{
	uint8_t *to = buffer(r, run->buf);
	uint64_t at = run_at(run);
	uint64_t size = disk_size_bytes(r->disk),
		 want = (uint64_t)run->count * WIRE_BLOCK_BYTES;
	size_t n = (size_t)(size - at < want ? size - at : want);
	struct timespec pause = { 0, RETRY_MS * 1000000l };

	memset(to + n, 0, want - n);
	for (int tries = 0; disk_read(r->disk, to, n, at, &r->err) != 0; tries++) {
		if (!is_passing(&r->err) || tries == RETRIES || cli_signal() != 0)
			return -1;
		log_warn("read failed, trying again: %s", r->err.text);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static void *
reader_main(void *arg)
{
	struct reader *r = arg;
	void *p;

	while (queue_get(r->runs, &p) == QUEUE_OK) {
		struct server_run *run = p;
		if (read_run(r, run) != 0) {
			mailbox_put(r->done, READER_FAILED);
			break;
		}
		mailbox_put(r->done, run->buf);
	}
	return NULL;
}

int
reader_new(struct reader **out, struct disk *d, uint32_t ahead, uint32_t run_blocks,
    struct mailbox *done, struct err *e)
{
	struct reader *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "the reader");
	*r = (struct reader){
		.disk = d, .done = done, .ahead = ahead, .run_blocks = run_blocks
	};
	r->runs = queue_new(ahead);
	r->slots = calloc(ahead + SERVER_PARITY_BUFFERS, sizeof *r->slots);
	r->blocks = malloc((size_t)ahead * run_blocks * WIRE_BLOCK_BYTES);
	r->chunks = malloc(
	    (size_t)SERVER_PARITY_BUFFERS * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES);
	if (r->runs == NULL || r->slots == NULL || r->blocks == NULL ||
	    r->chunks == NULL) {
		reader_free(r);
		return err_nomem(e, "read-ahead buffers");
	}
	errno = pthread_create(&r->thread, NULL, reader_main, r);
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
	free(r);
}

void
reader_ask(struct reader *r, const struct server_run *run)
{
	disk_want(r->disk, run_at(run), (uint64_t)run->count * WIRE_BLOCK_BYTES);
	r->slots[run->buf] = *run;
	queue_put(r->runs, &r->slots[run->buf]);
}

const uint8_t *
reader_block(const struct reader *r, uint32_t buf, uint32_t at)
{
	return buffer(r, buf) + (size_t)at * WIRE_BLOCK_BYTES;
}

const struct err *
reader_error(struct reader *r)
{
	return &r->err;
}
