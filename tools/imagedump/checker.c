/* checker.c: the data of chunks is decoded and verified in parallel.  main.c calls
 * checker_give() for each chunk in the first thread; check_stage() runs in several
 * threads. */
#include "tools/imagedump/checker.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/pipeline.h"
#include "common/base/queue.h"
#include "common/image/read/chunk.h"

enum { WAITING = 2 }; /* chunks that no thread has begun: none waits for the reader */

struct checker {
	struct queue *work; /* of struct item */
	struct pipeline *pipe;
};

/* A chunk that is to be checked. */
struct item {
	uint32_t number; /* of the chunk */
	uint8_t bytes[NDZ_CHUNK_BYTES];
};

static int
check(const struct item *it, struct decoder *dec, struct err *e)
{
	struct chunk c;
	int rc = chunk_parse(&c, it->bytes, e);

	if (rc == 0) {
		rc = chunk_verify(&c, it->bytes, dec, e);
		chunk_free(&c);
	}
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", it->number);
}

/* A stage: decode and verify chunks until there are no more.  What comes after a
 * failure is thrown away, so that nobody waits for room in the queue. */
static int
check_stage(void *arg, struct err *e)
{
	struct checker *k = arg;
	struct decoder *dec = decoder_new();
	int rc = dec != NULL ? 0 : err_nomem(e, "a decoder");
	void *p;

	while (queue_get(k->work, &p) == QUEUE_OK) {
		if (rc == 0)
			rc = check(p, dec, e);
		if (rc != 0)
			pipeline_fail(k->pipe, e);
		free(p);
	}
	decoder_free(dec);
	return rc;
}

int
checker_give(struct checker *k, uint32_t number, const void *bytes, struct err *e)
{
	struct item *it = malloc(sizeof *it);

	if (it == NULL)
		return err_nomem(e, "a chunk");
	it->number = number;
	memcpy(it->bytes, bytes, sizeof it->bytes);
	if (!pipeline_failed(k->pipe) && queue_put(k->work, it) == QUEUE_OK)
		return 0;
	free(it);
	return err_set(e, ERR_CANCELLED, "cancelled");
}

static void
checker_free(struct checker *k)
{
	queue_free(k->work);
	pipeline_free(k->pipe);
	free(k);
}

int
checker_new(struct checker **out, uint64_t jobs, struct err *e)
{
	struct checker *k = calloc(1, sizeof *k);

	*out = k;
	if (k == NULL)
		return err_nomem(e, "threads");
	k->work = queue_new(WAITING);
	k->pipe = pipeline_new();
	if (k->work == NULL || k->pipe == NULL) {
		checker_free(k);
		return err_nomem(e, "threads");
	}
	for (size_t n = pipeline_jobs(jobs); n > 0; n--)
		pipeline_start(k->pipe, check_stage, k);
	return 0;
}

int
checker_end(struct checker *k, struct err *e)
{
	struct err first;

	queue_close(k->work);
	int rc = pipeline_join(k->pipe, &first);
	if (rc != 0)
		*e = first;
	checker_free(k);
	return rc;
}
