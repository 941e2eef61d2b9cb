/* loop.h: sockets and time around the server's engine. */
#ifndef FRISBEED_LOOP_H
#define FRISBEED_LOOP_H

#include "common/disk/disk.h"
#include "common/net/sock.h"
#include "frisbeed/server.h"

struct loop_config {
	uint32_t ahead, run_blocks; /* as the engine's */
	uint64_t keepalive_us;      /* 0: the usual */
	struct sock *second;        /* of the extension; NULL: none */
	uint32_t session;
};

/* Serve until a signal, until server_done(), or an error: one is that the file changes
 * under the session. */
int loop_run(struct server *, struct sock *, struct disk *, const struct loop_config *,
    struct err *);

#endif /* FRISBEED_LOOP_H */
