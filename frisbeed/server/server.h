/* server.h: the server's protocol engine: packets and time in, packets out.
 *
 * No socket, clock, thread, file or block memory inside.  The shell (loop.c)
 * or the simulator drives it:
 *
 *	server_input()		a datagram arrived
 *	server_read_next()	the next run of blocks that should be read now
 *	server_read_done()	... and is in memory
 *	server_output()		what to send now: a packet, or one block of a run
 *	server_deadline()	when to call server_output() again
 *
 * Requests are merged into one FIFO of chunks with bitmaps of wanted blocks;
 * a block that is queued, being read, or read and not yet sent is never queued
 * again.  Runs are read ahead of sending: up to `ahead` of them are between
 * server_read_next() and their last block's sending at a time; their number
 * (0..ahead-1) names the shell's buffer.
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
	SERVER_AHEAD_MAX = 1024,
	SERVER_CLIENTS_MAX = 16384, /* for counting and -T < 0 only */
	/* Of a whole chunk each.  One is held until what was read ahead before it has
	 * gone out: with few, repairs wait for each other. */
	SERVER_PARITY_BUFFERS = 16,
};
#define SERVER_NEVER UINT64_MAX

/* The extension; docs/protocol-rules.md. */
struct server_ext_config {
	bool on;       /* only for whole_chunks */
	bool parity;   /* the shell can compute it */
	uint16_t port; /* the second one */
	/* In one packet, as long as the interface takes them; 0: one each, always. */
	uint32_t pack_blocks;
	uint32_t session; /* random, not 0 */
	uint8_t identity[WIREXT_IDENTITY_BYTES];
};

struct server_config {
	uint64_t image_bytes; /* > 0 */
	bool whole_chunks;    /* answer JOIN; else only JOIN2 (not an image) */
	uint8_t srcip[4];
	uint32_t run_blocks; /* blocks a read, -R: 1..1024, usual 32 */
	uint32_t ahead;      /* runs: 1..SERVER_AHEAD_MAX */
	uint32_t burst;      /* blocks a burst, -B */
	uint64_t gap_us;     /* between starts of bursts, -G; 0: no pacing */
	bool dynamic; /* -D: find out how fast the network is, below burst and gap */
	/* -T: stop after so long without requests when idle; 0 never; < 0: 2 s
	 * after the last client left or fell silent for good and nobody asks any more
	 * (at the latest 30 min after the last request); needs at least one client that
	 * asked for something. */
	int64_t idle_us;
	uint32_t wait_clients; /* no block is sent before this many are there at once */
	/* The image still arrives: of a chunk nothing is read before server_have() has
	 * named all of its blocks.  Whoever asks for it before gets it then. */
	bool growing;
	struct server_ext_config ext;
};

struct server_stats {
	uint64_t joins, leaves, requests, prequests, bad_packets;
	uint64_t blocks_requested; /* sum over all requests */
	uint64_t blocks_already_pending; /* requested blocks that were going to be sent anyway */
	uint64_t blocks_sent, bytes_sent;
	uint64_t blocks_resent; /* had been sent before, to any client */
	uint64_t blocks_lost;   /* named by requests for less than a chunk */
	uint32_t clients, clients_max; /* now; at most at once */
	uint64_t gone;                 /* forgotten: silent for minutes, without LEAVE */
	uint64_t wants, reports, gos;  /* the extension's messages */
	uint64_t parity_sent;          /* blocks */
	uint64_t packs_sent;           /* packets of one or several blocks */
	uint64_t blocks_left_out;      /* empty ends of chunks */
	uint64_t fits;                 /* answers to MTU_PROBEs */
	double unasked;                /* parity blocks a group that go with the data */
	uint64_t loads;                /* complaints about the rate */
	double rate;     /* with -D: blocks a second, lastly; 0: unpaced */
	uint32_t rate_reductions; /* with -D: how often the rate was reduced */
};

/* A run of consecutive blocks of one chunk, to be read into buffer `buf`.  Buffers
 * from cfg.ahead on hold a whole chunk, of which parity will be made. */
