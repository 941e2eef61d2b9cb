/* server.h: the server's protocol engine: packets and time in, packets out.
 *
 * The engine has no socket, clock, thread, file or block memory.  The shell (loop.c)
 * or the simulator drives it:
 *
 *	server_input()		a datagram arrived
 *	server_read_next()	the next run of blocks that should be read now
 *	server_read_done()	a run has been read into memory
 *	server_output()		what to send now: a packet, or one block of a run
 *	server_deadline()	when to call server_output() again
 *
 * Requests are merged into one FIFO of chunks with bitmaps of wanted blocks;
 * a block that is queued, being read, or read and not yet sent is never queued
 * again.  Runs are read ahead of sending: at most `ahead` of them at a time have
 * been given out by server_read_next() and not been sent completely; server_run.buf
 * (0..ahead-1) names the shell's buffer of each.
 * Times are microseconds on any monotonic clock.
 * Source: the protocol specification, sections 4 and 6.
 */
#ifndef FRISBEED_SERVER_SERVER_H
#define FRISBEED_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "common/wire/wire.h"
#include "common/wire/wirext.h"

enum {
	SERVER_AHEAD_MAX = 1024,    /* runs: 32 MiB of the default length */
	SERVER_CLIENTS_MAX = 16384, /* remembered at a time (server_members.h) */
	/* Buffers for a whole chunk.  Each is occupied until the blocks that were read
	 * before it have been sent, so with few of them repairs would wait for each
	 * other. */
	SERVER_PARITY_BUFFERS = 16,
	/* Buffers of run_blocks each, for blocks of URGENT_DATA, which are read beside
	 * what is read ahead. */
	SERVER_URGENT_BUFFERS = 4,
	SERVER_MAP_FULL = 15, /* of server_map(): all blocks of the cell */
};
#define SERVER_NEVER UINT64_MAX

/* The extension; docs/protocol-rules.md. */
struct server_ext_config {
	bool on;       /* only for whole_chunks */
	bool parity;   /* the shell can compute it */
	uint16_t port; /* the second one */
	/* The most blocks in one packet, if the interface can send it; 0: always one
	 * block. */
	uint32_t pack_blocks;
	uint32_t session; /* random, not 0 */
	uint8_t identity[WIREXT_IDENTITY_BYTES];
};

struct server_config {
	uint64_t image_bytes; /* > 0 */
	bool whole_chunks;    /* an image: JOIN is answered; otherwise only JOIN2 is */
	uint8_t srcip[4];
	uint32_t run_blocks; /* blocks a read, -R: 1..1024, usual 32 */
	uint32_t ahead;      /* runs: 1..SERVER_AHEAD_MAX */
	/* -W: the highest rate in bits a second.  0: that of -B and -G, `burst` blocks every
	 * gap_us; when gap_us is 0, too, there is no pace. */
	uint64_t rate_bits;
	uint32_t burst;
	uint64_t gap_us;
	bool dynamic; /* -D: adapt the rate to the network, at most to the highest rate */
	/* -T: end the session after this time without requests.  0: never.  Negative:
	 * end it linger_us after the last client has left or has fallen silent and
	 * nothing is requested any more, but at the latest 30 min after the last request;
	 * at least one client must have requested something. */
	int64_t idle_us;
	uint64_t linger_us; /* 0: 2 s */
	uint32_t wait_clients; /* no block is sent before this many clients are there at
	                          once */
	/* The image still arrives: a chunk is not read before server_have() has named
	 * all of its blocks.  A chunk that is requested earlier is sent then. */
	bool growing;
	struct server_ext_config ext;
};

/* Is there a pace, or do only the clients' requests and credit limit the rate? */
static inline bool
server_is_paced(const struct server_config *cfg)
{
	return cfg->rate_bits != 0 || cfg->gap_us != 0;
}

struct server_stats {
	uint64_t joins, leaves, requests, prequests, bad_packets;
	uint64_t blocks_requested;       /* sum over all requests */
	uint64_t blocks_already_pending; /* requested blocks that were going to be sent
	                                    anyway */
	uint64_t blocks_sent, bytes_sent;
	uint64_t blocks_resent; /* had been sent before, to any client */
	uint64_t blocks_lost;   /* named by requests for less than a chunk */
	uint32_t clients,
	    clients_max; /* now; the most that were there at the same time */
	uint64_t gone;   /* clients that were forgotten: silent, without LEAVE */
	uint64_t wants, nacks, credits; /* the extension's messages */
	uint64_t parity_sent;          /* blocks */
	uint64_t data_packets_sent;    /* packets of one or several blocks */
	uint64_t blocks_left_out;      /* blocks of the empty ends of chunks */
	uint64_t mtu_acks;             /* answers to MTU_PROBEs */
	uint64_t urgent_asked; /* blocks that URGENTs added to those that wait */
	uint64_t urgent_sent;  /* blocks of URGENT_DATA; not in blocks_sent */
	double proactive;     /* parity blocks per group that are sent without a NACK */
	uint64_t congestions; /* complaints about the rate */
	double rate; /* with -D: the current rate, in blocks a second; 0: unpaced */
	uint32_t rate_reductions; /* with -D: how often the rate was reduced */
};

/* A run of consecutive blocks of one chunk, to be read into buffer `buf`.  Of the buffers
 * from cfg.ahead on, SERVER_PARITY_BUFFERS hold a whole chunk, of which parity will be made;
 * the SERVER_URGENT_BUFFERS behind them are for blocks that somebody waits for. */
