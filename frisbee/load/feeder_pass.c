/* feeder_pass.c: puts chunks that are proved into the sink, and passes on what the sink
 * tells.  feeder.c calls this in the feeder's thread; the loop calls feeder_wants() in its
 * own. */
#include "common/base/grow.h"
#include "frisbee/load/feeder_impl.h"

/* The sink calls this, in any thread, once for each chunk that it does not need any more. */
static void
released(void *arg, const void *bytes)
{
	struct feeder *s = arg;

	mailbox_put(s->box, FEEDER_FREE,
	    (uint32_t)(((const uint8_t *)bytes - s->memory) / NDZ_CHUNK_BYTES));
}

struct sink_chunk
feeder_chunk(struct feeder *s, struct filled *f)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	return (struct sink_chunk){ .number = f->chunk,
		.length = f->bytes,
		.bytes = feeder_buffer(s, buf),
		.part = f->planned ? &planner_plan(s->planner, buf)->part : NULL,
		.here = f->planned ? &f->here : NULL,
		.released = released,
		.arg = s };
}

int
feeder_pass_on(struct feeder *s, struct filled *f, struct err *e)
{
	const struct sink_chunk c = feeder_chunk(s, f);

	if (sink_put(&s->sink, &c, e) != 0)
		return -1;
	return s->wants_lost ? err_nomem(e, "the list of chunks") : 0;
}

/* The sink calls this in the feeder's thread, while that thread puts a chunk. */
static void
on_wants(void *arg, uint32_t chunk)
{
	struct feeder *s = arg;
	struct err ignored; /* feeder_pass_on() reports it */

	pthread_mutex_lock(&s->lock);
	bool kept = grow(&s->wants, &s->wants_cap, s->nwants, sizeof *s->wants,
			"the list of chunks", &ignored) == 0;
	bool tell = kept && !s->told;
	if (kept) {
		s->wants[s->nwants++] = chunk;
		s->told = true;
	}
	pthread_mutex_unlock(&s->lock);
	s->wants_lost |= !kept;
	if (tell)
		mailbox_put(s->box, FEEDER_WANTS, 0);
}

/* A write in the background has failed.  The queue is cancelled, because perhaps no
 * other chunk will come that would meet the failure: a client without free buffers asks for
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

bool
feeder_wants(struct feeder *s, uint32_t *chunk)
{
	pthread_mutex_lock(&s->lock);
	bool any = s->nwants > 0;
	if (any)
		*chunk = s->wants[--s->nwants];
	s->told = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}
