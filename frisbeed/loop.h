/* loop.h: sockets and time around the server's engine. */
#ifndef FRISBEED_LOOP_H
#define FRISBEED_LOOP_H

#include "common/disk/disk.h"
#include "common/net/sock.h"
#include "frisbeed/server.h"

struct loop_config {
	uint32_t ahead, run_blocks;	/* as the engine's */
	uint64_t keepalive_us;		/* 0: off */
};

/* Serve until a signal, until server_done(), or an error. */
int loop_run(struct server *, struct sock *, struct disk *, const struct loop_config *,
    struct err *);

#endif /* FRISBEED_LOOP_H */
