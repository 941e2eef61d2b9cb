/* checker.c: the data of chunks is decoded and verified in parallel.  main.c calls
 * checker_give() for each chunk in the first thread; check_stage() runs in several
 * threads of a pipeline, free_stage() in one. */
#include "tools/imagedump/checker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/image/read/chunk.h"

struct checker {
	struct ordered *work; /* of struct item */
	struct pipeline *pipe;
};

/* A chunk that is to be checked. */
struct item {
	uint32_t number; /* of the chunk */
	uint8_t bytes[NDZ_CHUNK_BYTES];
};

/* A stage: decode and verify chunks until there are no more, or one is wrong. */
static int
check_stage(void *arg, struct err *e)
{
	struct ordered *work = arg;
	struct decoder *dec = decoder_new();
	void *p;
	size_t ticket;
	int rc = 0;

	if (dec == NULL)
		return err_nomem(e, "a decoder");
	while (rc == 0 && ordered_begin(work, &p, &ticket) == QUEUE_OK) {
		struct item *it = p;
		struct chunk c;
		rc = chunk_parse(&c, it->bytes, e);
		if (rc == 0) {
			rc = chunk_verify(&c, it->bytes, dec, e);
			chunk_free(&c);
		}
		if (rc != 0)
			err_ctx(e, "chunk %u", it->number);
		ordered_done(work, ticket);
	}
	decoder_free(dec);
	return rc;
}

/* A stage: free the chunks that were checked. */
static int
free_stage(void *arg, struct err *e)
{
	void *p;

	(void)e;
	while (ordered_take(arg, &p) == QUEUE_OK)
		free(p);
	return 0;
}

int
checker_give(struct checker *k, uint32_t number, const void *bytes, struct err *e)
{
	struct item *it = malloc(sizeof *it);

	if (it == NULL)
		return err_nomem(e, "a chunk");
	it->number = number;
	memcpy(it->bytes, bytes, sizeof it->bytes);
	if (ordered_submit(k->work, it) == QUEUE_OK)
		return 0;
	free(it);
	return err_set(e, ERR_CANCELLED, "cancelled");
}

static void
checker_free(struct checker *k)
{
	ordered_free(k->work);
	pipeline_free(k->pipe);
	free(k);
}

int
checker_new(struct checker **out, uint64_t jobs, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t n = jobs != 0 ? jobs : cpus > 0 ? (uint64_t)cpus : 1;
	struct checker *k = calloc(1, sizeof *k);

	*out = NULL;
	if (k == NULL)
		return err_nomem(e, "threads");
	k->work = ordered_new(n + 2);
	k->pipe = pipeline_new();
	if (k->work == NULL || k->pipe == NULL) {
		checker_free(k);
		return err_nomem(e, "threads");
	}
	pipeline_attach_ordered(k->pipe, k->work);
	pipeline_start(k->pipe, free_stage, k->work);
	for (uint64_t i = 0; i < n; i++)
		pipeline_start(k->pipe, check_stage, k->work);
	*out = k;
	return 0;
}

int
checker_end(struct checker *k, struct err *e)
{
	struct err first;
	void *left;

	ordered_close(k->work);
	int rc = pipeline_join(k->pipe, &first);
	if (rc != 0)
		*e = first;
	while (ordered_drain(k->work, &left))
		free(left);
	checker_free(k);
	return rc;
}
