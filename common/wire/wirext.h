/* wirext.h: the extension of the Frisbee protocol between programs of this suite, to
 * the byte.  The offer follows the body of a JOIN, and the answer that of its reply;
 * other programs read neither.  All other messages use a second port, which the
 * answer names. docs/protocol-wire.md describes all of it. */
#ifndef COMMON_WIRE_WIREXT_H
#define COMMON_WIRE_WIREXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/wire/wire.h"

enum {
	WIREXT_IDENTITY_BYTES = 16,
	WIREXT_OFFER_BYTES = 8,
	WIREXT_ANSWER_BYTES = 32,
	WIREXT_HEADER_BYTES = 16,
	WIREXT_PARITY_HEADER_BYTES = 24, /* in front of a parity block's data */
	WIREXT_MAP_CHUNKS = 8000,        /* the most chunks that a map describes */
	WIREXT_NACKS = 80,               /* chunks in one message */
	WIREXT_URGENT_RUNS = 80,         /* runs of blocks in one message */
	/* Groups are interleaved: block b belongs to group b % 8. */
	WIREXT_GROUPS = 8,
	WIREXT_GROUP_BLOCKS = WIRE_CHUNK_BLOCKS / WIREXT_GROUPS,
	WIREXT_PARITY_MAX = 127, /* different parity blocks of a group */
	/* What a join says that a client can take, of a server with a pace or not. */
	WIREXT_JOIN_CREDIT = 2 * WIRE_CHUNK_BLOCKS,
	WIREXT_JOIN_CREDIT_UNPACED = 256,
	/* Blocks of one chunk in one packet, at most, and what is in front of them. */
	WIREXT_DATA_BLOCKS = 8,
	WIREXT_DATA_HEADER_BYTES = 24,
	/* DATA, URGENT_DATA and MTU_PROBE; all others are no longer than WIRE_PACKET_MAX. */
	WIREXT_PACKET_MAX = WIREXT_DATA_HEADER_BYTES +
	                    WIREXT_DATA_BLOCKS * WIRE_BLOCK_BYTES,
	WIREXT_MTU_PROBE_IDS = 200, /* clients that one MTU_PROBE asks */
	/* Chunks that take turns have the same quotient by this. */
	WIREXT_INTERLEAVE = 8,
};

enum wirext_flag {
	WIREXT_CAN_PARITY = 1, /* offer and answer */
	WIREXT_AGAIN = 2,      /* offer: wants will be said by WANT */
	WIREXT_NO_INTERLEAVING = 4,    /* offer: too few buffers for chunks that take turns */
	WIREXT_UNPACED = 2,    /* answer: what clients say is all that sets the pace */
	/* Answer: probes (probe.h) are answered.  Offer: who joins only asks for the
	 * answer, and is no client. */
	WIREXT_PROBES = 256,
	WIREXT_CAN_URGENT = 512, /* answer: URGENT is understood */
};

struct wirext_answer {
	uint32_t flags;
	uint16_t port;
	uint8_t identity[WIREXT_IDENTITY_BYTES]; /* of the image */
	uint32_t session;                        /* of the server's run; never 0 */
	uint32_t clients;                        /* clients with the extension so far */
};

enum wirext_kind {
	WIREXT_STATE = 1,
	WIREXT_WANT,
	WIREXT_NACK,
	WIREXT_PARITY,
	WIREXT_CREDIT,
	WIREXT_TIME,
	WIREXT_CONGESTION,
	WIREXT_CREDIT_AT,
	WIREXT_DATA = 12, /* consecutive blocks of a chunk, several in a packet */
	WIREXT_MTU_PROBE, /* as long as DATA: does it arrive? */
	WIREXT_MTU_ACK,   /* the longest MTU_PROBE that arrived */
	WIREXT_URGENT = 18, /* blocks that somebody waits for; 16 and 17: probe.h */
	WIREXT_URGENT_DATA, /* as DATA, but these blocks go before those of the carousel */
};

enum wirext_state_flag {
	WIREXT_IDLE = 1,        /* nothing to send */
	WIREXT_STALE = 2,       /* the file is no longer what was served */
	WIREXT_INTERLEAVED = 4, /* chunks are interleaved */
};

/* Chunks [first, first + count), a bit each: bit b % 8 of byte b / 8. */
struct wirext_map {
	uint32_t first, count;
	const uint8_t *bits; /* borrowed */
};

/* Blocks [first, first + count) of a chunk; count > 0. */
struct wirext_run {
	uint32_t chunk;
	uint16_t first, count;
};

struct wirext_nack {
	uint32_t chunk;
	uint8_t lack[WIREXT_GROUPS]; /* blocks, 0..128 */
};

/* What a client is doing, for who watches. */
enum wirext_doing {
	WIREXT_DOING_LOADING = 1,
	WIREXT_DOING_DISK, /* all its memory for chunks waits to be written */
	WIREXT_DOING_FLUSHING,
};

