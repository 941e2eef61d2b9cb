/* put.c: puts an image into a store.  The thread that has the chunks calls put_room() and
 * put_chunk(); several worker threads look at the chunks (prepare.c), and one writer
 * thread makes packs and the recipe of them. */
#include "emustore/store/put.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "emustore/store/given.h"
#include "emustore/store/put_impl.h"
#include "emustore/store/writer.h"

enum { SPARE_CHUNKS = 3 }; /* chunks that were read ahead, or wait for the writer */

/* The version that was asked for must not be in the store, nor have been there.
 * writer_put_image() checks the first again at the end. */
static int
check_version(struct put *p, struct err *e)
{
	struct index_image old;
	struct store_name *name = &p->about.name;
	int rc = name->version != 0 ? store_find_image(p->s, name, &old, e) : 0;

	if (rc == 1)
		return err_set(e, ERR_REFUSED, "%s:%" PRIu32 " is in the store already",
		    name->name, name->version);
	if (rc == 0 && name->version != 0)
		rc = given_has(p->s, name, e);
	if (rc != 1)
		return rc;
	return err_set(e, ERR_REFUSED,
	    "%s:%" PRIu32 " was in the store, and was removed: copies of it may have this name "
	    "and number, so that no other image gets them",
	    name->name, name->version);
}

static int
make_rooms(struct put *p, struct err *e)
{
	p->jobs = pipeline_jobs(p->cfg.jobs);
	p->all = calloc(p->jobs + SPARE_CHUNKS, sizeof *p->all);
	p->n = p->all != NULL ? p->jobs + SPARE_CHUNKS : 0;
	p->idle = queue_new(p->jobs + SPARE_CHUNKS);
	p->work = ordered_new(p->jobs + SPARE_CHUNKS);
	p->pipe = pipeline_new();
	if (p->all == NULL || p->idle == NULL || p->work == NULL || p->pipe == NULL)
		return err_nomem(e, "chunks");
	for (size_t i = 0; i < p->n; i++) {
		p->all[i].bytes = malloc(NDZ_CHUNK_BYTES);
		if (p->all[i].bytes == NULL)
			return err_nomem(e, "chunks");
		queue_put(p->idle, &p->all[i]);
	}
	pipeline_attach_queue(p->pipe, p->idle);
	pipeline_attach_ordered(p->pipe, p->work);
	return 0;
}

static int
worker_stage(void *arg, struct err *e)
{
	struct put *p = arg;
	struct preparer *w = preparer_new(&p->shared);
	void *item;
	size_t ticket;

	if (w == NULL)
		return err_nomem(e, "a thread's memory");
	while (ordered_begin(p->work, &item, &ticket) == QUEUE_OK) {
		prepare_chunk(w, item);
		ordered_done(p->work, ticket);
	}
	preparer_free(w);
	return 0;
}

static int
end_block(struct put *p, struct err *e)
{
	if (p->block_chunks == 0)
		return 0;
	int rc = recipe_put_block(&p->record, p->block_chunks, &p->block, e);
	p->block.len = 0;
	p->block_chunks = 0;
	return rc;
}

static void
count_kind(struct put *p, const struct prepared *x)
{
	p->stats.recompressed_chunks += x->kind == PREPARED_REDEFLATED;
	p->stats.whole_chunks += x->kind == PREPARED_WHOLE;
	p->stats.encrypted_chunks += x->kind == PREPARED_ENCRYPTED;
}

/* Write the next chunk in order, or return the failure that it was prepared with. */
static int
write_chunk(struct put *p, struct prepared *x, struct err *e)
{
	int rc = x->rc;

	if (rc != 0)
		*e = x->err;
	if (rc == 0) {
		pthread_mutex_lock(&p->shared.lock);
		rc = put_use_pieces(p, x, e);
		pthread_mutex_unlock(&p->shared.lock);
		if (rc == 0)
			rc = put_describe(p, x, e);
		count_kind(p, x);
		chunk_free(&x->c);
		x->rc = -1;
	}
	p->about.chunks++;
	p->about.data_bytes += rc == 0 ? x->c.raw_bytes : 0;
	if (rc == 0 && ++p->block_chunks == RECIPE_BLOCK_CHUNKS)
		rc = end_block(p, e);
	return rc == 0 ? 0 : err_ctx(e, "chunk %u", p->about.chunks - 1);
}

static int
writer_stage(void *arg, struct err *e)
{
	struct put *p = arg;
	void *item;
	int rc = 0;

	while (rc == 0 && ordered_take(p->work, &item) == QUEUE_OK) {
		rc = write_chunk(p, item, e);
		if (rc == 0)
			rc = cancel_check(e);
		queue_put(p->idle, item);
	}
	return rc;
}

