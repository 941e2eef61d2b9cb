/* client_skip.h: which chunks a client leaves out that is slower than the stream.
 *
 * Its buffers are full again and again, and what comes then is lost to it.  Were that
 * left to chance, each slow client would lack other chunks, and the server would have
 * to send nearly all of the image once more.  So all leave out the same ones: the
 * fuller the buffers, the larger the share of chunks, and those of a smaller share are
 * among those of a larger one.
 */
#ifndef FRISBEE_CLIENT_CLIENT_SKIP_H
#define FRISBEE_CLIENT_CLIENT_SKIP_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_skip.c writes it. */
struct client_skip {
	uint64_t released_us; /* the last buffer that came back */
	bool busy;            /* the disk had others to write then */
	double own_us,
	    stream_us; /* a chunk takes this long: on the disk, on the network */
};

/* Another image is loaded. */
void client_skip_forget(struct client_skip *);
/* A buffer comes back; more: other buffers wait for the disk. */
void client_skip_released(struct client_skip *, uint64_t now_us, bool more);
/* As many blocks as a chunk has came within this time. */
void client_skip_streamed(struct client_skip *, uint64_t chunk_us);
/* Is this chunk to be left out, with nfree of nbuffers free? */
bool client_skip_leaves_out(
    const struct client_skip *, uint32_t chunk, uint32_t nfree, uint32_t nbuffers);

#endif /* FRISBEE_CLIENT_CLIENT_SKIP_H */
