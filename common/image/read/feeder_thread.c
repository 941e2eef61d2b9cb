/* feeder_thread.c: the thread that finds out whether each chunk is what the server has,
 * puts it into the sink, and passes on what the sink tells.  feeder.c starts it with
 * feeder_main(), and all of this runs in it, except released(), decoded() and on_failed(),
 * which any thread may call. */
#include "common/base/grow.h"
#include "common/image/read/feeder_impl.h"
#include "common/wire/parity.h"

#include <string.h>

static uint32_t
number_of(const struct filled *f)
{
	return (uint32_t)(f - f->feeder->filled);
}

/* The sink calls this, in any thread, once for each chunk that it needs no more. */
static void
released(void *arg, const void *bytes)
{
	struct filled *f = arg;

	(void)bytes;
	mailbox_put(f->feeder->cfg.box, FEEDER_FREE, number_of(f));
}

/* The chunk as sink_put() takes it, in the feeder's memory or where it was lent. */
static struct sink_chunk
to_put(struct filled *f, uint8_t *own)
{
	const struct feeder_chunk *c = &f->back.came;
	struct plan *plan = c->here != NULL
	                        ? planner_plan(f->feeder->planner, number_of(f))
	                        : NULL;

	return (struct sink_chunk){ .number = c->number,
		.length = c->length,
		.bytes = c->lent != NULL ? (void *)(uintptr_t)c->lent : own,
		.part = plan != NULL ? &plan->part : NULL,
		.here = c->here,
		.released = released,
		.arg = f };
}

/* Bytes that were lent are not changed, so what is to be decrypted is copied. */
static int
borrow(struct feeder *s, const struct feeder_chunk *c, struct sink_chunk *put,
    uint8_t *own, struct err *e)
{
	if (c->length != NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT, "it has %u bytes", c->length);
	if (prover_decrypts(s->prover))
		put->bytes = memcpy(own, c->lent, c->length);
	return 0;
}

/* Unpacks and decrypts the chunk, and proves that it is what the server has, as far as
 * anything can tell.  -1: the chunk is damaged in the blocks f->back.bad. */
static int
prove_new(struct feeder *s, struct filled *f, struct err *e)
{
	uint8_t *own = feeder_buffer(s, number_of(f));
	const struct feeder_chunk *c = &f->back.came;
	struct sink_chunk put = to_put(f, own);

	if (s->cfg.unpack != NULL) {
		const void *bytes;
		if (s->cfg.unpack(s->cfg.unpack_arg, c, own, &bytes, &put.length, e) != 0)
			return -1;
		put.bytes = (void *)(uintptr_t)bytes;
		return prove_any(&put, &f->proved, e);
	}
	if (c->parity_at != NULL && parity_decode(own, c->parity_at, e) != 0)
		return -1;
	if (s->prover == NULL)
		return prove_any(&put, &f->proved, e);
	if (c->lent != NULL && borrow(s, c, &put, own, e) != 0)
		return -1;
	return prover_chunk(s->prover, &put, s->info.decodes && s->waiting == NULL,
	    &f->proved, &f->back.bad, e);
}

/* The same of a chunk that may have been decoded since it came. */
static int
prove(struct feeder *s, struct filled *f, struct err *e)
{
	f->back.bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (f->how == FILLED_CAME)
		return prove_new(s, f, e);
	if (!f->undecodable)
		return prover_decoded(s->prover, f->proved, e);
	*e = f->back.why;
	return -1;
}

/* Only the damaged blocks are to come again, as long as they become fewer; else all, because
 * no digest covers every block (padding), and parity spreads an error of one block to
 * others. */
static void
name_bad(struct feeder *s, struct filled *f)
{
	uint32_t chunk = f->back.came.number, n = blockmap_count(&f->back.bad);
	bool known = s->damaged != NULL && chunk < s->nchunks;

	if (!known || (s->damaged[chunk] != 0 && n >= s->damaged[chunk])) {
		f->back.bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
		n = WIRE_CHUNK_BLOCKS;
	}
	if (known)
		s->damaged[chunk] = (uint16_t)n;
}

/* Sends back a damaged chunk, whose blocks are to come again.  -1: that would not help. */
static int
send_back(struct feeder *s, struct filled *f, struct err *e)
{
	uint32_t chunk = f->back.came.number;

	proved_give_back(f->proved);
	f->proved = NULL;
	if ((s->prover == NULL && s->cfg.unpack == NULL) || !prover_blames_chunk(e))
		return err_ctx(e, "chunk %u", chunk);
	name_bad(s, f);
	f->back.why = *e;
	mailbox_put(s->cfg.box, FEEDER_DAMAGED, number_of(f));
	return 0;
}

