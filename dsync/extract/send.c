/* send.c: the threads of an extract.  One cuts the changed ranges into batches, several read
 * the batches and make records, and the thread that called writes the records in order.
 * extract.c calls send_changed(), in its first thread. */
#include "dsync/extract/send.h"

#include <stdlib.h>
#include <string.h>

#ifndef NO_ZSTD
#include <zstd.h>
#endif

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/base/timed.h"
#include "dsync/read/parallel_read.h"
#include "dsync/read/zeros.h"

enum {
	READERS = 8,        /* a disk sorts and merges requests that it has together */
	FAR_READERS = 2,    /* for a disk on a server, which may allow few connections */
	BATCHES_MAX = 20,   /* of 2 MiB: some are read, some written, some wait */
	PIECES_MAX = 256,   /* in a batch; each becomes a record */
	BATCH_BYTES = STREAM_DATA_MAX,
	OUT_BYTES = BATCH_BYTES + PIECES_MAX * STREAM_RECORD_EXTRA,
	ZSTD_LEVEL = 1,     /* higher levels would be slower than the network */
};

struct piece {
	struct range bytes;
	bool hole;       /* known to be zeros without reading */
	const void *raw; /* the data; NULL: zeros */
	const uint8_t *out; /* the record, in the batch's out[] */
	size_t out_bytes;
};

/* Up to a mebibyte of data, and holes of any length. */
struct batch {
	unsigned n;
	size_t bytes; /* of data */
	struct piece pieces[PIECES_MAX];
	uint8_t raw[BATCH_BYTES]; /* data that zstd has compressed; other data is in out[] */
	uint8_t out[OUT_BYTES];
};

struct send {
	const struct send_config *cfg;
	struct uncached *reader;
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *pool;
};

/* Cuts the changed ranges into pieces. */
struct cutter {
	struct send *s;
	struct batch *batch;
	uint64_t data, hole; /* of the file: where the next data begins and ends */
	bool looked;        /* data and hole are known */
	size_t unused;      /* index of the next range that nobody uses */
};

/* Give the batch to the readers.  ERR_CANCELLED when another thread has failed. */
static int
submit(struct cutter *c, struct err *e)
{
	if (c->batch == NULL || c->batch->n == 0)
		return 0;
	if (ordered_submit(c->s->work, c->batch) != QUEUE_OK)
		return err_set(e, ERR_CANCELLED, "another part has failed");
	c->batch = NULL;
	return 0;
}

static int
add_piece(struct cutter *c, struct range bytes, bool hole, struct err *e)
{
	struct batch *b = c->batch;

	if (b != NULL && (b->n == PIECES_MAX || (!hole && b->bytes + bytes.len > BATCH_BYTES)) &&
	    submit(c, e) != 0)
		return -1;
	if (c->batch == NULL) {
		if (pool_get(c->s->pool, (void **)&c->batch) != QUEUE_OK)
			return err_set(e, ERR_CANCELLED, "another part has failed");
		c->batch->n = 0;
		c->batch->bytes = 0;
	}
	b = c->batch;
	b->pieces[b->n++] = (struct piece){ .bytes = bytes, .hole = hole };
	b->bytes += hole ? 0 : (size_t)bytes.len;
	return 0;
}

/* Find the first byte from `at` on that somebody uses, and whether `at` itself is used; *end is
 * lowered to where the used bytes end. */
static bool
is_used(struct cutter *c, uint64_t at, uint64_t *end, uint64_t *used_from)
{
	const struct rangeset *unused = c->s->cfg->unused;

	while (c->unused < rangeset_count(unused) &&
	       range_end(rangeset_get(unused, c->unused)) <= at)
		c->unused++;
	if (c->unused == rangeset_count(unused))
		return true;
	struct range r = rangeset_get(unused, c->unused);
	*used_from = range_end(r);
	if (r.off > at && r.off < *end)
		*end = r.off;
	return r.off > at;
}

/* Cut the next piece at `at`: a hole, or what nobody uses, up to its end, or data up to the next multiple of
 * BATCH_BYTES. */
static struct range
next_piece(struct cutter *c, uint64_t at, uint64_t end, bool *hole)
{
	uint64_t used_from = 0;

	*hole = !is_used(c, at, &end, &used_from);
	if (*hole)
		return (struct range){ at, (used_from < end ? used_from : end) - at };
	if (!c->looked || at >= c->hole) {
		uncached_holes(c->s->reader, at, &c->data, &c->hole);
		c->looked = true;
	}
	*hole = at < c->data;
	uint64_t to = *hole ? c->data : (at / BATCH_BYTES + 1) * BATCH_BYTES;
	if (!*hole && to > c->hole)
		to = c->hole;
	return (struct range){ at, (to < end ? to : end) - at };
}

