/* world_impl.h: what the files of the simulated world share.
 *
 * world.c begins, ends and sums up a run; world_clock.c says which port's turn it is;
 * world_server.c and world_client.c are the machines around the engines, world_rival.c is
 * the second of two servers, world_relay.c a client that serves, world_tcp.c somebody else's
 * stream; world_wire.c has the rules of
 * what may be sent, and world_store.c the rules of what may be stored. */
#ifndef TESTS_SIM_WORLD_IMPL_H
#define TESTS_SIM_WORLD_IMPL_H

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "tests/sim/foe.h"
#include "tests/sim/greedy.h"
#include "tests/sim/heap.h"
#include "tests/sim/world.h"

/* Nanoseconds in a microsecond; a time that never comes. */
#define US UINT64_C(1000)
#define NEVER UINT64_MAX

enum {
	SERVER = 0,       /* the server's port; client i has port i + 1 */
	OWN_IMAGE = 1,    /* number of the server's image, in the data of its blocks */
	WORLD_AHEAD = 64, /* runs that the server reads ahead */
	AHEAD_MOST = 32,  /* reads that are asked for ahead */
	CHUNK_BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES,
	SENDER_BACKLOG_NS = 200000, /* the sender waits when its link is busy for longer */
};

/* What a client's chunk buffer must hold, by the simulator's own book-keeping. */
struct shadow {
	bool used, taken;
	uint32_t chunk;
	unsigned damaged; /* how often the chunk was damaged; DAMAGED_MOST times at most */
	struct blockmap have;
	uint8_t parity[WIRE_CHUNK_BLOCKS]; /* 1 + index of the parity in a place; 0: none */
};

/* A chunk that a client's disk is writing, and when it has done so. */
struct writing {
	uint32_t buf;
	uint64_t done_ns;
};

/* A client's machine. */
struct node {
	struct client *engine;
	uint8_t ip[4];
	uint64_t start_ns, finish_ns;
	uint64_t chunk_ns;     /* time that its disk takes for a chunk */
	struct shadow *shadow; /* by buffer */
	uint8_t *done;         /* by chunk: it was written */
	uint32_t ndone, drops;
	uint64_t deadline_us;    /* of its engine, since its last turn */
	struct writing *writing; /* FIFO of at most `buffers` */
	uint32_t writing_head, nwriting, nwritten;
	uint64_t disk_free_ns;
	bool crashes, gone, joined;
	bool chooses;    /* two servers were there when it came */
	uint32_t images; /* how often it has begun to load an image */
	uint8_t image;   /* number of the image that it loads; 0: not known yet */
	struct net_link link; /* of a bad client */
	bool absent;        /* it takes no part in this run */
	bool lost;          /* it cannot hear, or be heard, and need not end */
	double heard_share; /* largest share of what is sent that can arrive */
	uint64_t fed_ns;    /* when a block last came, or could not be taken */
	struct blockmap *early; /* of a reader, by chunk: blocks that came for reads */
	uint32_t nread;         /* reads that are done */
	/* Reads that were asked for before they are done: the next one, and those whose blocks
	 * have not all come; something came since they were last looked at. */
	uint32_t next_ahead, flights[AHEAD_MOST], nflights;
	bool reader_hears;
	/* When the next read begins; when it has asked for blocks, 0: it has not. */
	uint64_t reads_ns, asked_ns;
	uint64_t boot_ns; /* from its start to the end of its last read; 0: not yet */
};

/* No more than `most` blocks in any stretch of window_ns. */
struct pace_check {
	uint64_t window_ns;
	uint64_t *sent_ns; /* ring of the last `most` */
	size_t most, n;
};

/* A run that a server's disk is reading, and when it has done so. */
struct reading {
	uint32_t buf;
	uint64_t done_ns;
};

