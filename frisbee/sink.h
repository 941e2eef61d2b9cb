/* sink.h: what becomes of complete chunks: the client's other two stages.
 *
 * Chunk buffers are handed over by number; a thread of its own installs them
 * (or writes them as they are, for -N), so the network never waits for the
 * disk.  A buffer's number comes back through the mailbox when it is free;
 * `buffers` when something failed, `buffers` + 1 when all is done.  So the mailbox
 * must hold `buffers` + SINK_NEWS.
 *
 * The digest of each chunk that has one is checked before anything is done with it.  A
 * buffer whose chunk is damaged comes back as 2 * `buffers` + 2 + its number: some of
 * its blocks should come again, the second time all.  A chunk that stays damaged is a
 * failure.
 */
#ifndef FRISBEE_SINK_H
#define FRISBEE_SINK_H

#include "common/install/install.h"
#include "common/net/blockmap.h"
#include "common/net/mailbox.h"

enum { SINK_NEWS = 3 };

struct sink;

struct sink_config {
	struct install_config install;
	bool any_file; /* -N: no image, write the bytes */
	const char *target;
	uint32_t buffers;
};

int sink_new(
    struct sink **, const struct sink_config *, struct mailbox *, struct err *);
/* Where block b of a buffer belongs. */
uint8_t *sink_buffer(struct sink *, uint32_t buf);
/* Is this chunk on the disk already (--state)?  Before the first sink_put(). */
bool sink_has(void *sink, uint32_t chunk);
/* ... or some are. */
bool sink_resumes(const struct sink *);
/* Must chunks come in order, since the target is a pipe? */
bool sink_in_order(const struct sink *);
/* How many chunks there will be; before the first sink_put(). */
void sink_expect(struct sink *, uint32_t nchunks);
/* A chunk is complete, perhaps with parity in the places of lost blocks (as
 * client_parity() has it, copied; NULL: none).  Never blocks. */
void sink_put(struct sink *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at);
/* Do parts of a chunk help (--skip-same)?  Then sink_plan() says which. */
bool sink_takes_parts(const struct sink *);
/* Of the chunk in a buffer these blocks have come: what else is needed?  The number
 * `buffers` + 2 + buf comes through the mailbox when that is known. */
void sink_plan(struct sink *, uint32_t buf, const struct blockmap *here);
/* Then: what, and whether that is all. */
const struct blockmap *sink_planned(const struct sink *, uint32_t buf, bool *final);
/* As sink_put(), for a chunk of which these blocks are here, by its plan. */
void sink_put_planned(struct sink *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here);
/* When a chunk came back damaged: these blocks of it are. */
const struct blockmap *sink_damaged(const struct sink *, uint32_t buf);
/* No more chunks: finish and report through the mailbox. */
void sink_end(struct sink *);
/* Join the thread.  0 when all is where it belongs. */
int sink_close(struct sink *, struct install_stats *, struct err *);

#endif /* FRISBEE_SINK_H */