/* Start all threads.  -1: the pipeline has failed, and join() tells why. */
static int
start(struct put *p)
{
	int rc = pipeline_start(p->pipe, writer_stage, p);

	for (size_t i = 0; i < p->jobs && rc == 0; i++)
		rc = pipeline_start(p->pipe, worker_stage, p);
	return rc;
}

/* End the threads, and free what chunks on their way own.  Later calls only return the
 * same result again. */
static int
join(struct put *p, struct err *e)
{
	void *item;

	if (!p->joined) {
		p->joined = true;
		p->rc = pipeline_join(p->pipe, &p->why);
		while (p->work != NULL && ordered_drain(p->work, &item)) {
			struct prepared *x = item;
			if (x->rc == 0)
				chunk_free(&x->c);
		}
	}
	if (p->rc != 0)
		*e = p->why;
	return p->rc;
}

int
put_begin(struct put **out, struct store *s, const struct recipe_image *about,
    const struct put_config *cfg, struct err *e)
{
	struct put *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "an image");
	p->s = s;
	p->cfg = *cfg;
	p->about = *about;
	p->sha = EVP_MD_CTX_new();
	p->rebuilder = rebuilder_new(NULL);
	p->again = malloc(NDZ_CHUNK_BYTES);
	p->shared = (struct prepare_shared){ .s = s,
		.exact = cfg->exact,
		.level = put_find_level(s, about->name.name) };
	pthread_mutex_init(&p->shared.lock, NULL);
	int rc = 0;
	if (p->sha == NULL || p->rebuilder == NULL || p->again == NULL ||
	    EVP_DigestInit_ex(p->sha, EVP_sha256(), NULL) != 1)
		rc = err_nomem(e, "an image");
	if (rc == 0)
		rc = make_rooms(p, e);
	if (rc == 0)
		rc = check_version(p, e);
	if (rc == 0 && start(p) != 0)
		rc = join(p, e);
	if (rc != 0) {
		put_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void
put_free(struct put *p)
{
	struct err why, ignored;

	if (p == NULL)
		return;
	if (p->pipe != NULL && !p->joined) {
		err_set(&why, ERR_CANCELLED, "not complete");
		pipeline_fail(p->pipe, &why);
		join(p, &ignored);
	}
	pipeline_free(p->pipe);
	ordered_free(p->work);
	queue_free(p->idle);
	for (size_t i = 0; i < p->n; i++)
		prepared_free(&p->all[i]);
	free(p->all);
	EVP_MD_CTX_free(p->sha);
	pthread_mutex_destroy(&p->shared.lock);
	cut_zones_free(&p->shared.zones);
	rebuilder_free(p->rebuilder);
	recipe_chunk_free(&p->c);
	recipe_chunk_free(&p->decoded);
	put_known_free(p);
	free(p->places);
	free(p->again);
	buf_free(&p->digests);
	buf_free(&p->block);
	buf_free(&p->record);
	free(p);
}

int
put_level(const struct put *p)
{
	return p->shared.level;
}

void *
put_room(struct put *p, struct err *e)
{
	void *item;

	if (p->filling != NULL)
		return p->filling->bytes;
	if (cancel_check(e) != 0)
		return NULL;
	if (queue_get(p->idle, &item) != QUEUE_OK) {
		join(p, e);
		return NULL;
	}
	p->filling = item;
	return p->filling->bytes;
}

int
put_chunk(struct put *p, struct err *e)
{
	struct prepared *x = p->filling;

	p->filling = NULL;
	x->rc = -1; /* x->c owns nothing yet */
	if (!p->zones_known && prepare_zones(&p->shared, x->bytes, e) != 0)
		return -1;
	p->zones_known = true;
	EVP_DigestUpdate(p->sha, x->bytes, NDZ_CHUNK_BYTES);
	return ordered_submit(p->work, x) == QUEUE_OK ? 0 : join(p, e);
}

int
put_copy(void *put, const void *chunk, struct err *e)
{
	void *room = put_room(put, e);

	if (room == NULL)
		return -1;
	memcpy(room, chunk, NDZ_CHUNK_BYTES);
	return put_chunk(put, e);
}

int
put_end(
    struct put *p, struct recipe_image *about, struct put_stats *stats, struct err *e)
{
	ordered_close(p->work);
	int rc = join(p, e);
	if (rc == 0)
		rc = end_block(p, e);
	EVP_DigestFinal_ex(p->sha, p->about.sha256, NULL);
	if (rc == 0)
		rc = writer_put_image(p->s->putting, &p->about, &p->record, &p->digests,
		    &p->stats.recipe_bytes, e);
	p->stats.chunks = p->about.chunks;
	p->stats.damaged_packs = writer_damaged(p->s->putting);
	*about = p->about;
	*stats = p->stats;
	return rc;
}
