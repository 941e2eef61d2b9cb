/* load_source.c: a load as a source: load_source.h.  Whoever has the source calls its functions,
 * in any thread; on_image() and on_end() come from the load's thread, on_stored() from its
 * feeder's. */
#include "frisbee/load/load_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mailbox.h"
#include "common/disk/disk.h"
#include "common/wire/addr.h"

/* What is told of chunks: one has come; none will, which is told once. */
enum { HAS_COME, HAS_FAILED };

struct live {
	struct load *load;
	char *path;    /* of the file */
	char name[64]; /* for messages */
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t news;
	bool known; /* the image, and with it: */
	struct client_image image;
	struct source file;       /* it is read from */
	bool *here;               /* by chunk */
	uint32_t *order;          /* `nhere` chunks, in the order in which they came */
	uint32_t nhere, given;    /* how many of them source_next() has given out */
	struct mailbox *arrivals; /* of chunks, for source_arrived() */
	bool cancelled, ended, failed;
	struct err why; /* failed: for this reason */
	/* The caller's. */
	void (*told)(void *arg, int rc, const struct err *);
	void *told_arg;
};

/* Called with the lock. */
static void
fail(struct live *v, const struct err *e)
{
	if (v->failed)
		return;
	v->why = *e;
	v->failed = true;
	if (v->arrivals != NULL)
		mailbox_put(v->arrivals, HAS_FAILED, 0);
	pthread_cond_broadcast(&v->news);
}

/* The file is as long as the image from the beginning, so that it can be read like one. */
static int
open_file(struct live *v, struct err *e)
{
	struct disk *d;

	if (truncate(v->path, (off_t)v->image.bytes) != 0)
		return err_os(e, "%s", v->path);
	return disk_open(&d, v->path, DISK_READ, e) == 0 ? source_of_disk(&v->file, d, e)
	                                                 : -1;
}

static int
begin(struct live *v, struct err *e)
{
	v->here = calloc(v->image.chunks, sizeof *v->here);
	v->order = calloc(v->image.chunks, sizeof *v->order);
	if (v->here == NULL || v->order == NULL)
		return err_nomem(e, "the list of chunks");
	return mailbox_new(&v->arrivals, v->image.chunks + 1, e) == 0 ? open_file(v, e) : -1;
}

static void
on_image(void *arg, const struct client_image *image)
{
	struct live *v = arg;
	struct err e;

	pthread_mutex_lock(&v->lock);
	if (v->known) {
		err_set(&e, ERR_FORMAT,
		    "%s: the first server was not a server, and another one has "
		    "answered",
		    v->name);
		fail(v, &e);
	} else {
		v->image = *image;
		v->known = begin(v, &e) == 0;
		if (!v->known)
			fail(v, &e);
	}
	pthread_cond_broadcast(&v->news);
	pthread_mutex_unlock(&v->lock);
}

static void
on_stored(void *arg, uint32_t chunk)
{
	struct live *v = arg;

	pthread_mutex_lock(&v->lock);
	if (v->known && chunk < v->image.chunks && !v->here[chunk]) {
		v->here[chunk] = true;
		v->order[v->nhere++] = chunk;
		mailbox_put(v->arrivals, HAS_COME, chunk);
		pthread_cond_broadcast(&v->news);
	}
	pthread_mutex_unlock(&v->lock);
}

static void
on_end(void *arg, int rc, const struct err *e)
{
	struct live *v = arg;

	if (v->told != NULL)
		v->told(v->told_arg, rc, e);
	pthread_mutex_lock(&v->lock);
	v->ended = true;
	if (rc != 0)
		fail(v, e);
	pthread_cond_broadcast(&v->news);
	pthread_mutex_unlock(&v->lock);
}

static const char *
name(void *self)
{
	const struct live *v = self;

	return v->name;
}

/* Called with the lock: wait for anything to happen.  -1: nothing will. */
static int
wait_for_news(struct live *v, struct err *e)
{
	if (v->cancelled)
		return err_set(e, ERR_CANCELLED, "%s: is not needed any more", v->name);
	if (v->failed) {
		*e = v->why;
		return err_ctx(e, "%s", v->name);
	}
	if (v->ended)
		return err_set(e, ERR_IO, "%s: the session ended too early", v->name);
	pthread_cond_wait(&v->news, &v->lock);
	return 0;
}

static int
info(void *self, struct source_info *out, struct err *e)
{
	struct live *v = self;
	int rc = 0;

	pthread_mutex_lock(&v->lock);
	while (rc == 0 && !v->known)
		rc = wait_for_news(v, e);
	if (rc == 0) {
		out->chunks = v->image.chunks;
		out->bytes = v->image.bytes;
		out->live = true;
		out->has_identity = v->image.has_identity;
		memcpy(out->identity, v->image.identity, sizeof out->identity);
	}
	pthread_mutex_unlock(&v->lock);
	return rc;
}

/* Is it known that there is no such chunk? */
static bool
is_outside(const struct live *v, uint32_t chunk)
{
	return v->known && chunk >= v->image.chunks;
}

