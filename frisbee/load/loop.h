/* loop.h: sockets and time around the client's engine. */
#ifndef FRISBEE_LOAD_LOOP_H
#define FRISBEE_LOAD_LOOP_H

#include "common/net/sock.h"
#include "frisbee/client/client.h"
#include "frisbee/load/sink.h"

/* What a load is doing. */
enum loop_state {
	LOOP_WAITING, /* for a server */
	LOOP_LOADING,
	LOOP_DISK_BOUND, /* all chunk buffers wait to be written */
	LOOP_FLUSHING,   /* everything was received; what is left to do is writing */
};

struct loop_result {
	enum loop_state state;
	bool done; /* all of it is installed */
	struct install_stats install;
	struct wire_stats stats;
	uint32_t chunks;
	uint32_t rejoins;          /* of the group, when nothing came */
	bool gave_up;              /* -T */
	bool extension;            /* a second port was used */
	uint64_t blocks_not_asked; /* --skip-same */
	uint64_t parity_used, parity_unneeded;
	uint64_t blocks_left_out; /* of empty ends of chunks: they never came */
	uint64_t blocks_damaged;  /* and asked for again */
	uint32_t chunks_taken;
	uint32_t
	    chunks_fetched; /* as they came: with --only not all, some perhaps twice */
	uint64_t packets; /* heard */
	/* Times without any packet, of a second and more, before all was there. */
	uint64_t stalls, stalled_us;
};

struct loop_config {
	uint32_t buffers;
	uint64_t keepalive_us;         /* 0: the usual */
	uint64_t write_mb;             /* for the statistics */
	const struct sock_config *net; /* of the socket: the second one is as it */
	struct auth *auth;             /* of the socket */
	/* Called once a second with how it is then; NULL: not. */
	void (*tick)(void *arg, const struct loop_result *);
	/* How far it is, in bytes of the image; total 0: not known yet. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* What the user should know of the network while it loads. */
	void (*say)(void *arg, const char *sentence);
	void *arg; /* of these */
};

/* Load the image into the sink, leave the session.  Takes the sink over. */
int load_run(struct client *, struct sock *, struct sink *, struct mailbox *,
    const struct loop_config *, struct loop_result *, struct err *);

#endif /* FRISBEE_LOAD_LOOP_H */
