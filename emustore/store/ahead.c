/* ahead.c: chunks that are made again, before they are asked for.  Called by store_disk.c, in
 * any thread; has threads of its own. */
#include "emustore/store/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"

enum state { EMPTY, WANTED, BEING_MADE, READY, FAILED };

struct slot {
	uint32_t chunk;
	enum state state;
	uint64_t used; /* when; of what is wanted, since when */
	unsigned waiting;
	uint8_t *bytes;
	struct err err;
};

struct ahead {
	const char *store, *name;
	const struct reopened *like;
	struct store_cache *cache;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	bool stop;
	uint64_t clock;
	unsigned jobs, running;
	uint32_t room, pending; /* slots; those wanted or being made */
	uint32_t last;          /* read, so that the next may be guessed */
	struct slot *slots;
	uint32_t *slot_of; /* by chunk: its slot, from 1 on, if that has it */
	pthread_t *threads;
};

static struct slot *
find(struct ahead *a, uint32_t chunk)
{
	uint32_t i = chunk < reopened_about(a->like)->chunks ? a->slot_of[chunk] : 0;

	return i != 0 ? &a->slots[i - 1] : NULL;
}

static void
forget(struct ahead *a, struct slot *s)
{
	if (s->state != EMPTY)
		a->slot_of[s->chunk] = 0;
	s->state = EMPTY;
}

/* Find a slot for the chunk: the idle slot that was not used for longest.  NULL: none is idle. */
static struct slot *
claim(struct ahead *a, uint32_t chunk)
{
	struct slot *best = NULL;

	for (uint32_t i = 0; i < a->room; i++) {
		struct slot *s = &a->slots[i];
		bool idle = s->state != WANTED && s->state != BEING_MADE &&
		            s->waiting == 0;
		if (idle && (best == NULL || s->used < best->used))
			best = s;
	}
	if (best == NULL)
		return NULL;
	forget(a, best);
	best->chunk = chunk;
	a->slot_of[chunk] = (uint32_t)(best - a->slots) + 1;
	best->state = WANTED;
	best->used = ++a->clock;
	a->pending++;
	pthread_cond_signal(&a->work);
	return best;
}

/* Request a chunk ahead, in no more than half of the room, so that chunks that were read stay. */
static void
want(struct ahead *a, uint32_t chunk)
{
	if (chunk < reopened_about(a->like)->chunks && a->pending < (a->room + 1) / 2 &&
	    find(a, chunk) == NULL)
		claim(a, chunk);
}

void
ahead_want(struct ahead *a, uint32_t i)
{
	pthread_mutex_lock(&a->lock);
	want(a, i);
	pthread_mutex_unlock(&a->lock);
}

/* After two reads in order, request the following chunks. */
static void
guess(struct ahead *a, uint32_t chunk)
{
	for (uint32_t k = 1; chunk == a->last + 1 && k <= a->jobs; k++)
		want(a, chunk + k);
	a->last = chunk;
}

static int
take(struct ahead *a, struct slot *s, void *out, size_t n, size_t at, struct err *e)
{
	s->waiting--;
	s->used = ++a->clock;
	if (s->state == READY) {
		memcpy(out, s->bytes + at, n);
		return 0;
	}
	*e = s->err;
	forget(a, s); /* it may be tried again */
	return -1;
}

int
ahead_read(struct ahead *a, uint32_t i, void *out, size_t n, size_t at, struct err *e)
{
	struct slot *s;

	pthread_mutex_lock(&a->lock);
	while ((s = find(a, i)) == NULL && (s = claim(a, i)) == NULL)
		pthread_cond_wait(&a->done, &a->lock);
	s->waiting++;
	*(s->state == READY ? &a->cache->hits : &a->cache->misses) += 1;
	guess(a, i);
	while (s->state == WANTED || s->state == BEING_MADE)
		pthread_cond_wait(&a->done, &a->lock);
	int rc = s->state == EMPTY ? err_set(e, ERR_FORMAT, "%s", s->err.text)
	                           : 0; /* another reader has seen why */
	if (rc == 0)
		rc = take(a, s, out, n, at, e);
	else
		s->waiting--;
	pthread_cond_broadcast(&a->done);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

static struct slot *
oldest_wanted(struct ahead *a)
{
	struct slot *best = NULL;

	for (uint32_t i = 0; i < a->room; i++) {
		struct slot *s = &a->slots[i];
		if (s->state == WANTED && (best == NULL || s->used < best->used))
			best = s;
	}
	return best;
}

static int
make(struct ahead *a, struct reopened **source, struct slot *s)
{
	if (s->bytes == NULL) {
		s->bytes = malloc(NDZ_CHUNK_BYTES);
		if (s->bytes == NULL)
			return err_nomem(&s->err, "a chunk");
		a->cache->bytes += NDZ_CHUNK_BYTES;
	}
	if (*source == NULL &&
	    reopened_open(source, a->store, a->name, a->like, &s->err) != 0)
		return -1;
	return reopened_chunk(*source, s->chunk, s->bytes, &s->err);
}

static void *
run(void *arg)
{
	struct ahead *a = arg;
	struct reopened *source = NULL;
	struct slot *s;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if ((s = oldest_wanted(a)) == NULL) {
			pthread_cond_wait(&a->work, &a->lock);
			continue;
		}
		s->state = BEING_MADE;
		pthread_mutex_unlock(&a->lock);
		int rc = make(a, &source, s);
		pthread_mutex_lock(&a->lock);
		s->state = rc == 0 ? READY : FAILED;
		s->used = ++a->clock;
		a->pending--;
		pthread_cond_broadcast(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	reopened_free(source);
	return NULL;
}

static int
start(struct ahead *a, struct err *e)
{
	while (a->running < a->jobs) {
		errno = thread_start(&a->threads[a->running], run, a);
		if (errno != 0)
			return a->running > 0 ? 0 : err_os(e, "cannot start a thread");
		a->running++;
	}
	return 0;
}

int
ahead_new(struct ahead **out, const char *store, const char *name,
    const struct reopened *like, struct store_cache *cache, uint32_t room, unsigned jobs,
    struct err *e)
{
	uint32_t least = 2 * jobs + 1; /* half of them may be wanted at once */
	struct ahead *a = calloc(1, sizeof *a);

	if (a == NULL)
		return err_nomem(e, name);
	*a = (struct ahead){ .store = store,
		.name = name,
		.like = like,
		.cache = cache,
		.room = room > least ? room : least,
		.jobs = jobs,
		.last = UINT32_MAX };
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->done, NULL);
	a->slots = calloc(a->room, sizeof *a->slots);
	a->slot_of = calloc(reopened_about(like)->chunks, sizeof *a->slot_of);
	a->threads = calloc(jobs, sizeof *a->threads);
	int rc = a->slots == NULL || a->slot_of == NULL || a->threads == NULL
	             ? err_nomem(e, name)
	             : start(a, e);
	if (rc == 0)
		*out = a;
	else
		ahead_free(a);
	return rc;
}

void
ahead_free(struct ahead *a)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->work);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->running; i++)
		pthread_join(a->threads[i], NULL);
	for (uint32_t i = 0; i < a->room && a->slots != NULL; i++)
		free(a->slots[i].bytes);
	free(a->slots);
	free(a->slot_of);
	free(a->threads);
	pthread_cond_destroy(&a->work);
	pthread_cond_destroy(&a->done);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