static int
cut_all(void *arg, struct err *e)
{
	struct send *s = arg;
	struct cutter c = { .s = s };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(s->cfg->changed); i++) {
		struct range r = rangeset_get(s->cfg->changed, i), piece;
		bool hole;
		for (; rc == 0 && r.len > 0; r.off += piece.len, r.len -= piece.len) {
			piece = next_piece(&c, r.off, range_end(r), &hole);
			rc = cancel_check(e);
			if (rc == 0)
				rc = add_piece(&c, piece, hole, e);
		}
	}
	if (rc == 0)
		rc = submit(&c, e);
	if (c.batch != NULL)
		pool_put(s->pool, c.batch);
	ordered_close(s->work);
	return rc;
}

/* What one reader thread owns. */
struct worker {
	struct parallel_read *reads;
	void *packer; /* ZSTD_CCtx */
};

static int
worker_begin(struct worker *w, struct uncached *reader, bool zstd, struct err *e)
{
	*w = (struct worker){ 0 };
	if (parallel_read_new(&w->reads, reader, PIECES_MAX, BATCH_BYTES, e) != 0)
		return -1;
#ifndef NO_ZSTD
	w->packer = zstd ? ZSTD_createCCtx() : NULL;
#endif
	if (zstd && w->packer == NULL)
		return err_nomem(e, "reading");
	return 0;
}

static void
worker_end(struct worker *w)
{
	parallel_read_free(w->reads);
#ifndef NO_ZSTD
	ZSTD_freeCCtx(w->packer);
#endif
}

/* Compress the data into the record.  Returns the stored bytes; 0: compression saves nothing. */
static size_t
pack(struct worker *w, const void *data, size_t n, uint8_t *to)
{
#ifndef NO_ZSTD
	size_t got = w->packer != NULL && n > 1
	                 ? ZSTD_compressCCtx(w->packer, to, n - 1, data, n, ZSTD_LEVEL)
	                 : 0;
	return ZSTD_isError(got) ? 0 : got;
#else
	(void)w, (void)data, (void)n, (void)to;
	return 0;
#endif
}

/* Make the record of a piece at b->out + at; raw_at: bytes of data before it in b->raw. */
static void
make_record(struct worker *w, struct batch *b, struct piece *p, const uint8_t *data, size_t at,
    size_t raw_at)
{
	uint8_t *out = b->out + at, *payload = out + STREAM_RECORD_HEAD;
	size_t n = p->hole ? 0 : (size_t)p->bytes.len;

	p->out = out;
	p->raw = NULL;
	if (n == 0 || zeros_only(data, n)) {
		p->out_bytes = stream_put_record(out, STREAM_ZEROS, STREAM_RAW, p->bytes, 0);
		return;
	}
	size_t packed = pack(w, data, n, payload);
	uint8_t *keep = packed > 0 ? b->raw + raw_at : payload;
	memcpy(keep, data, n);
	p->raw = keep;
	p->out_bytes = stream_put_record(out, STREAM_DATA,
	    packed > 0 ? STREAM_ZSTD : STREAM_RAW, p->bytes, packed > 0 ? packed : n);
}

/* Read the data of a batch; data[] has it in the order of the pieces that are no holes. */
static int
read_batch(struct worker *w, const struct batch *b, uint8_t **data, struct err *e)
{
	struct range wanted[PIECES_MAX];
	size_t n = 0;

	for (unsigned i = 0; i < b->n; i++)
		if (!b->pieces[i].hole)
			wanted[n++] = b->pieces[i].bytes;
	return parallel_read_get(w->reads, wanted, n, data, e);
}

static int
make_records(struct worker *w, struct batch *b, struct err *e)
{
	size_t at = 0, raw_at = 0, nth = 0;
	uint8_t *data[PIECES_MAX];

	if (read_batch(w, b, data, e) != 0)
		return -1;
	for (unsigned i = 0; i < b->n; i++) {
		struct piece *p = &b->pieces[i];
		make_record(w, b, p, p->hole ? NULL : data[nth++], at, raw_at);
		at += p->out_bytes;
		raw_at += p->hole ? 0 : (size_t)p->bytes.len;
	}
	return 0;
}