/* A server's machine. */
struct host {
	uint32_t port;
	uint8_t image;         /* number of its image, in the data of all its blocks */
	struct server *engine; /* NULL: it is down */
	struct server_config cfg;
	struct server_stats before; /* sums of its engines that died */
	uint32_t restarts;
	uint64_t restart_ns; /* when it dies, or comes back; 0: neither */
	uint64_t image_ns;   /* when its file is replaced; 0: never */
	uint64_t mute_ns;    /* when its sends begin to fail, or work again; NEVER */
	struct reading reading[WORLD_AHEAD];
	uint32_t reading_head, nreading;
	uint64_t disk_free_ns, next_stall_ns;
	/* Of a server that wakes late: the time for which it sleeps, and when it wakes. */
	uint64_t rng, due_ns, wakes_ns;
	uint32_t *arrival; /* of an image that still comes: its chunks in their order */
	uint32_t arrived;  /* how many of these chunks are here */
	/* Of a relay, by chunk: when it was asked for before it had come; 0: it was not. */
	uint64_t *asked_ns;
	struct blockmap *asked; /* by chunk: blocks asked for since they were last sent */
	struct pace_check pace[2]; /* over a second, and over a few bursts */
};

struct world {
	const struct scenario *sc;
	struct outcome *out;
	bool trace;
	struct net net;
	uint64_t rng, now_ns;

	struct host server;
	struct host rival; /* the second server; port 0: there is none */
	struct host relay; /* the server of a relay; port 0: there is none */
	struct server_log log;
	uint64_t second, in_second; /* the current second, and the chatter in it */

	struct node *nodes;    /* clients */
	struct greedy *greedy; /* on the ports behind the clients' */
	uint32_t ngreedy;
	struct foe *foes; /* on the ports behind `greedy`, before the second server's */
	uint32_t nchunks, left;
	uint64_t image_bytes;

	struct wirext_run *order; /* the runs that readers read, in order */
	struct tcp *tcp; /* on the last port; NULL: there is none */
	uint64_t *read_us;        /* the times of nread_us reads */
	uint32_t nread_us, nthere; /* so many of them had not to wait */

	/* The ports' next turns (world_clock.c). */
	struct heap clock;
	struct heap_item *turns; /* by port */
};

/* world.c */
/* Notes that a rule was broken: the first such rule ends the run. */
__attribute__((format(printf, 2, 3))) void world_fail(
    struct world *, const char *fmt, ...);
/* Prints a line of the trace, if there is one. */
__attribute__((format(printf, 2, 3))) void world_trace(
    const struct world *, const char *fmt, ...);

/* world_tcp.c: a stream of TCP to the first client, from this port. */
void world_setup_tcp(struct world *, uint32_t port);
bool world_is_tcp(const struct world *, uint32_t port);
void world_step_tcp(struct world *);
/* Sums it up, and releases it. */
void world_end_tcp(struct world *);

/* world_clock.c */
/* Makes and releases the heap of this number of ports, none of which is due yet. */
void world_clock_init(struct world *, uint32_t ports);
void world_clock_fini(struct world *);
/* Sets the time of this port's next turn. */
void world_clock_set(struct world *, uint32_t port, uint64_t ns);
/* Sets the next turn of this port to the time when it has something to do. */
void world_reschedule(struct world *, uint32_t port);
/* Something arrives at a port: its next turn may come sooner. */
void world_touched(void *world, unsigned port);

/* world_wire.c */
/* Sends a packet from a port to all others.  The packet must be valid, and its sender have
 * joined. */
void world_transmit(
    struct world *, uint32_t port, const uint8_t ip[4], const void *pkt, size_t len);
/* A server hears a packet: notes which blocks it asks for. */
void world_note_asked(struct world *, struct host *, const struct packet *);
/* A block is to be sent: checks that somebody has asked for it. */
void world_check_asked(struct world *, struct host *, uint32_t chunk, uint32_t block);
/* A block or parity is sent: checks that there are not too many in a second or in a few
 * bursts. */
void world_check_pace(struct world *, struct host *);
/* Computes how many blocks the server may send in each of these times. */
void world_setup_pace(struct host *);