struct server_run {
	uint32_t buf;
	uint32_t chunk, first, count;
};

enum server_out_kind {
	SERVER_OUT_NONE,
	SERVER_OUT_PACKET, /* for the second port when wirext_is() */
	SERVER_OUT_BLOCK,
	SERVER_OUT_PARITY, /* for the second port */
	SERVER_OUT_PACK,   /* ... and this one, of one or several blocks */
};

struct server_out {
	enum server_out_kind kind;
	size_t len; /* PACKET: of pkt */
	uint8_t pkt[WIREXT_PACKET_MAX];
	uint32_t buf, at; /* BLOCK, DATA: the buffer, and which of its blocks */
	uint32_t chunk, block;
	uint32_t count;        /* DATA: blocks in it */
	uint32_t content;      /* DATA, PARITY: of the chunk, for the header */
	uint32_t group, index; /* PARITY: of what is in buf */
	bool run_ends;         /* its last block: after sending, buf is free */
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
/* With cfg.growing: these blocks of the chunk can be read from now on.  The shell calls
 * server_read_next() and server_deadline() then. */
void server_have(
    struct server *, uint64_t now_us, uint32_t chunk, const struct blockmap *blocks);
/* Only the first `blocks` blocks of the chunk are not all zero, as its bytes say.
 * Before server_read_done() of any of its runs; optional. */
void server_content(struct server *, uint32_t chunk, uint32_t blocks);
/* From now on the interface takes no packets of more than `blocks` (> 0) blocks. */
void server_pack_limit(struct server *, uint32_t blocks);
/* Fills *out and returns true while there is something that may go now. */
bool server_output(struct server *, uint64_t now_us, struct server_out *);
/* When server_output() will have more or -T runs out, if nothing arrives before
 * that; SERVER_NEVER when it waits for input or a read. */
uint64_t server_deadline(const struct server *, uint64_t now_us);
/* From now on at most bits_per_s (> 0) are sent; with -D less, if need be. */
void server_set_rate(struct server *, uint64_t bits_per_s);
/* The network has just carried bits_per_s for others: with -D, a session that begins
 * need not look for that rate. */
void server_trust_rate(struct server *, uint64_t bits_per_s);
/* The file is no longer what the clients were promised: from now on they are told
 * so, and nothing else is sent; whoever joins gets no answer. */
void server_image_changed(struct server *);
/* Has -T run out? */
bool server_done(const struct server *, uint64_t now_us);
/* What has been counted so far. */
struct server_stats server_stats(const struct server *);
/* Is this address set aside, because it alone complains about the rate?  If so,
 * *share_received is the share of the sent blocks that it receives, 0..1. */
bool server_is_aside(const struct server *, const uint8_t ip[4], double *share_received);

/* Events for the log; NULL slots are skipped. */
struct server_log {
	void (*joined)(void *arg, const uint8_t ip[4], uint32_t clientid);
	void (*left)(void *arg, const uint8_t ip[4], uint32_t clientid,
	    int32_t elapsed_s, const struct wire_stats *stats_or_null);
	void (*gone)(
	    void *arg, const uint8_t ip[4], uint32_t clientid, uint64_t silent_us);
	/* It alone complains about the rate, which is not lowered for it; of what is
	 * sent it gets this share. */
	void (*complains)(void *arg, const uint8_t ip[4], double share_received);
	void (*bad)(void *arg, const uint8_t ip[4], const struct err *);
	/* Another server of this group and port is heard for the first time. */
	void (*other)(void *arg, const uint8_t ip[4]);
	void *arg;
};
void server_set_log(struct server *, const struct server_log *);
/* Our own address is another one now. */
void server_set_address(struct server *, const uint8_t addr[4]);

/* Split a rate in bits/s (> 0) into burst and gap with WIRE_BLOCK_COST_BITS a
 * block: the shortest gap in whole milliseconds with which the average is at most
 * 1 % below the rate, and never above. */
void server_rate_to_burst(uint64_t bits_per_s, uint32_t *burst, uint64_t *gap_us);

#endif /* FRISBEED_SERVER_SERVER_H */
