/* world_impl.h: what the files of the simulated world share.
 *
 * world.c begins, ends and sums up a run; world_clock.c says whose turn it is;
 * world_server.c and world_client.c are the machines around the engines, world_rival.c
 * the other server of two, world_relay.c a client that serves;
 * world_wire.c and world_store.c the rules of what is said, and what is stored. */
#ifndef TESTS_SIM_WORLD_IMPL_H
#define TESTS_SIM_WORLD_IMPL_H

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "tests/sim/foe.h"
#include "tests/sim/greedy.h"
#include "tests/sim/world.h"

/* Nanoseconds in a microsecond; a time that does not come. */
#define US UINT64_C(1000)
#define NEVER UINT64_MAX

enum {
	SERVER = 0,       /* its port; client i has port i + 1 */
	OWN_IMAGE = 1,    /* in the data of its blocks */
	WORLD_AHEAD = 64, /* runs that the server reads ahead */
	CHUNK_BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES,
	SENDER_BACKLOG_NS = 200000, /* the sender waits when so much is queued */
};

/* What a buffer must hold, by our own book-keeping. */
struct shadow {
	bool used, taken;
	uint32_t chunk;
	unsigned damaged; /* so many times; never for ever */
	struct blockmap have;
	uint8_t parity[WIRE_CHUNK_BLOCKS]; /* 1 + index of what lies there; 0: none */
};

struct writing {
	uint32_t buf;
	uint64_t done_ns;
};

struct node {
	struct client *engine;
	uint8_t ip[4];
	uint64_t start_ns, finish_ns;
	uint64_t chunk_ns;     /* its disk */
	struct shadow *shadow; /* by buffer */
	uint8_t *done;         /* by chunk */
	uint32_t ndone, drops;
	struct writing *writing; /* FIFO of at most `buffers` */
	uint32_t writing_head, nwriting, nwritten;
	uint64_t disk_free_ns;
	bool crashes, gone, joined;
	bool chooses;    /* two servers were there when it came */
	uint32_t images; /* it has begun so often */
	uint8_t image;   /* which one it loads; 0: not known yet */
	struct net_link link; /* of a bad one */
	bool absent;        /* takes no part in this run */
	bool lost;          /* cannot hear, or be heard: need not end */
	double heard_share; /* of what is sent, at most so much can arrive */
	uint64_t fed_ns;    /* a block came, or it could not take one */
	struct blockmap *early; /* a reader's, by chunk: blocks that came beside */
	uint32_t nread;         /* of its reads are done */
	uint64_t reads_ns, asked_ns; /* the next one begins; it has asked then, 0: not */
};

/* No more than `most` blocks in any stretch of window_ns. */
struct pace {
	uint64_t window_ns;
	uint64_t *sent_ns; /* ring of the last `most` */
	size_t most, n;
};

struct reading {
	uint32_t buf;
	uint64_t done_ns;
};

/* A server's machine. */
struct host {
	uint32_t port;
	uint8_t image;         /* is in the data of all of its image's blocks */
	struct server *engine; /* NULL: it is down */
	struct server_config cfg;
	struct server_stats before; /* of its engines that died */
	uint32_t restarts;
	uint64_t restart_ns; /* dies then, or comes back; 0: neither */
	uint64_t image_ns;   /* another file from then on; 0: never */
	uint64_t mute_ns;    /* its sends fail then, or work again; NEVER */
	struct reading reading[WORLD_AHEAD];
	uint32_t reading_head, nreading;
	uint64_t disk_free_ns, next_stall_ns;
	uint32_t *arrival; /* of an image that still comes: its chunks in that order, */
	uint32_t arrived;  /* so many are here */
	uint64_t *asked_ns; /* of a relay, by chunk: asked for before it has come; 0: not */
	struct blockmap *asked; /* by chunk: since the block was sent last */
	struct pace pace[2];    /* over a second, and over a few bursts */
};

struct world {
	const struct scenario *sc;
	struct outcome *out;
	bool trace;
	struct net net;
	uint64_t rng, now_ns;

	struct host server;
	struct host rival; /* the other one; its port is 0: there is none */
	struct host relay; /* a relay's server; its port is 0: there is none */
	struct server_log log;
	uint64_t second, in_second; /* chatter in that second */

	struct node *nodes;    /* clients */
	struct greedy *greedy; /* on the ports behind theirs */
	uint32_t ngreedy;
	struct foe *foes; /* ... and behind those, before the other server's */
	uint32_t nchunks, left;
	uint64_t image_bytes;

	struct wirext_run *order; /* what readers read */
	uint64_t *read_us;        /* how long it took, of nread_us reads */
	uint32_t nread_us;

	/* Heap of ports by their next event. */
	uint64_t *key;
	uint32_t *heap, *where;
};

