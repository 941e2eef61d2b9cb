/* source_live.c: chunks of a file that somebody else still writes (source_live.h).  The
 * lock is held for a moment only; who waits for a chunk sleeps. */
#include "common/image/read/source_live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mailbox.h"
#include "common/disk/disk.h"

/* What is told of chunks: one has come; none will, which is told once. */
enum { HAS_COME, HAS_FAILED };

struct live {
	struct live_config cfg; /* file and name: its own copies */
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t news;
	bool known; /* the image, and with it: */
	struct source_info image;
	struct source file;       /* it is read from */
	bool *here;               /* by chunk */
	uint32_t *order;          /* `nhere` chunks, in the order in which they came */
	uint32_t nhere, given;    /* how many of them source_next() has given out */
	struct mailbox *arrivals; /* of chunks, for source_arrived() */
	bool cancelled, ended, failed;
	struct err why; /* failed: for this reason */
};

/* Called with the lock. */
static void
fail(struct live *g, const struct err *e)
{
	if (g->failed)
		return;
	g->why = *e;
	g->failed = true;
	if (g->arrivals != NULL)
		mailbox_put(g->arrivals, HAS_FAILED, 0);
	pthread_cond_broadcast(&g->news);
}

/* The file is as long as the image from the beginning, so that it can be read like one. */
static int
open_file(struct live *g, struct err *e)
{
	struct disk *d;

	if (truncate(g->cfg.file, (off_t)g->image.bytes) != 0)
		return err_os(e, "%s", g->cfg.file);
	return disk_open(&d, g->cfg.file, DISK_READ, e) == 0 ? source_of_disk(&g->file, d, e)
	                                                 : -1;
}

static int
begin(struct live *g, struct err *e)
{
	g->here = calloc(g->image.chunks, sizeof *g->here);
	g->order = calloc(g->image.chunks, sizeof *g->order);
	if (g->here == NULL || g->order == NULL)
		return err_nomem(e, "the list of chunks");
	return mailbox_new(&g->arrivals, g->image.chunks + 1, e) == 0 ? open_file(g, e) : -1;
}

void
live_begin(struct live *g, const struct source_info *image)
{
	struct err e;

	pthread_mutex_lock(&g->lock);
	if (g->known) {
		err_set(&e, ERR_FORMAT,
		    "the first server was not a server, and another one has answered");
		fail(g, &e);
	} else {
		g->image = *image;
		g->known = begin(g, &e) == 0;
		if (!g->known)
			fail(g, &e);
	}
	pthread_cond_broadcast(&g->news);
	pthread_mutex_unlock(&g->lock);
}

void
live_has(struct live *g, uint32_t chunk)
{
	pthread_mutex_lock(&g->lock);
	if (g->known && chunk < g->image.chunks && !g->here[chunk]) {
		g->here[chunk] = true;
		g->order[g->nhere++] = chunk;
		mailbox_put(g->arrivals, HAS_COME, chunk);
		pthread_cond_broadcast(&g->news);
	}
	pthread_mutex_unlock(&g->lock);
}

void
live_end(struct live *g, const struct err *e)
{
	pthread_mutex_lock(&g->lock);
	g->ended = true;
	if (e != NULL)
		fail(g, e);
	pthread_cond_broadcast(&g->news);
	pthread_mutex_unlock(&g->lock);
}

static void
ask_for(struct live *g, uint32_t chunk)
{
	if (g->cfg.urgent != NULL)
		g->cfg.urgent(g->cfg.arg, chunk);
}

static const char *
name(void *self)
{
	const struct live *g = self;

	return g->cfg.name;
}

