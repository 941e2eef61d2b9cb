/* client_skip.h: which chunks a client leaves out that is slower than the stream.
 *
 * The buffers of such a client are full again and again, and it loses what arrives
 * then.  If this were left to chance, each slow client would lack different chunks, and
 * the server would have to send nearly all of the image once more.  So all slow clients
 * leave out the same chunks: the fuller the buffers, the larger the share of chunks,
 * and a larger share contains all chunks of a smaller one.
 */
#ifndef FRISBEE_CLIENT_CLIENT_SKIP_H
#define FRISBEE_CLIENT_CLIENT_SKIP_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_skip.c writes it. */
struct client_skip {
	uint64_t released_us; /* when a buffer was last released */
	bool busy;            /* the disk had other chunks to write then */
	double own_us,
	    stream_us; /* how long a chunk takes on the disk and on the network */
};

/* Another image is loaded. */
void client_skip_forget(struct client_skip *);
/* A buffer is released. more: other buffers wait for the disk. */
void client_skip_released(struct client_skip *, uint64_t now_us, bool more);
/* A chunk's worth of blocks arrived within this time. */
void client_skip_streamed(struct client_skip *, uint64_t chunk_us);
/* Should this chunk be left out, when nfree of nbuffers buffers are free? */
bool client_skip_leaves_out(
    const struct client_skip *, uint32_t chunk, uint32_t nfree, uint32_t nbuffers);

#endif /* FRISBEE_CLIENT_CLIENT_SKIP_H */