/* world.c */
/* A rule was broken: the first one ends the run. */
__attribute__((format(printf, 2, 3))) void world_fail(
    struct world *, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void world_trace(
    const struct world *, const char *fmt, ...);

/* world_clock.c */
/* Nobody is due yet. */
void world_clock_init(struct world *, uint32_t ports);
void world_clock_fini(struct world *);
/* This port's turn comes then. */
void world_clock_set(struct world *, uint32_t port, uint64_t ns);
/* This port's turn comes when it has something to do next. */
void world_reschedule(struct world *, uint32_t port);
/* Something arrives at a port: it may be sooner than what it waited for. */
void world_touched(void *world, unsigned port);

/* world_wire.c */
/* From a port to all others; it must be readable, and who speaks has joined. */
void world_transmit(
    struct world *, uint32_t port, const uint8_t ip[4], const void *pkt, size_t len);
/* A server hears it. */
void world_note_asked(struct world *, struct host *, const struct packet *);
/* A block is to be sent: somebody has asked for it. */
void world_check_asked(struct world *, struct host *, uint32_t chunk, uint32_t block);
/* A block or parity is sent: neither too many in a second, nor in a few bursts. */
void world_check_pace(struct world *, struct host *);
void world_setup_pace(struct host *);

/* world_store.c */
/* How many blocks of a chunk are not empty. */
uint32_t world_content(const struct world *, uint32_t chunk);
/* Its number, the chunk's and the image's, as the block's data; zeros in the empty end
 * of a chunk. */
void world_fill_block(const struct world *, uint8_t image, uint8_t *to, uint32_t chunk,
    uint32_t block);
/* The same of a block or of parity, whose number is `id`: 9 bytes, little-endian, so that
 * the hash of a run is the same on every processor. */
void world_label(uint8_t to[9], uint32_t chunk, uint32_t id, uint8_t image);
void world_check_store(struct world *, struct node *, const struct client_store *);
/* Is the chunk all there, and does the engine know where parity lies? */
bool world_whole(const struct node *, uint32_t buf, uint32_t blocks);

/* world_arrival.c: an image that still comes to its server.  The order is drawn. */
void world_setup_arrival(struct world *, struct host *);
/* Chunks whose time has come are there; a new engine is told of all. */
void world_arrive(struct world *, struct host *);
void world_arrived_again(struct world *, struct host *);
uint64_t world_next_arrival_ns(const struct world *, const struct host *);
/* This chunk is there from now on. */
void world_has_come(struct world *, struct host *, uint32_t chunk);
bool world_has_arrived(const struct host *, uint32_t chunk);

/* world_server.c */
void world_setup_server(struct world *);
/* An engine for it, with what all servers have in common. */
void world_setup_host(struct world *, struct host *, uint32_t port);
void world_free_host(struct host *);
void world_step_server(struct world *, struct host *);
/* For the trace. */
const char *world_name(const struct world *, const struct host *);
/* Of the one that runs now. */
void world_keep_stats(struct world *, struct host *);
/* Does one run, and can be heard? */
bool world_is_served(const struct world *);

/* world_relay.c */
void world_setup_relay(struct world *, uint32_t port);
/* The client at this port has had its turn. */
void world_relay_step(struct world *, uint32_t port);
/* A client has written a chunk. */
void world_relay_has(struct world *, const struct node *, uint32_t chunk);
/* A server has heard messages: what it is asked for and has not. */
void world_relay_lacks(struct world *, struct host *);
/* The server that the client at this port hears. */
struct host *world_server_of(struct world *, uint32_t port);

/* world_reader.c */
void world_setup_readers(struct world *, uint64_t seed);
void world_free_readers(struct world *);
/* What its engine hands out. */
void world_reader_hears(struct world *, struct node *, const struct client_store *);
void world_reader_step(struct world *, struct node *);
uint64_t world_reader_next_ns(const struct world *, const struct node *);
void world_sum_readers(struct world *);

/* world_rival.c */
void world_setup_rival(struct world *, uint32_t port);
/* The server at this port; NULL: none is. */
struct host *world_host_at(struct world *, uint32_t port);
/* Is it one of a server's packets? */
bool world_from_server(const struct world *, const uint8_t ip[4]);

/* world_foes.c */
void world_setup_foes(struct world *, uint32_t first_port);
bool world_is_foe(const struct world *, uint32_t port);
/* Of one of theirs? */
bool world_from_foe(const struct world *, const uint8_t ip[4]);
void world_step_foe(struct world *, uint32_t port);

/* world_client.c */
void world_setup_clients(struct world *);
/* Nothing is wrong with it. */
bool world_is_clean(const struct world *, uint32_t client);
void world_step_client(struct world *, uint32_t port);

#endif /* TESTS_SIM_WORLD_IMPL_H */