/* Called with the lock: wait for anything to happen.  -1: nothing will. */
static int
wait_for_news(struct live *g, struct err *e)
{
	if (g->cancelled)
		return err_set(e, ERR_CANCELLED, "%s: is not needed any more", g->cfg.name);
	if (g->failed) {
		*e = g->why;
		return err_ctx(e, "%s", g->cfg.name);
	}
	if (g->ended)
		return err_set(e, ERR_IO, "%s: the session ended too early", g->cfg.name);
	pthread_cond_wait(&g->news, &g->lock);
	return 0;
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	struct live *g = self;
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	while (rc == 0 && !g->known)
		rc = wait_for_news(g, e);
	if (rc == 0) {
		*out = g->image;
		out->in_order = false;
		out->live = true;
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* Is it known that there is no such chunk? */
static bool
is_outside(const struct live *g, uint32_t chunk)
{
	return g->known && chunk >= g->image.chunks;
}

/* Called with the lock. */
static int
wait_for_chunk(struct live *g, uint32_t chunk, struct err *e)
{
	bool asked = false;

	while (!g->known || !g->here[chunk]) {
		if (!asked && !g->ended)
			ask_for(g, chunk);
		asked = true;
		if (wait_for_news(g, e) != 0)
			return -1;
		if (is_outside(g, chunk))
			return err_set(
			    e, ERR_FORMAT, "%s: has no chunk %u", g->cfg.name, chunk);
	}
	return 0;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct live *g = self;

	pthread_mutex_lock(&g->lock);
	int rc = is_outside(g, chunk)
	             ? err_set(e, ERR_FORMAT, "%s: has no chunk %u", g->cfg.name, chunk)
	             : wait_for_chunk(g, chunk, e);
	pthread_mutex_unlock(&g->lock);
	return rc == 0 ? g->file.ops->read(g->file.self, chunk, need, first, to, e) : -1;
}

static void
want(void *self, uint32_t chunk, const struct blockmap *need, enum source_when when)
{
	struct live *g = self;

	(void)need; /* a chunk is proved as a whole */
	pthread_mutex_lock(&g->lock);
	bool lacks = !g->ended && !is_outside(g, chunk) && !(g->known && g->here[chunk]);
	pthread_mutex_unlock(&g->lock);
	if (lacks && when != SOURCE_WHENEVER)
		ask_for(g, chunk);
}

static int
next(void *self, uint32_t *chunk, void *to, size_t *bytes, struct err *e)
{
	struct live *g = self;
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	while (rc == 0 && (!g->known || (g->given == g->nhere && g->given < g->image.chunks)))
		rc = wait_for_news(g, e);
	bool all = rc == 0 && g->given == g->image.chunks;
	if (rc == 0 && !all)
		*chunk = g->order[g->given++];
	pthread_mutex_unlock(&g->lock);
	if (rc != 0 || all)
		return rc;
	*bytes = SOURCE_CHUNK_BYTES;
	return source_read(&g->file, *chunk, NULL, to, e) == 0 ? 1 : -1;
}

static int
arrivals_fd(void *self)
{
	const struct live *g = self;

	return mailbox_fd(g->arrivals);
}

static int
arrived(void *self, uint32_t *chunk, struct err *e)
{
	struct live *g = self;
	struct event ev;
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	if (mailbox_take(g->arrivals, &ev)) {
		*chunk = ev.n;
		rc = ev.what == HAS_COME;
	}
	if (rc == 0 && g->failed) {
		*e = g->why;
		rc = err_ctx(e, "%s", g->cfg.name);
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static void
cancel(void *self)
{
	struct live *g = self;

	pthread_mutex_lock(&g->lock);
	g->cancelled = true;
	pthread_cond_broadcast(&g->news);
	pthread_mutex_unlock(&g->lock);
	if (g->cfg.cancelled != NULL)
		g->cfg.cancelled(g->cfg.arg);
}

static void
free_live(struct live *g)
{
	source_close(&g->file);
	mailbox_free(g->arrivals);
	pthread_cond_destroy(&g->news);
	pthread_mutex_destroy(&g->lock);
	free(g->here);
	free(g->order);
	free((void *)(uintptr_t)g->cfg.file);
	free((void *)(uintptr_t)g->cfg.name);
	free(g);
}

static void
close_live(void *self)
{
	struct live *g = self;

	if (g->cfg.closed != NULL)
		g->cfg.closed(g->cfg.arg);
	if (g->known)
		unlink(g->cfg.file);
	free_live(g);
}

int
live_new(struct live **out, struct source *source, const struct live_config *cfg,
    struct err *e)
{
	static const struct source_ops ops = { .name = name,
		.info = info,
		.read = read_blocks,
		.want = want,
		.next = next,
		.arrivals_fd = arrivals_fd,
		.arrived = arrived,
		.cancel = cancel,
		.close = close_live };
	struct live *g = calloc(1, sizeof *g);

	if (g == NULL)
		return err_nomem(e, "a file that grows");
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->news, NULL);
	g->cfg = *cfg;
	g->cfg.file = strdup(cfg->file);
	g->cfg.name = strdup(cfg->name);
	if (g->cfg.file == NULL || g->cfg.name == NULL) {
		free_live(g);
		return err_nomem(e, "a file that grows");
	}
	*out = g;
	*source = (struct source){ &ops, g };
	return 0;
}
