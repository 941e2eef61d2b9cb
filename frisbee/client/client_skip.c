/* client_skip.c: the chunks that a slow client leaves out.  The engine calls this
 * when a buffer is released, when blocks arrive, and when a chunk begins, in its
 * only thread. */
#include "frisbee/client/client_skip.h"

#include <math.h>

static const double
    /* Nothing is left out while more than this share of the buffers is free: the disk may
     * only have paused. */
    FREE_SHARE = 0.1,
    /* A client whose disk is faster than this part of the stream leaves nothing out: it soon
     * catches up. */
    SLOW = 0.85,
    /* The fractional parts of multiples of this number are spread evenly, so every client
     * leaves out the same chunks, and never many neighbours. */
    GOLDEN = 0.6180339887498949,
    /* The mean is over about this many chunks. */
    SMOOTH = 8;

static void
average(double *mean, uint64_t us)
{
	*mean += ((double)us - *mean) / (*mean > 0 ? SMOOTH : 1);
}

void
client_skip_forget(struct client_skip *s)
{
	*s = (struct client_skip){ 0 };
}

void
client_skip_released(struct client_skip *s, uint64_t now_us, bool more)
{
	/* If the disk waited for the network, this does not show how fast it is. */
	if (s->busy && s->released_us != 0)
		average(&s->own_us, now_us - s->released_us);
	s->busy = more;
	s->released_us = now_us;
}

void
client_skip_streamed(struct client_skip *s, uint64_t chunk_us)
{
	average(&s->stream_us, chunk_us);
}

bool
client_skip_leaves_out(
    const struct client_skip *s, uint32_t chunk, uint32_t nfree, uint32_t nbuffers)
{
	double whole, share = nfree / (FREE_SHARE * nbuffers);
	bool slow = s->stream_us > 0 && s->stream_us < SLOW * s->own_us;

	return slow && share < 1 && modf(chunk * GOLDEN, &whole) > share;
}
