/* client_counters.h: what a client has counted.  The engine tells what happened, and hands the
 * counters out by value.
 */
#ifndef FRISBEE_CLIENT_CLIENT_COUNTERS_H
#define FRISBEE_CLIENT_CLIENT_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire.h"

struct client_config;

/* Only client_counters.c writes it. */
struct client_counters {
	struct wire_stats wire;   /* what the client tells the server when it leaves */
	uint64_t parity_used;     /* parity blocks that took the place of lost blocks */
	uint64_t parity_unused;   /* parity blocks that were of no use */
	uint64_t left_out;        /* blocks of empty ends of chunks, which never came */
	uint64_t not_asked;       /* blocks that were not needed, in chunks that were */
};

/* Begin with what the configuration says of the client. */
void client_counters_begin(struct client_counters *, const struct client_config *);
/* Loading begins with this number of chunk buffers. */
void client_counters_buffers(struct client_counters *, uint32_t buffers);
/* The image is forgotten, and with it what was counted of its blocks. */
void client_counters_forget_image(struct client_counters *);

/* A JOIN goes out. */
void client_counters_join(struct client_counters *);
/* A request of the base protocol goes out.  again: this client asked for the chunk before;
 * whole: for all blocks of the chunk; blocks: their number, if the request has a map, or 0. */
void client_counters_request(
    struct client_counters *, bool again, bool whole, uint32_t blocks);
/* A message of the extension goes out that asks for something or reports something. */
void client_counters_message(struct client_counters *);
/* A NACK goes out that names this number of missing blocks. */
void client_counters_report(struct client_counters *, uint32_t blocks);
/* Nothing came for too long. */
void client_counters_idle(struct client_counters *);

/* Blocks came again: of chunks that are incomplete, and of complete ones. */
void client_counters_duplicates(
    struct client_counters *, uint32_t in_progress, uint32_t finished);
/* Blocks came for which there was no buffer. */
void client_counters_no_buffer(struct client_counters *);
/* A chunk that had begun lost its buffer. */
void client_counters_drop(struct client_counters *);
/* A parity block came. */
void client_counters_parity(struct client_counters *, bool used);
/* Blocks of an empty end are known to be zero. */
void client_counters_left_out(struct client_counters *, uint32_t blocks);
/* A chunk is final without these blocks, or (counted back) needs them after all. */
void client_counters_not_asked(struct client_counters *, uint32_t blocks);
void client_counters_asked_after_all(struct client_counters *, uint32_t blocks);

/* The load has ended after this time; the shell's part has what the disk's side counted. */
void client_counters_end(
    struct client_counters *, uint64_t run_us, const struct wire_stats *shell_part);

#endif /* FRISBEE_CLIENT_CLIENT_COUNTERS_H */
