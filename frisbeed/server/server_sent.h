/* server_sent.h: which runs of blocks went out lately, and after how many others: a
 * client that names the last block that it heard tells how much is on its way. */
#ifndef FRISBEED_SERVER_SERVER_SENT_H
#define FRISBEED_SERVER_SERVER_SENT_H

#include <stdbool.h>
#include <stdint.h>

enum { SERVER_SENT_RUNS = 1024 };

struct server_sent {
	struct {
		uint32_t chunk, first, count;
		uint64_t before; /* blocks sent before it, parity included */
	} run[SERVER_SENT_RUNS]; /* ring */
	uint64_t n;              /* runs ever */
};

/* A run begins to be sent. */
void server_sent_run(struct server_sent *, uint32_t chunk, uint32_t first,
    uint32_t count, uint64_t before);
/* How many had been sent when this block was, lastly and included; false: it is not
 * known any more, or was never sent. */
bool server_sent_upto(
    const struct server_sent *, uint32_t chunk, uint32_t block, uint64_t *sent);

#endif /* FRISBEED_SERVER_SERVER_SENT_H */
