/* chain_source.c: the whole image that results from a base and its deltas, as a
 * source.  A thread makes its chunks in order, and no more of them than are needed
 * soon.  The owner of the source calls its functions, source_next() in one thread at
 * a time; take() and make() run in the source's own thread. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/queue.h"
#include "common/image/write/chain.h"

/* How many finished chunks of 1 MiB may wait for source_next(). */
enum { AHEAD = 4 };

struct chain {
	struct sectors **images;
	size_t n;
	struct chain_config cfg;
	struct layers *layers;
	struct rewrite_source whole;
	struct cut_zones zones;
	struct maker *maker;
	struct queue *chunks; /* closed when no more will come */
	struct cancel cancel;
	pthread_t thread;
	bool started;
	int rc;         /* the thread's result, with `why`; set before the queue is closed */
	struct err why;
	uint32_t next; /* chunk that source_next() gives out */
};

static int
take(void *arg, const void *chunk, struct err *e)
{
	struct chain *c = arg;
	void *copy;

	if (cancel_check(e) != 0)
		return -1;
	copy = malloc(SOURCE_CHUNK_BYTES);
	if (copy == NULL)
		return err_nomem(e, "a chunk");
	memcpy(copy, chunk, SOURCE_CHUNK_BYTES);
	queue_put(c->chunks, copy); /* nobody cancels this queue */
	return 0;
}

static void *
make(void *arg)
{
	struct chain *c = arg;

	cancel_work_for(&c->cancel);
	c->rc = rewrite_image(c->maker, &c->whole, NULL, &c->why);
	queue_close(c->chunks);
	return NULL;
}

static const char *
name(void *self)
{
	const struct chain *c = self;

	return sectors_name(c->images[c->n - 1]);
}

static int
info(void *self, struct source_info *info, struct err *e)
{
	(void)self;
	(void)e;
	info->in_order = true;
	return 0;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	(void)chunk;
	(void)need;
	(void)first;
	(void)to;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: cannot be read in any order: its chunks are made of a base and its deltas",
	    name(self));
}

static int
next(void *self, uint32_t *chunk, void *to, size_t *bytes, struct err *e)
{
	struct chain *c = self;
	void *made = NULL;
	bool end = queue_get(c->chunks, &made) != QUEUE_OK;

	if (made != NULL)
		memcpy(to, made, SOURCE_CHUNK_BYTES);
	free(made);
	if (c->cancel.signal != 0)
		return err_set(e, ERR_CANCELLED, "%s: is not needed any more", name(c));
	if (end) {
		if (c->rc != 0)
			*e = c->why;
		return c->rc;
	}
	*chunk = c->next++;
	*bytes = SOURCE_CHUNK_BYTES;
	return 1;
}

/* A thread that waits for a chunk sees that this thread has closed the queue. */
static void
cancel(void *self)
{
	struct chain *c = self;

	c->cancel.signal = SIGTERM;
}

static void
stop_thread(struct chain *c)
{
	void *made;

	c->cancel.signal = SIGTERM;
	while (queue_get(c->chunks, &made) == QUEUE_OK)
		free(made);
	pthread_join(c->thread, NULL);
}

static void
close_chain(void *self)
{
	struct chain *c = self;

	if (c->started)
		stop_thread(c);
	queue_free(c->chunks);
	maker_free(c->maker);
	cut_zones_free(&c->zones);
	layers_free(c->layers);
	for (size_t i = 0; i < c->n; i++)
		sectors_close(c->images[i]);
	free(c->images);
	free(c);
}

static int
open_maker(struct chain *c, struct err *e)
{
	c->whole = chain_whole(c->cfg.program, c->layers, c->images, c->n);
	c->whole.state = sectors_ext(c->images[c->n - 1])->state;
	if (rewrite_zones(&c->zones, &c->cfg.how, &c->whole, e) != 0)
		return -1;
	struct maker_config cfg = rewrite_as(&c->cfg.how, &c->whole);
	cfg.zones = &c->zones;
	cfg.take = take;
	cfg.taker = c;
	return maker_new(&c->maker, &cfg, e);
}

static int
begin(struct chain *c, struct err *e)
{
	if (chain_check(c->images, c->n, c->cfg.warn, e) != 0 ||
	    layers_new(&c->layers, c->images, c->n, e) != 0 || open_maker(c, e) != 0)
		return -1;
	c->chunks = queue_new(AHEAD);
	if (c->chunks == NULL)
		return err_nomem(e, name(c));
	c->cancel.whole = cancel_owner();
	int rc = thread_start(&c->thread, make, c);
	c->started = rc == 0;
	return c->started ? 0 : err_set(e, ERR_NOMEM, "a thread: %s", strerror(rc));
}

static struct chain *
new_chain(struct sectors *const images[], size_t n, const struct chain_config *cfg)
{
	struct chain *c = calloc(1, sizeof *c);
	struct sectors **v = calloc(n, sizeof(struct sectors *));

	if (c == NULL || v == NULL) {
		free(c);
		free(v);
		return NULL;
	}
	memcpy(v, images, n * sizeof(struct sectors *));
	c->images = v;
	c->n = n;
	c->cfg = *cfg;
	return c;
}

int
source_of_chain(struct source *out, struct sectors *const images[], size_t n,
    const struct chain_config *cfg, struct err *e)
{
	static const struct source_ops ops = { .name = name,
		.info = info,
		.read = read_blocks,
		.next = next,
		.cancel = cancel,
		.close = close_chain };
	struct chain *c = new_chain(images, n, cfg);

	if (c == NULL) {
		for (size_t i = 0; i < n; i++)
			sectors_close(images[i]);
		return err_nomem(e, "a base and its deltas");
	}
	if (begin(c, e) != 0) {
		close_chain(c);
		return -1;
	}
	*out = (struct source){ &ops, c };
	return 0;
}
