/* encode.c: the threads between the source of windows and the packer.  maker.c calls
 * encode_all(), and the packer's work is done in the thread that calls it; a reader and
 * the compressors are threads of a pipeline. */
#include "common/image/write/encode.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/image/write/compress.h"
#include "common/image/write/recut.h"

enum { SPARE_BATCHES = 4 }; /* read ahead, and waiting for the packer */

/* The room of the open chunk in front of batch number `batch`, for the thread that
 * compresses that batch. */
struct room_board {
	pthread_mutex_t lock;
	size_t batch;
	struct packer_room room;
};

/* A window that was read, and found to be the next batch's first. */
struct held {
	size_t bytes; /* 0: there is none */
	struct window window;
	uint8_t raw[CUT_WINDOW_BYTES_MAX];
};

struct encode {
	const struct encode_config *cfg;
	unsigned version;
	struct recut *recut; /* the reader's, when windows follow the content; or NULL */
	struct held held;    /* the reader's */
	struct packer *packer;
	struct compressor cutter; /* the packer's own */
	struct room_board board;
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *batches;
};

static ssize_t
next_window(struct encode *c, struct window *w, uint8_t *raw, struct err *e)
{
	size_t held = c->held.bytes;

	if (held > 0) {
		*w = c->held.window;
		memcpy(raw, c->held.raw, held);
		c->held.bytes = 0;
		return (ssize_t)held;
	}
	w->nregions = w->nrelocs = 0;
	w->fresh = w->apart = false;
	ssize_t n = c->recut != NULL ? recut_next(c->recut, w, raw, e)
	                             : c->cfg->next(c->cfg->arg, w, raw, e);
	if (n > 0 && window_check(w, c->version, e) != 0)
		return -1;
	return n;
}

static void
hold(struct held *held, const struct window *w, const uint8_t *raw, size_t n)
{
	held->window = *w;
	memcpy(held->raw, raw, n);
	held->bytes = n;
}

/* Fragments of several aligned windows begin at multiples of their length, so that the same
 * data at the same place makes the same fragments; others begin where the content says so.
 * No fragment is in two batches. */
static bool
ends_batch(const struct encode *c, const struct batch *b, const struct window *next)
{
	uint64_t sectors = (uint64_t)c->cfg->codec.codec->windows * WINDOW_SECTORS;

	if (b->n == 0 || !c->cutter.several)
		return false;
	if (c->recut != NULL)
		return next->apart;
	return next->regions[0].off / sectors != b->windows[0].regions[0].off / sectors;
}

/* Fill a batch.  Returns 1 when it has windows, 0 at the end, or -1. */
static int
fill_batch(struct encode *c, struct batch *b, struct err *e)
{
	size_t most = c->recut != NULL ? CUT_WINDOW_BYTES_MAX : FRAGMENT_WINDOW_BYTES;

	b->n = 0;
	b->raw_at[0] = 0;
	while (batch_has_room(b, most)) {
		struct window *w = &b->windows[b->n];
		uint8_t *raw = b->raw + b->raw_at[b->n];
		ssize_t n = next_window(c, w, raw, e);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		if (ends_batch(c, b, w)) {
			hold(&c->held, w, raw, (size_t)n);
			break;
		}
		b->n++;
		b->raw_at[b->n] = b->raw_at[b->n - 1] + (size_t)n;
	}
	return b->n > 0;
}

static int
reader_stage(void *arg, struct err *e)
{
	struct encode *c = arg;
	void *p;
	int rc = 0;

	while (pool_get(c->batches, &p) == QUEUE_OK) {
		rc = fill_batch(c, p, e);
		if (rc == 1 && ordered_submit(c->work, p) == QUEUE_OK)
			continue;
		pool_put(c->batches, p);
		break;
	}
	if (rc >= 0)
		ordered_close(c->work);
	return rc < 0 ? -1 : 0;
}

/* A batch that is being compressed. */
struct asker {
	struct room_board *board;
	size_t batch;
};

static bool
ask_room(void *arg, struct packer_room *room)
{
	const struct asker *a = arg;

	pthread_mutex_lock(&a->board->lock);
	bool known = a->board->batch == a->batch;
	*room = a->board->room;
	pthread_mutex_unlock(&a->board->lock);
	return known;
}

/* Note the room in front of a batch, unless that of a later batch is known.  The packer's word
 * is the last one, and always comes. */
static void
post_room(struct room_board *board, size_t batch, const struct packer_room *room)
{
	pthread_mutex_lock(&board->lock);
	if (batch >= board->batch) {
		board->batch = batch;
		board->room = *room;
	}
	pthread_mutex_unlock(&board->lock);
}

static void
tell_room(void *arg, const struct packer_room *room)
{
	const struct asker *a = arg;

	post_room(a->board, a->batch + 1, room);
}

/* Compress one batch.  When it has an odd number of digests to make, compress another batch
 * that is there already, so that the odd digest is made together with one of that batch. */
