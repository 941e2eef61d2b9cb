/* behind.c: writes to the disk what was fetched for clients, after they were answered.  streamed.c
 * calls behind_put() in any thread; a thread of its own writes.
 *
 * What cannot be written stays absent, and is fetched again when it is needed. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "stream/disk/streamed_impl.h"

/* Bounds the memory; a client that reads faster than the disk writes has the rest fetched again
 * later. */
enum { WAITING_BYTES_MAX = 32 << 20 };

/* Take what has waited longest, or wait for it.  NULL: the thread is to end. */
static struct fetched *
take(struct behind *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->first == NULL && !b->ending)
		pthread_cond_wait(&b->news, &b->lock);
	struct fetched *f = b->first;
	if (f != NULL && (b->first = f->next) == NULL)
		b->last = &b->first;
	pthread_mutex_unlock(&b->lock);
	return f;
}

static void
give_back(struct behind *b, struct fetched *f)
{
	pthread_mutex_lock(&b->lock);
	b->bytes -= f->sectors.len * SECTOR_BYTES;
	pthread_mutex_unlock(&b->lock);
	free(f);
}

static void *
write_behind(void *arg)
{
	struct streamed *d = arg;
	struct fetched *f;
	uint64_t written;
	struct err e;

	while ((f = take(&d->behind)) != NULL) {
		if (streamed_put(d, f->sectors, f->data, &written, &e) != 0)
			streamed_tell(d, "%s; what was fetched stays absent", e.text);
		give_back(&d->behind, f);
	}
	return NULL;
}

int
behind_start(struct streamed *d, struct err *e)
{
	struct behind *b = &d->behind;

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->news, NULL);
	b->last = &b->first;
	if (thread_start(&b->thread, write_behind, d) != 0)
		return err_set(e, ERR_IO, "%s: no thread can be started", d->cfg.disk);
	b->running = true;
	return 0;
}

void
behind_end(struct streamed *d)
{
	struct behind *b = &d->behind;

	if (!b->running)
		return;
	pthread_mutex_lock(&b->lock);
	b->ending = true;
	pthread_cond_signal(&b->news);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	b->running = false;
	pthread_cond_destroy(&b->news);
	pthread_mutex_destroy(&b->lock);
}

/* Count `bytes` as waiting, if there is room for them.  False: there is none. */
static bool
reserve(struct behind *b, size_t bytes)
{
	pthread_mutex_lock(&b->lock);
	bool room = b->bytes + bytes <= WAITING_BYTES_MAX;
	b->bytes += room ? bytes : 0;
	pthread_mutex_unlock(&b->lock);
	return room;
}

void
behind_put(struct streamed *d, struct range sectors, const uint8_t *data)
{
	struct behind *b = &d->behind;
	size_t bytes = sectors.len * SECTOR_BYTES;

	if (!b->running || !reserve(b, bytes))
		return;
	struct fetched *f = malloc(sizeof *f + bytes);
	pthread_mutex_lock(&b->lock);
	if (f != NULL) {
		*f = (struct fetched){ .sectors = sectors };
		memcpy(f->data, data, bytes);
		*b->last = f;
		b->last = &f->next;
		pthread_cond_signal(&b->news);
	} else {
		b->bytes -= bytes;
	}
	pthread_mutex_unlock(&b->lock);
}