static int
read_all(void *arg, struct err *e)
{
	struct send *s = arg;
	struct worker w;
	void *item;
	size_t ticket;
	int rc = worker_begin(&w, s->reader, s->cfg->zstd, e);

	while (rc == 0 && ordered_begin(s->work, &item, &ticket) == QUEUE_OK) {
		rc = make_records(&w, item, e);
		/* Known before the batch can be taken, since not all its records were made. */
		if (rc != 0)
			pipeline_fail(s->pipe, e);
		ordered_done(s->work, ticket);
	}
	worker_end(&w);
	return rc;
}

/* Sleep until the rate allows the `bytes` bytes that were sent since `began_us`. */
static void
keep_rate(uint64_t began_us, uint64_t bytes, uint64_t bytes_per_second)
{
	if (bytes_per_second != 0)
		timed_pause(began_us +
		            (uint64_t)((double)bytes / (double)bytes_per_second * 1e6));
}

static int
write_batch(const struct send *s, const struct batch *b, struct stream_totals *t,
    uint64_t *at, struct err *e)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < b->n; i++) {
		const struct piece *p = &b->pieces[i];
		stream_count(t, p->out, p->out_bytes);
		bytes += p->out_bytes;
		if (s->cfg->sent != NULL &&
		    s->cfg->sent(s->cfg->arg, p->bytes, p->raw, e) != 0)
			return -1;
	}
	if (disk_write(s->cfg->to, b->out, bytes, *at, e) != 0)
		return -1;
	*at += bytes;
	return 0;
}

static int
write_all(struct send *s, struct stream_totals *t, uint64_t *at, struct err *e)
{
	uint64_t began = clock_us();
	enum queue_rc got;
	void *item;
	int rc = 0;

	while (rc == 0 && (got = ordered_take(s->work, &item)) == QUEUE_OK) {
		/* A reader that failed has left its batch unfinished. */
		if (!pipeline_failed(s->pipe))
			rc = write_batch(s, item, t, at, e);
		pool_put(s->pool, item);
		keep_rate(began, *at, s->cfg->bytes_per_second);
		if (rc == 0)
			rc = cancel_check(e);
	}
	return rc;
}

static int
run(struct send *s, struct stream_totals *t, uint64_t *at, struct err *e)
{
	size_t n = s->cfg->jobs != 0              ? (size_t)s->cfg->jobs
	           : disk_fd(s->cfg->from) >= 0 ? READERS
	                                          : FAR_READERS;
	struct err first;
	void *item;

	pipeline_attach_ordered(s->pipe, s->work);
	pipeline_attach_pool(s->pipe, s->pool);
	int rc = pipeline_start(s->pipe, cut_all, s);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = pipeline_start(s->pipe, read_all, s);
	if (rc == 0 && write_all(s, t, at, &first) != 0)
		pipeline_fail(s->pipe, &first);
	rc = pipeline_join(s->pipe, e);
	while (ordered_drain(s->work, &item))
		pool_put(s->pool, item);
	return rc;
}

/* So many batches hold all data, since two in a row have more than BATCH_BYTES of it,
 * or PIECES_MAX pieces.  With fewer than the changes make, where a range has many
 * holes, one waits for another. */
static size_t
batches_for(const struct rangeset *changed)
{
	uint64_t n = 2 + 2 * (rangeset_total(changed) / BATCH_BYTES) +
	             rangeset_count(changed) / PIECES_MAX;

	return n < BATCHES_MAX ? (size_t)n : BATCHES_MAX;
}

int
send_changed(const struct send_config *cfg, const struct stream_head *head,
    struct stream_totals *totals, uint64_t *at, struct err *e)
{
	struct send s = { .cfg = cfg };
	uint8_t bytes[STREAM_TOP_BYTES];

#ifdef NO_ZSTD
	if (cfg->zstd)
		return err_set(
		    e, ERR_UNSUPPORTED, "this program was built without zstd");
#endif
	stream_put_head(head, bytes, totals);
	if (disk_write(cfg->to, bytes, sizeof bytes, 0, e) != 0 ||
	    uncached_new(&s.reader, cfg->from, e) != 0)
		return -1;
	*at = sizeof bytes;
	s.pipe = pipeline_new();
	size_t batches = batches_for(cfg->changed);
	s.work = ordered_new(batches);
	s.pool = pool_new(batches, sizeof(struct batch));
	int rc = s.pipe != NULL && s.work != NULL && s.pool != NULL
	             ? run(&s, totals, at, e)
	             : err_nomem(e, "reading");
	if (s.pool != NULL)
		pool_free(s.pool);
	if (s.work != NULL)
		ordered_free(s.work);
	if (s.pipe != NULL)
		pipeline_free(s.pipe);
	uncached_free(s.reader);
	return rc;
}