/* world_store.c */
/* How many blocks of a chunk are not empty. */
uint32_t world_content(const struct world *, uint32_t chunk);
/* Writes the data of a block: its number, the chunk's and the image's; zeros in the empty end
 * of a chunk. */
void world_fill_block(const struct world *, uint8_t image, uint8_t *to, uint32_t chunk,
    uint32_t block);
/* Writes these three numbers of a block or of parity, whose number is `id`: 9 bytes,
 * little-endian, so that the hash of a run is the same on every processor. */
void world_label(uint8_t to[9], uint32_t chunk, uint32_t id, uint8_t image);
/* Checks what a client's engine asks to store, and keeps the books of it. */
void world_check_store(struct world *, struct node *, const struct client_store *);
/* Are all blocks of the chunk in the buffer, and does the engine know where parity lies? */
bool world_whole(const struct node *, uint32_t buf, uint32_t blocks);

/* world_arrival.c: an image that still comes to its server.  The order of its
 * chunks is drawn. */
void world_setup_arrival(struct world *, struct host *);
/* The first function tells the engine of chunks whose time has come; the second one tells a new
 * engine of all chunks that are here. */
void world_arrive(struct world *, struct host *);
void world_arrived_again(struct world *, struct host *);
uint64_t world_next_arrival_ns(const struct world *, const struct host *);
/* This chunk is here from now on. */
void world_has_come(struct world *, struct host *, uint32_t chunk);
bool world_has_arrived(const struct host *, uint32_t chunk);

/* world_server.c */
void world_setup_server(struct world *);
/* Makes the engine of a server at this port, with what all servers have in common. */
void world_setup_host(struct world *, struct host *, uint32_t port);
void world_free_host(struct host *);
void world_step_server(struct world *, struct host *);
/* The name of a server in the trace. */
const char *world_name(const struct world *, const struct host *);
/* Adds the statistics of the engine that runs now to those of the engines that died. */
void world_keep_stats(struct world *, struct host *);
/* Does a server run that can be heard? */
bool world_is_served(const struct world *);

/* world_relay.c */
void world_setup_relay(struct world *, uint32_t port);
/* The client at this port has had its turn. */
void world_relay_step(struct world *, uint32_t port);
/* A client has written a chunk. */
void world_relay_has(struct world *, const struct node *, uint32_t chunk);
/* A server has heard messages: passes on what it was asked for and does not have. */
void world_relay_lacks(struct world *, struct host *);
/* The server that the client at this port hears. */
struct host *world_server_of(struct world *, uint32_t port);

/* world_reader.c */
void world_setup_readers(struct world *, uint64_t seed);
void world_free_readers(struct world *);
/* A reader's engine hands out blocks that came for reads. */
void world_reader_hears(struct world *, struct node *, const struct client_store *);
void world_reader_step(struct world *, struct node *);
uint64_t world_reader_next_ns(const struct world *, const struct node *);
void world_sum_readers(struct world *);

/* world_rival.c */
void world_setup_rival(struct world *, uint32_t port);
/* The server at this port; NULL: there is none. */
struct host *world_host_at(struct world *, uint32_t port);
/* Is this the address of a server? */
bool world_from_server(const struct world *, const uint8_t ip[4]);

/* world_foes.c */
void world_setup_foes(struct world *, uint32_t first_port);
bool world_is_foe(const struct world *, uint32_t port);
/* Is this the address of a stranger? */
bool world_from_foe(const struct world *, const uint8_t ip[4]);
void world_step_foe(struct world *, uint32_t port);

/* world_client.c */
void world_setup_clients(struct world *);
/* Is nothing wrong with this client? */
bool world_is_clean(const struct world *, uint32_t client);
/* Does this client not know the extension? */
bool world_is_old(const struct world *, uint32_t client);
void world_step_client(struct world *, uint32_t port);

#endif /* TESTS_SIM_WORLD_IMPL_H */
