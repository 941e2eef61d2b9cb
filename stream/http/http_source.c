/* http_source.c: a file on a web server as a source.  Readers of the source call this, in any
 * thread.
 *
 * A reader that opens an image reads the first blocks of each chunk in order, which would take
 * one round trip for each chunk.  For this reason the first blocks of HEADS_AHEAD chunks are
 * fetched together. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stream/http/http.h"

enum {
	HEAD_BLOCKS = 4, /* at the beginning of a chunk: its header */
	HEAD_BYTES = HEAD_BLOCKS * SOURCE_BLOCK_BYTES,
	HEADS_AHEAD = 64,
	RUNS_MAX = WIRE_CHUNK_BLOCKS / 2,
};

struct http_source {
	struct http *http;
	uint32_t chunks;
	pthread_mutex_t lock;     /* guards the next two lines */
	uint32_t first, n;        /* heads of chunks first to first + n - 1 are in heads[] */
	uint8_t (*heads)[HEAD_BYTES]; /* HEADS_AHEAD */
};

static const char *
name(void *self)
{
	const struct http_source *s = self;

	return http_name(s->http);
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	const struct http_source *s = self;

	(void)e;
	out->bytes = http_bytes(s->http);
	out->chunks = s->chunks;
	return 0;
}

/* Cut the range at the end of the file; bytes behind the end are zeros.  Returns false if nothing
 * is to be fetched. */
static bool
cut(const struct http_source *s, struct http_range *r)
{
	uint64_t size = http_bytes(s->http), left = r->at < size ? size - r->at : 0;
	size_t there = left < r->bytes ? (size_t)left : r->bytes;

	memset(r->to + there, 0, r->bytes - there);
	r->bytes = there;
	return there > 0;
}

static struct http_range
head_of(const struct http_source *s, uint32_t chunk)
{
	return (struct http_range){ (uint64_t)chunk * SOURCE_CHUNK_BYTES, HEAD_BYTES,
		s->heads[chunk - s->first] };
}

/* Fetch the heads of this chunk and of the chunks behind it.  The caller holds the lock. */
static int
fetch_heads(struct http_source *s, uint32_t chunk, struct err *e)
{
	struct http_range ranges[HEADS_AHEAD];
	uint32_t left = s->chunks - chunk, wanted = left < HEADS_AHEAD ? left : HEADS_AHEAD;
	size_t n = 0;

	s->first = chunk;
	s->n = 0;
	for (uint32_t i = 0; i < wanted; i++) {
		ranges[n] = head_of(s, chunk + i);
		n += cut(s, &ranges[n]);
	}
	if (http_fetch(s->http, ranges, n, e) != 0)
		return -1;
	s->n = wanted;
	return 0;
}

/* Read the head of a chunk.  Returns 1; 0: the reads are not in order, so the head must be
 * fetched alone; -1. */
static int
read_head(struct http_source *s, uint32_t chunk, void *to, struct err *e)
{
	if (pthread_mutex_trylock(&s->lock) != 0)
		return 0;
	int rc = 1;
	if (chunk - s->first >= s->n)
		rc = chunk != s->first + s->n           ? 0
		     : fetch_heads(s, chunk, e) == 0 ? 1
		                                     : -1;
	if (rc == 1)
		memcpy(to, s->heads[chunk - s->first], HEAD_BYTES);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int
read_runs(struct http_source *s, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct http_range ranges[RUNS_MAX + 1];
	size_t n = 0;
	uint32_t b = 0, run;

	for (;; b += run) {
		b = blockmap_next(need, b);
		run = blockmap_run(need, b, WIRE_CHUNK_BLOCKS - b);
		if (run == 0)
			break;
		ranges[n] = (struct http_range){ (uint64_t)chunk * SOURCE_CHUNK_BYTES +
			    (uint64_t)b * SOURCE_BLOCK_BYTES,
			(size_t)run * SOURCE_BLOCK_BYTES,
			(uint8_t *)to + (size_t)(b - first) * SOURCE_BLOCK_BYTES };
		n += cut(s, &ranges[n]);
	}
	return n > 0 ? http_fetch(s->http, ranges, n, e) : 0;
}

static bool
is_head(const struct blockmap *need, uint32_t first)
{
	const struct blockmap head = blockmap_range(0, HEAD_BLOCKS);

	return first == 0 && memcmp(need, &head, sizeof head) == 0;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct http_source *s = self;

	if (chunk >= s->chunks)
		return err_set(e, ERR_FORMAT, "%s: has no chunk %u: it is too short",
		    http_name(s->http), chunk);
	int rc = is_head(need, first) ? read_head(s, chunk, to, e) : 0;
	if (rc != 0)
		return rc == 1 ? 0 : -1;
	return read_runs(s, chunk, need, first, to, e);
}

static void
cancel(void *self)
{
	struct http_source *s = self;

	http_cancel(s->http);
}

static void
close_http(void *self)
{
	struct http_source *s = self;

	http_close(s->http);
	pthread_mutex_destroy(&s->lock);
	free(s->heads);
	free(s);
}

static int
count_chunks(struct http_source *s, struct err *e)
{
	uint64_t bytes = http_bytes(s->http);
	uint64_t chunks = bytes / SOURCE_CHUNK_BYTES + (bytes % SOURCE_CHUNK_BYTES != 0);

	if (chunks >= SOURCE_CHUNKS_UNKNOWN)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: has more chunks than can be counted", http_name(s->http));
	s->chunks = (uint32_t)chunks;
	return 0;
}

int
source_of_http(struct source *out, const char *url, struct err *e)
{
	static const struct source_ops ops = { .name = name,
		.info = info,
		.read = read_blocks,
		.cancel = cancel,
		.close = close_http };
	struct http_source *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, url);
	pthread_mutex_init(&s->lock, NULL);
	s->heads = malloc(HEADS_AHEAD * sizeof *s->heads);
	int rc = s->heads != NULL ? http_open(&s->http, url, e) : err_nomem(e, url);
	if (rc == 0)
		rc = count_chunks(s, e);
	if (rc != 0) {
		close_http(s);
		return -1;
	}
	*out = (struct source){ &ops, s };
	return 0;
}
