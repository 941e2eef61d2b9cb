#include "imagezip/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "imagezip/compress.h"
#include "imagezip/windows.h"

enum { SPARE_BATCHES = 4 };	/* read ahead, and waiting for the packer */

/* What room the open chunk has in front of batch number `batch`, for whoever
 * compresses that one. */
struct room_board {
	pthread_mutex_t lock;
	size_t batch;
	struct packer_room room;
};

struct capture {
	const struct options *o;
	struct layout *layout;
	struct windows windows;
	struct output *output;
	struct progress *progress;
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *batches;
	struct packer *packer;
	struct compressor cutter;	/* the packer's own */
	struct room_board board;
	uint64_t data_bytes;
};

/* Fragments of several windows begin at multiples of their length, so that the
 * same data at the same place makes the same fragments. */
static bool
ends_batch(struct capture *c, uint64_t first)
{
	uint64_t windows = c->o->codec.codec->windows;

	return windows > 1 && windows_peek(&c->windows) / windows != first / windows;
}

/* 1 a batch with something in it, 0 the end, -1. */
static int
fill_batch(struct capture *c, struct batch *b, struct err *e)
{
	uint64_t first = windows_peek(&c->windows);

	b->n = 0;
	b->raw_at[0] = 0;
	while (b->n < BATCH_WINDOWS && !ends_batch(c, first)) {
		size_t at = b->raw_at[b->n];
		ssize_t n = windows_next(&c->windows, &b->windows[b->n], b->raw + at, e);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		b->raw_at[++b->n] = at + (size_t)n;
	}
	return b->n > 0;
}