static int
store(struct feeder *s, struct filled *f, struct err *e)
{
	int rc = prove(s, f, e);

	f->how = FILLED_CAME; /* the buffer may be another chunk's soon */
	if (rc != 0)
		return send_back(s, f, e);
	struct proved *proved = f->proved;
	if (proved_undecoded(proved)) {
		f->how = FILLED_WAITS;
		return 0;
	}
	f->proved = NULL;
	s->next = f->back.came.number + 1;
	if (sink_put(&s->sink, proved, e) != 0)
		return -1;
	return s->wants_lost ? err_nomem(e, "the list of chunks") : 0;
}

/* A chunk was decoded; the thread takes it as if it had come now. */
static void
decoded(void *arg, const struct err *why)
{
	struct filled *f = arg;

	f->undecodable = why != NULL;
	if (why != NULL)
		f->back.why = *why;
	queue_put(f->feeder->queue, f);
}

/* Lets the sink decode as many chunks as it can now. */
static void
decode_some(struct feeder *s)
{
	for (uint32_t i = 0; s->info.decodes && i < s->cfg.buffers; i++) {
		struct filled *f = &s->filled[i];
		if (f->how != FILLED_WAITS)
			continue;
		f->how = FILLED_DECODES;
		if (!sink_decode(&s->sink, f->proved, decoded, f))
			f->how = FILLED_WAITS;
	}
}

/* Stores chunks in order: those behind a chunk that must come again wait for it. */
static int
store_in_order(struct feeder *s, struct filled *f, struct err *e)
{
	struct filled **place = &s->waiting[f->back.came.number % s->cfg.buffers];
	int rc = 0;

	for (*place = f; rc == 0; place = &s->waiting[s->next % s->cfg.buffers]) {
		f = *place;
		if (f == NULL || f->back.came.number != s->next)
			break;
		*place = NULL;
		uint32_t chunk = s->next; /* the buffer may be another chunk's soon */
		rc = store(s, f, e);
		if (s->next == chunk)
			break;
	}
	return rc;
}

void *
feeder_main(void *feeder)
{
	struct feeder *s = feeder;
	struct err *e = &s->err;
	void *p;
	enum queue_rc got;
	int rc = 0;

	while (rc == 0 && (got = queue_get(s->queue, &p)) == QUEUE_OK) {
		rc = s->waiting != NULL ? store_in_order(s, p, e) : store(s, p, e);
		if (rc == 0)
			decode_some(s);
	}
	if (rc == 0 && got == QUEUE_END) {
		rc = sink_end(&s->sink, &s->sum, e);
		s->done = rc == 0;
	} else if (rc == 0 && s->sink_failed) {
		rc = err_set(e, ERR_CANCELLED, "not complete");
	} else if (rc == 0) {
		return NULL; /* the caller has given up */
	}
	s->failed = rc != 0;
	mailbox_put(s->cfg.box, rc == 0 ? FEEDER_DONE : FEEDER_FAILED, 0);
	return NULL;
}

/* The sink calls this while a chunk is put. */
static void
on_wants(void *arg, uint32_t chunk)
{
	struct feeder *s = arg;
	struct err ignored; /* store() reports it */

	pthread_mutex_lock(&s->lock);
	bool kept = grow_array(&s->wants, &s->wants_cap, s->nwants, sizeof *s->wants,
			"the list of chunks", &ignored) == 0;
	bool tell = kept && !s->told;
	if (kept) {
		s->wants[s->nwants++] = chunk;
		s->told = true;
	}
	pthread_mutex_unlock(&s->lock);
	s->wants_lost |= !kept;
	if (tell)
		mailbox_put(s->cfg.box, FEEDER_WANTS, 0);
}

/* A write in the background has failed.  The queue is cancelled, because perhaps no other
 * chunk will come that would meet the failure: a caller without free buffers asks for
 * nothing. */
static void
on_failed(void *arg)
{
	struct feeder *s = arg;

	s->sink_failed = true;
	queue_cancel(s->queue);
}

struct sink_giver
feeder_giver(struct feeder *s)
{
	return (struct sink_giver){ .wants = on_wants, .failed = on_failed, .arg = s };
}