/* Called with the lock. */
static int
wait_for_chunk(struct live *v, uint32_t chunk, struct err *e)
{
	bool asked = false;

	while (!v->known || !v->here[chunk]) {
		if (!asked && !v->ended)
			load_urgent(v->load, chunk);
		asked = true;
		if (wait_for_news(v, e) != 0)
			return -1;
		if (is_outside(v, chunk))
			return err_set(
			    e, ERR_FORMAT, "%s: has no chunk %u", v->name, chunk);
	}
	return 0;
}

static int
read_blocks(void *self, uint32_t chunk, const struct blockmap *need, uint32_t first,
    void *to, struct err *e)
{
	struct live *v = self;

	pthread_mutex_lock(&v->lock);
	int rc = is_outside(v, chunk)
	             ? err_set(e, ERR_FORMAT, "%s: has no chunk %u", v->name, chunk)
	             : wait_for_chunk(v, chunk, e);
	pthread_mutex_unlock(&v->lock);
	return rc == 0 ? v->file.ops->read(v->file.self, chunk, need, first, to, e) : -1;
}

static void
want(void *self, uint32_t chunk, const struct blockmap *need, enum source_when when)
{
	struct live *v = self;

	(void)need; /* a chunk is proved as a whole */
	pthread_mutex_lock(&v->lock);
	bool lacks = !v->ended && !is_outside(v, chunk) && !(v->known && v->here[chunk]);
	pthread_mutex_unlock(&v->lock);
	if (lacks && when != SOURCE_WHENEVER)
		load_urgent(v->load, chunk);
}

static int
next(void *self, uint32_t *chunk, void *to, size_t *bytes, struct err *e)
{
	struct live *v = self;
	int rc = 0;

	pthread_mutex_lock(&v->lock);
	while (rc == 0 && (!v->known || (v->given == v->nhere && v->given < v->image.chunks)))
		rc = wait_for_news(v, e);
	bool all = rc == 0 && v->given == v->image.chunks;
	if (rc == 0 && !all)
		*chunk = v->order[v->given++];
	pthread_mutex_unlock(&v->lock);
	if (rc != 0 || all)
		return rc;
	*bytes = SOURCE_CHUNK_BYTES;
	return source_read(&v->file, *chunk, NULL, to, e) == 0 ? 1 : -1;
}

static int
arrivals_fd(void *self)
{
	const struct live *v = self;

	return mailbox_fd(v->arrivals);
}

static int
arrived(void *self, uint32_t *chunk, struct err *e)
{
	struct live *v = self;
	struct event ev;
	int rc = 0;

	pthread_mutex_lock(&v->lock);
	if (mailbox_take(v->arrivals, &ev)) {
		*chunk = ev.n;
		rc = ev.what == HAS_COME;
	}
	if (rc == 0 && v->failed) {
		*e = v->why;
		rc = err_ctx(e, "%s", v->name);
	}
	pthread_mutex_unlock(&v->lock);
	return rc;
}

static void
cancel(void *self)
{
	struct live *v = self;

	pthread_mutex_lock(&v->lock);
	v->cancelled = true;
	pthread_cond_broadcast(&v->news);
	pthread_mutex_unlock(&v->lock);
	load_stop(v->load);
}

static void
free_live(struct live *v)
{
	source_close(&v->file);
	mailbox_free(v->arrivals);
	pthread_cond_destroy(&v->news);
	pthread_mutex_destroy(&v->lock);
	free(v->here);
	free(v->order);
	free(v->path);
	free(v);
}

static void
close_live(void *self)
{
	struct live *v = self;
	struct err ignored; /* whoever read has heard of it */

	load_stop(v->load);
	load_end(v->load, NULL, &ignored);
	unlink(v->path);
	free_live(v);
}

static struct live *
new_live(const struct load_config *c, const char *file)
{
	struct live *v = calloc(1, sizeof *v);
	char addr[ADDR_TEXT_MAX];

	if (v == NULL)
		return NULL;
	pthread_mutex_init(&v->lock, NULL);
	pthread_cond_init(&v->news, NULL);
	snprintf(v->name, sizeof v->name, "%s:%u", addr_text(c->net.addr, addr),
	    c->net.port_lo);
	v->path = strdup(file);
	if (v->path != NULL)
		return v;
	free_live(v);
	return NULL;
}

static int
open_sink(void *arg, struct sink *sink, struct err *e)
{
	struct live *v = arg;
	const struct sink_file_config c = { .path = v->path,
		.written = on_stored,
		.arg = v };

	return sink_to_file(sink, &c, e);
}

int
source_of_load(struct source *out, const struct load_config *cfg, const char *file,
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
	struct live *v = new_live(cfg, file);
	struct load_config c = *cfg;

	if (v == NULL)
		return err_nomem(e, "the client");
	v->told = cfg->ended;
	v->told_arg = cfg->arg;
	c.any_file = false;
	c.keep_encrypted = true;
	c.open = open_sink;
	c.open_arg = v;
	c.tick = NULL;
	c.progress = NULL;
	c.say = NULL;
	c.image = on_image;
	c.ended = on_end;
	c.arg = v;
	pthread_mutex_lock(&v->lock); /* held until it is known which load this is */
	int rc = load_start(&v->load, &c, e);
	pthread_mutex_unlock(&v->lock);
	if (rc != 0) {
		free_live(v);
		return -1;
	}
	*out = (struct source){ &ops, v };
	return 0;
}