static int
reader_stage(void *arg, struct err *e)
{
	struct capture *c = arg;
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

/* The packer comes last, but comes. */
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

static int
compressor_stage(void *arg, struct err *e)
{
	struct capture *c = arg;
	struct compressor z;
	struct asker asker = { .board = &c->board };
	struct rooms rooms = { .arg = &asker, .tell = tell_room,
		.ask = c->o->codec.codec->windows > 1 ? ask_room : NULL };
	void *p;

	if (compressor_init(&z, &c->o->codec, e) != 0)
		return -1;
	while (ordered_begin(c->work, &p, &asker.batch) == QUEUE_OK) {
		compress_batch(&z, p, &rooms);
		ordered_done(c->work, asker.batch);
	}
	compressor_free(&z);
	return 0;
}

static int
emit(void *arg, const void *chunk, struct err *e)
{
	struct capture *c = arg;

	if (c->o->dots)
		fputc('.', stderr);
	return output_write(c->output, chunk, NDZ_CHUNK_BYTES, e);
}

static int
pack_batch(struct capture *c, struct batch *b, struct err *e)
{
	if (batch_pack(c->packer, &c->cutter, b, e) != 0)
		return -1;
	c->data_bytes += b->raw_at[b->n];
	progress_at(c->progress, c->data_bytes);
	return cli_check_signal(e);
}

/* The calling thread's part. */
static int
pack_all(struct capture *c, struct err *e)
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

/* The image counts from its own sector 0. */
static int
note_lost(struct capture *c, struct rangeset *lost, struct err *e)
{
	struct rangeset s;
	int rc = 0;

	rangeset_init(&s);
	for (size_t i = 0; rc == 0 && i < rangeset_count(lost); i++) {
		struct range r = rangeset_get(lost, i);
		rc = rangeset_add(&s, (struct range){ r.off - c->layout->base, r.len }, e);
	}
	if (rc == 0)
		rc = packer_note_lost(c->packer, &s, e);
	rangeset_free(&s);
	return rc;
}

static int
finish(struct capture *c, struct rangeset *lost, struct err *e)
{
	uint32_t short_bytes = c->windows.short_bytes;
	uint64_t total = c->layout->total;

	if (short_bytes != 0 && !c->o->any_length)
		return err_set(e, ERR_USAGE, "%s: its length is not a multiple of 512; -f stores it as a "
		    "file", c->o->source);
	struct ndz_reloc r = { .type = NDZ_RELOC_SHORT_SECTOR, .sector = total - 1,
		.size = short_bytes };
	if (short_bytes != 0 && packer_add_reloc(c->packer, &r, e) != 0)
		return -1;
	if (note_lost(c, lost, e) != 0)
		return -1;
	if (packer_finish(c->packer, total, e) != 0)
		return err_ctx(e, "%s", c->o->source);
	return 0;
}

/* V3 holds sector numbers of 32 bits. */
static int
choose_version(const struct options *o, const struct layout *l, unsigned *version, struct err *e)
{
	bool large = l->total != UINT64_MAX && l->total > UINT32_MAX;

	bool own = o->codec.codec->id != CODEC_DEFLATE;

	*version = o->v5 || o->has_uuid || large || own ? 5 : 3;
	if (o->v3 && large)
		return err_set(e, ERR_USAGE, "-3: the source is too large for version 3");
	return 0;
}

static uint64_t
made_at(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");	/* reproducible images */
	struct err ignored;
	uint64_t t;

	if (epoch != NULL && cli_uint(epoch, 0, INT64_MAX, &t, &ignored) == 0)
		return t;
	return (uint64_t)time(NULL);
}

static int
open_packer(struct capture *c, struct disk *d, struct err *e)
{
	struct packer_config cfg = { .codec = c->o->codec, .emit = emit, .arg = c };

	if (choose_version(c->o, c->layout, &cfg.version, e) != 0)
		return -1;
	if (c->o->has_uuid) {
		memcpy(cfg.header_uuid, c->o->uuid, sizeof cfg.header_uuid);
		memcpy(cfg.uuid, c->o->uuid, sizeof cfg.uuid);
	} else {
		uuid_generate(cfg.uuid);
	}
	cfg.image = (struct ext_image){ .kind = c->layout->kind, .made_at = made_at(),
		.source_bytes = disk_seekable(d) ? disk_size_bytes(d) : 0,
		.sector_bytes = disk_sector_bytes(d) };
	snprintf(cfg.image.tool, sizeof cfg.image.tool, "imagezip %s", SUITE_VERSION);
	layout_describe(c->layout, cfg.image.filesystems, sizeof cfg.image.filesystems);
	return packer_new(&c->packer, &cfg, e);
}

static int
start(struct capture *c, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = c->o->jobs != 0 ? c->o->jobs : cpus > 0 ? (size_t)cpus : 1;

	struct packer_room room = packer_room(c->packer);
	post_room(&c->board, 0, &room);
	c->batches = pool_new(n + SPARE_BATCHES, sizeof(struct batch));
	c->work = ordered_new(n + SPARE_BATCHES);
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

int
capture_run(struct disk *d, struct layout *l, const struct options *o, struct output *out,
    struct progress *progress, struct capture_stats *s, struct err *e)
{
	struct capture c = { .o = o, .layout = l, .output = out, .progress = progress };

	*s = (struct capture_stats){ 0 };
	rangeset_init(&s->lost);
	pthread_mutex_init(&c.board.lock, NULL);
	windows_init(&c.windows, d, l, o, &s->lost);
	int rc = compressor_init(&c.cutter, &o->codec, e);
	if (rc == 0)
		rc = open_packer(&c, d, e);
	if (rc == 0)
		rc = start(&c, e);
	if (rc == 0)
		rc = pack_all(&c, e);
	if (rc == 0)
		rc = finish(&c, &s->lost, e);
	windows_done(&c.windows);
	s->data_bytes = c.data_bytes;
	s->total_sectors = l->total;
	s->chunks = c.packer != NULL ? packer_chunks(c.packer) : 0;
	pipeline_free(c.pipe);
	ordered_free(c.work);
	pool_free(c.batches);
	packer_free(c.packer);
	compressor_free(&c.cutter);
	pthread_mutex_destroy(&c.board.lock);
	return rc;
}