static void
compress_some(struct encode *c, struct compressor *z, const struct rooms *rooms,
    struct batch *b, struct asker *asker)
{
	const struct precompressed *known = c->cfg->known;
	size_t first = asker->batch;
	void *other = NULL;

	if (known != NULL && !z->several) {
		compress_unknown(z, b, known);
		ordered_done(c->work, first);
		return;
	}
	compress_batch(z, b, rooms);
	if (batch_hash_odd(b) &&
	    ordered_try_begin(c->work, &other, &asker->batch) == QUEUE_OK)
		compress_batch(z, other, rooms);
	batch_hash(b, other);
	ordered_done(c->work, first);
	if (other != NULL)
		ordered_done(c->work, asker->batch);
}

static int
open_compressor(
    const struct encode_config *cfg, struct compressor *z, struct err *e)
{
	if (compressor_init(z, &cfg->codec, e) != 0)
		return -1;
	z->several &= !cfg->single;
	z->split = cfg->split;
	return 0;
}

static int
compressor_stage(void *arg, struct err *e)
{
	struct encode *c = arg;
	struct compressor z;
	struct asker asker = { .board = &c->board };
	struct rooms rooms = { .arg = &asker,
		.tell = tell_room,
		.ask = c->cutter.several || c->cutter.split ? ask_room : NULL };
	void *p;

	if (open_compressor(c->cfg, &z, e) != 0)
		return -1;
	while (ordered_begin(c->work, &p, &asker.batch) == QUEUE_OK)
		compress_some(c, &z, &rooms, p, &asker);
	compressor_free(&z);
	return 0;
}

static int
pack_batch(struct encode *c, struct batch *b, struct err *e)
{
	const struct encode_config *cfg = c->cfg;

	if (batch_pack(c->packer, &c->cutter, b, e) != 0)
		return -1;
	for (unsigned i = 0; i < b->n && cfg->packed != NULL; i++)
		if (cfg->packed(cfg->arg, &b->windows[i], b->raw + b->raw_at[i],
			b->raw_at[i + 1] - b->raw_at[i], b->chunks[i], e) != 0)
			return -1;
	return 0;
}

/* Pack all batches, in the calling thread, and wait for the other threads. */
static int
pack_all(struct encode *c, struct err *e)
{
	void *p;
	int rc = 0;

	for (size_t n = 1; rc == 0 && ordered_take(c->work, &p) == QUEUE_OK; n++) {
		rc = pack_batch(c, p, e);
		struct packer_room room = packer_room(c->packer);
		post_room(&c->board, n, &room);
		pool_put(c->batches, p);
	}
	if (rc != 0)
		pipeline_fail(c->pipe, e);
	rc = pipeline_join(c->pipe, e);
	while (ordered_drain(c->work, &p))
		pool_put(c->batches, p);
	return rc;
}

static int
start(struct encode *c, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = c->cfg->jobs != 0 ? c->cfg->jobs : cpus > 0 ? (size_t)cpus : 1;

	struct packer_room room = packer_room(c->packer);
	c->version = room.version;
	post_room(&c->board, 0, &room);
	/* With fragments of many windows, a batch may have an odd number of digests to make,
	 * and a compressor then works on two batches (compress_some()). */
	size_t each = c->cutter.several ? 2 : 1;
	size_t batches = n * each + SPARE_BATCHES;
	c->batches = pool_new(batches, sizeof(struct batch));
	c->work = ordered_new(batches);
	c->pipe = pipeline_new();
	if (c->batches == NULL || c->work == NULL || c->pipe == NULL)
		return err_nomem(e, "buffers");
	pipeline_attach_ordered(c->pipe, c->work);
	pipeline_attach_pool(c->pipe, c->batches);
	/* A thread that cannot be started cancels all; pack_all() tells why. */
	if (pipeline_start(c->pipe, reader_stage, c) == 0)
		while (n-- > 0 && pipeline_start(c->pipe, compressor_stage, c) == 0)
			;
	return 0;
}

static int
open_recut(struct encode *c, struct err *e)
{
	const struct recut_config cfg = { .next = c->cfg->next,
		.arg = c->cfg->arg,
		.zones = c->cfg->zones,
		.filler = c->cfg->filler,
		.files = c->cfg->single };

	return c->cfg->content ? recut_new(&c->recut, &cfg, e) : 0;
}

int
encode_all(const struct encode_config *cfg, struct packer *packer, struct err *e)
{
	struct encode c = { .cfg = cfg, .packer = packer };

	if (open_compressor(cfg, &c.cutter, e) != 0)
		return -1;
	pthread_mutex_init(&c.board.lock, NULL);
	int rc = open_recut(&c, e);
	if (rc == 0)
		rc = start(&c, e);
	if (rc == 0)
		rc = pack_all(&c, e);
	pipeline_free(c.pipe);
	ordered_free(c.work);
	pool_free(c.batches);
	recut_free(c.recut);
	compressor_free(&c.cutter);
	pthread_mutex_destroy(&c.board.lock);
	return rc;
}
