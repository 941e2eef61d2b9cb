/* source_live.c: chunks of a file are given out while somebody else still writes it
 * (source_live.h).  The file's writer and the source's readers call this, in any thread.  The
 * lock is held for a moment only; a thread that waits for a chunk sleeps without it. */
#include "common/image/read/source_live.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/mailbox.h"
#include "common/base/timed.h"
#include "common/disk/disk.h"
#include "common/image/read/early.h"

/* The events in `arrivals`: a chunk has come; no more will come, which is told once. */
enum { HAS_COME, HAS_FAILED };

enum {
	/* A thread that waits asks again after this time, since its request may have been
	 * forgotten. */
	ASK_AGAIN_MS = 300,
	/* Whoever opens an image reads the beginning of each chunk in order, so the
	 * beginnings of several chunks are asked for together. */
	BEGINNING_BLOCKS = 16,
	CHUNKS_AHEAD = 24,
};

struct live {
	struct live_config cfg; /* file and name: its own copies */
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t news;
	uint64_t heard_us; /* when the writer last had something */
	bool known; /* live_begin() has set the members below */
	struct source_info image;
	struct source file;       /* the growing file, for reading */
	struct stock *early;      /* blocks that are there before their chunk; or NULL */
	bool *here;               /* by chunk: proved, and in the file */
	uint32_t *order;          /* `nhere` chunks, in the order in which they came */
	uint32_t nhere, given;    /* how many of them source_next() has given out */
	struct mailbox *arrivals; /* of chunks, for source_arrived() */
	bool cancelled, ended, failed;
	struct err why; /* the reason why it failed */
};

/* Note the first failure, and wake everybody.  Called with the lock. */
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

/* Make the file as long as the image, so that it can be read like one, and open it. */
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
	if (mailbox_new(&g->arrivals, g->image.chunks + 1, e) != 0 ||
	    (g->cfg.reading != NULL && early_open(&g->early, 0, e) != 0))
		return -1;
	return open_file(g, e);
}

void
live_begin(struct live *g, const struct source_info *image)
{
	struct err e;

	pthread_mutex_lock(&g->lock);
	g->heard_us = clock_us();
	if (g->known) {
		err_set(&e, ERR_FORMAT,
		    "what answered first was no server, and another server has answered since");
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
	g->heard_us = clock_us();
	if (g->known && chunk < g->image.chunks && !g->here[chunk]) {
		g->here[chunk] = true;
		if (g->early != NULL)
			early_forget(g->early, chunk);
		g->order[g->nhere++] = chunk;
		mailbox_put(g->arrivals, HAS_COME, chunk);
		pthread_cond_broadcast(&g->news);
	}
	pthread_mutex_unlock(&g->lock);
}

void
live_early(
    struct live *g, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	pthread_mutex_lock(&g->lock);
	g->heard_us = clock_us();
	if (g->known && g->cfg.reading != NULL && chunk < g->image.chunks && !g->here[chunk] &&
	    early_keep(g->early, chunk, first, count, data))
		pthread_cond_broadcast(&g->news);
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

/* The source whose early blocks this thread has found to be damaged: of that source the thread
 * takes proved chunks alone. */
static _Thread_local const struct live *distrusts;

static bool
other(void *self, unsigned attempt)
{
	const struct live *g = self;

	distrusts = attempt > 0 ? g : NULL;
	return g->cfg.reading != NULL && attempt == 1;
}

/* Has nothing come for too long, while a reader waited from began_us on?  Called with the lock. */
static bool
is_silent(const struct live *g, uint64_t began_us)
{
	uint64_t since_us = g->heard_us > began_us ? g->heard_us : began_us;

	return g->cfg.silence_us != 0 && clock_us() - since_us >= g->cfg.silence_us;
}

/* Wait until something happens, for ASK_AGAIN_MS at most.  began_us: when the reader began to
 * wait.  -1: nothing will happen any more, or nothing has come for too long.  Called with the
 * lock. */
static int
wait_for_news(struct live *g, uint64_t began_us, struct err *e)
{

	if (cancel_check(e) != 0)
		return -1;
	if (g->cancelled)
		return err_set(e, ERR_CANCELLED, "%s: is not needed any more", g->cfg.name);
	if (g->failed) {
		*e = g->why;
		return err_ctx(e, "%s", g->cfg.name);
	}
	if (g->ended)
		return err_set(e, ERR_IO, "%s: the session ended too early", g->cfg.name);
	if (is_silent(g, began_us))
		return err_set(e, ERR_IO, "%s: nothing was heard for %" PRIu64 " s", g->cfg.name,
		    g->cfg.silence_us / 1000000);
	timed_wait(&g->news, &g->lock, clock_us() + ASK_AGAIN_MS * UINT64_C(1000));
	return 0;
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	struct live *g = self;
	uint64_t began_us = clock_us();
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	while (rc == 0 && !g->known)
		rc = wait_for_news(g, began_us, e);
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

/* The blocks of these that are neither in the file nor there early, as far as this thread
 * takes early ones.  Called with the lock. */
static struct blockmap
lacking(const struct live *g, uint32_t chunk, const struct blockmap *need)
{
	const struct blockmap none = { { 0 } };

	if (g->known && g->here[chunk])
		return none;
	return g->early == NULL || distrusts == g
	           ? *need
	           : early_read(g->early, chunk, need, 0, NULL);
}

/* Do these blocks lie in the beginning of a chunk, with its first block? */
static bool
is_beginning(const struct blockmap *need)
{
	return blockmap_test(need, 0) &&
	       blockmap_next(need, BEGINNING_BLOCKS) == WIRE_CHUNK_BLOCKS;
}

/* Ask the file's writer for these blocks.  Called with the lock. */
static void
ask(struct live *g, uint32_t chunk, const struct blockmap *need)
{
	uint32_t end = chunk + (g->known && is_beginning(need) ? CHUNKS_AHEAD : 1);

	if (g->ended)
		return;
	if (distrusts == g || g->cfg.reading == NULL) {
		ask_for(g, chunk);
		return;
	}
	for (uint32_t i = chunk; i < end && (!g->known || i < g->image.chunks); i++) {
		struct blockmap lack = lacking(g, i, need);
		if (!blockmap_empty(&lack))
			g->cfg.reading(g->cfg.arg, i, &lack);
	}
}

/* Wait until these blocks can be read.  Called with the lock. */
static int
wait_for_blocks(
    struct live *g, uint32_t chunk, const struct blockmap *need, struct err *e)
{
	struct blockmap lack;
	uint64_t began_us = clock_us(), asked_us = 0;

	while (lack = lacking(g, chunk, need), !blockmap_empty(&lack)) {
		uint64_t now_us = clock_us();
		if (asked_us == 0 || now_us - asked_us >= ASK_AGAIN_MS * 1000) {
			ask(g, chunk, need);
			asked_us = now_us;
		}
		if (wait_for_news(g, began_us, e) != 0)
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
	             : wait_for_blocks(g, chunk, need, e);
	bool here = rc == 0 && g->here[chunk];
	if (rc == 0 && !here)
		early_read(g->early, chunk, need, first, to);
	pthread_mutex_unlock(&g->lock);
	return here ? g->file.ops->read(g->file.self, chunk, need, first, to, e) : rc;
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
	uint64_t began_us = clock_us();
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	while (rc == 0 && (!g->known || (g->given == g->nhere && g->given < g->image.chunks)))
		rc = wait_for_news(g, began_us, e);
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
	stock_free(g->early);
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
		.other = other,
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