struct server_run {
	uint32_t buf;
	uint32_t chunk, first, count;
};

enum server_out_kind {
	SERVER_OUT_NONE,
	SERVER_OUT_PACKET, /* for the second port when wirext_is() */
	SERVER_OUT_BLOCK,
	SERVER_OUT_PARITY, /* for the second port */
	SERVER_OUT_DATA,   /* for the second port: one or several blocks */
	SERVER_OUT_URGENT, /* for the second port: the blocks of an URGENT_DATA */
};

struct server_out {
	enum server_out_kind kind;
	size_t len; /* PACKET: the bytes in pkt */
	uint8_t pkt[WIREXT_PACKET_MAX];
	uint32_t buf, at; /* BLOCK, DATA: the buffer, and which of its blocks */
	uint32_t chunk, block;
	uint32_t count;        /* DATA: blocks in it */
	uint32_t content; /* DATA, PARITY: the chunk's blocks before its empty end */
	uint32_t group, index; /* PARITY: which parity block of the chunk in buf */
	bool run_ends; /* the last block of the run: after sending, buf is free */
};

struct server;

/* NULL: out of memory.  The configuration is checked by the caller (asserted). */
struct server *server_new(const struct server_config *, uint64_t now_us);
void server_free(struct server *);
uint32_t server_chunks(const struct server *);
/* One datagram, with the address it came from (the caller has checked the port). */
void server_input(struct server *, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4]);
bool server_read_next(struct server *, struct server_run *);
void server_read_done(struct server *, uint32_t buf);
/* With cfg.growing: these blocks of the chunk can be read from now on.  The shell must
 * then call server_read_next() and server_deadline(). */
void server_have(
    struct server *, uint64_t now_us, uint32_t chunk, const struct blockmap *blocks);
/* With cfg.growing: a chunk that has not arrived, and that a client has asked for by
 * itself and not only with all others.  It is returned once for each request.  False:
 * there is none now. */
bool server_lacks(struct server *, uint32_t *chunk);
/* The chunk is empty after its first `blocks` blocks: the others are all zero.
 * Optional; must be called before server_read_done() of any of the chunk's runs. */
void server_content(struct server *, uint32_t chunk, uint32_t blocks);
/* Take over a list of n (> 0) runs of blocks, which was allocated by malloc(): what machines
 * need that start from the image while it loads, in their order.  All runs lie within the
 * image (asserted).  While clients say by URGENT that they wait for blocks, the list is sent
 * before others, as docs/protocol-rules.md (16.7) says; never in a session without a pace.
 * Optional; at any time. */
void server_set_order(struct server *, struct wirext_run *runs, uint32_t n);
/* From now on the interface of this host sends no packets of more than `blocks` (> 0)
 * blocks. */
void server_data_limit(struct server *, uint32_t blocks);
/* Fill in *out and return true if something may be sent now. */
bool server_output(struct server *, uint64_t now_us, struct server_out *);
/* When server_output() will have something, or -T ends the session, if nothing arrives
 * before; SERVER_NEVER if the engine waits for input or a read. */
uint64_t server_deadline(const struct server *, uint64_t now_us);
/* Are there blocks in memory that only wait for their time? */
bool server_has_blocks(const struct server *);
/* From now on send at most bits_per_s (> 0); with -D, perhaps less. */
void server_set_rate(struct server *, uint64_t bits_per_s);
/* The network has just carried bits_per_s for other sessions: with -D, a session that
 * begins can start at that rate. */
void server_trust_rate(struct server *, uint64_t bits_per_s);
/* The file has changed: from now on the clients are told so, nothing else is sent, and
 * JOINs are not answered. */
void server_image_changed(struct server *);
/* Has -T ended the session? */
bool server_done(const struct server *, uint64_t now_us);
/* The counters so far. */
struct server_stats server_stats(const struct server *);
/* Fill in a map of what was sent at least once: n cells (1 to the number of chunks) of about the
 * same number of chunks each.  0: nothing of the cell's chunks; SERVER_MAP_FULL: all of them;
 * between these by the share of blocks. */
void server_map(const struct server *, uint8_t *cells, uint32_t n);
/* Is this address set aside, because it alone complains about the rate?  If so,
 * *share_received is the share of the sent blocks that it receives, 0..1. */
bool server_is_aside(
    const struct server *, const uint8_t ip[4], double *share_received);

/* Events for the log.  Functions that are NULL are not called. */
struct server_log {
	void (*joined)(void *arg, const uint8_t ip[4], uint32_t clientid);
	void (*left)(void *arg, const uint8_t ip[4], uint32_t clientid,
	    int32_t elapsed_s, const struct wire_stats *stats_or_null);
	void (*gone)(
	    void *arg, const uint8_t ip[4], uint32_t clientid, uint64_t silent_us);
	/* The address alone complains about the rate, which is not reduced for it; half:
	 * or only half of the time.  It receives this share of the sent blocks, 0..1. */
	void (*complains)(
	    void *arg, const uint8_t ip[4], double share_received, bool half);
	void (*bad)(void *arg, const uint8_t ip[4], const struct err *);
	/* Another server of this group and port is heard for the first time. */
	void (*other)(void *arg, const uint8_t ip[4]);
	void *arg;
};
void server_set_log(struct server *, const struct server_log *);
/* The address of this host has changed. */
void server_set_address(struct server *, const uint8_t addr[4]);

#endif /* FRISBEED_SERVER_SERVER_H */