/* How far a client is: behind the body of WANT, NACK, CREDIT and CREDIT_AT. */
struct wirext_told {
	bool is; /* false: it did not say */
	uint8_t doing;
	uint32_t chunks; /* that it has received */
};

struct wirext_msg {
	enum wirext_kind kind;
	uint8_t srcip[4];
	uint32_t session;
	struct wirext_told told;
	union {
		struct {
			uint8_t identity[WIREXT_IDENTITY_BYTES];
			uint32_t flags, clients, chunks;
			struct wirext_map coming;
		} state;
		struct {
			uint32_t clientid;
			struct wirext_map map;
		} want;
		struct {
			uint32_t clientid, n;
			struct wirext_nack at[WIREXT_NACKS];
		} nack;
		struct {
			uint32_t clientid, blocks;
			/* CREDIT_AT: the last block that was heard, and how many
			 * parity blocks came after it. */
			uint32_t chunk, block, since;
		} credit; /* and CREDIT_AT */
		struct {
			uint32_t epoch; /* of the server's rate */
			uint64_t sent;  /* blocks, parity included */
			uint64_t time_us;
		} time;
		struct {
			uint32_t clientid, epoch;
			uint32_t lost, of; /* blocks sent in it */
			bool queue;        /* packets queued up meanwhile */
		} congestion;
		struct {
			uint32_t chunk;
			uint8_t group, index;
			uint32_t content;    /* as of a DATA; 0: not known */
			const uint8_t *data; /* borrowed */
		} parity;
		struct {
			uint32_t chunk, first, count;
			/* Blocks of the chunk before those that are all zero;
			 * 1..1024. */
			uint32_t content;
			const uint8_t *data; /* borrowed: count blocks */
		} data; /* and URGENT_DATA */
		struct {
			uint32_t clientid, n;
			struct wirext_run at[WIREXT_URGENT_RUNS];
		} urgent;
		struct {
			uint32_t number;
			uint32_t blocks; /* as long as a DATA with this many blocks */
			uint32_t n, id[WIREXT_MTU_PROBE_IDS]; /* who should answer */
		} mtu_probe;
		struct {
			uint32_t clientid;
			uint32_t number; /* of the MTU_PROBE; 0: of none */
			uint32_t blocks; /* the longest that came; 1..8 */
		} mtu_ack;
	} u;
};

/* Append to a JOIN or its reply: the new length, or 0 when it does not fit. */
size_t wirext_put_offer(void *pkt, size_t len, size_t cap, uint32_t flags);
size_t wirext_put_answer(
    void *pkt, size_t len, size_t cap, const struct wirext_answer *);
/* Is there one behind the body of this packet, which wire_get() has accepted? */
bool wirext_get_offer(const void *pkt, size_t len, uint32_t *flags);
bool wirext_get_answer(const void *pkt, size_t len, struct wirext_answer *);

/* Append to a LEAVE2 whether the whole image was installed: 4 bytes, for which there is
 * just room. */
size_t wirext_put_outcome(void *pkt, size_t len, size_t cap, bool whole);
bool wirext_get_outcome(const void *pkt, size_t len, bool *whole);
/* The same for the cookie of --unicast; in a JOIN 0 asks for one. */
size_t wirext_put_cookie(void *pkt, size_t len, size_t cap, uint64_t cookie);
bool wirext_get_cookie(const void *pkt, size_t len, uint64_t *cookie);

/* Does this packet belong on the second port?  No packet of the base protocol
 * begins so. */
bool wirext_is(const void *pkt, size_t len);
/* ERR_FORMAT: too short, unknown kind, a map without its bytes, a group or count
 * that is impossible.  ERR_UNSUPPORTED: a kind that newer peers have. */
int wirext_get(struct wirext_msg *, const void *pkt, size_t len, struct err *);
size_t wirext_put(const struct wirext_msg *, void *pkt, size_t cap);
/* Only the bytes in front of a parity block's data. */
void wirext_put_parity_header(uint8_t hdr[WIREXT_PARITY_HEADER_BYTES],
    const uint8_t srcip[4], uint32_t session, uint32_t chunk, uint32_t group,
    uint32_t index, uint32_t content);
/* ... of a DATA's, or an URGENT_DATA's. */
void wirext_put_data_header(uint8_t hdr[WIREXT_DATA_HEADER_BYTES],
    enum wirext_kind kind, const uint8_t srcip[4], uint32_t session, uint32_t chunk,
    uint32_t first, uint32_t count, uint32_t content);

static inline bool
wirext_map_test(const struct wirext_map *m, uint32_t chunk)
{
	uint32_t i = chunk - m->first;

	return i < m->count && (m->bits[i / 8] >> i % 8 & 1) != 0;
}

#endif /* COMMON_WIRE_WIREXT_H */
