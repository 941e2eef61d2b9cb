/* wirext.h: the extension of the Frisbee protocol between programs of this suite, to
 * the byte.  The offer follows the body of a JOIN, and the answer follows the body of the
 * reply; other programs read neither.  Outcomes and cookies follow bodies, too.  All other
 * messages use a second port, which the answer names.  docs/protocol-wire.md describes all of
 * it. */
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
	WIREXT_PARITY_HEADER_BYTES = 24, /* bytes in front of a parity block's data */
	WIREXT_MAP_CHUNKS = 8000,        /* the most chunks that a map describes */
	WIREXT_NACKS = 80,               /* the most chunks in one NACK */
	WIREXT_URGENT_RUNS = 80,         /* the most runs in one URGENT */
	/* Groups are interleaved: block b belongs to group b % 8. */
	WIREXT_GROUPS = 8,
	WIREXT_GROUP_BLOCKS = WIRE_CHUNK_BLOCKS / WIREXT_GROUPS,
	WIREXT_PARITY_MAX = 127, /* different parity blocks of a group */
	/* The credit, in blocks, that a JOIN grants to a server: to a paced one, and to an
	 * unpaced one. */
	WIREXT_JOIN_CREDIT = 2 * WIRE_CHUNK_BLOCKS,
	WIREXT_JOIN_CREDIT_UNPACED = 256,
	/* The most blocks in one DATA, all of one chunk, and the bytes in front of them. */
	WIREXT_DATA_BLOCKS = 8,
	WIREXT_DATA_HEADER_BYTES = 24,
	/* The longest DATA, URGENT_DATA or MTU_PROBE.  All other packets are no longer than
	 * WIRE_PACKET_MAX. */
	WIREXT_PACKET_MAX = WIREXT_DATA_HEADER_BYTES +
	                    WIREXT_DATA_BLOCKS * WIRE_BLOCK_BYTES,
	WIREXT_MTU_PROBE_IDS = 200, /* the most clients that one MTU_PROBE asks */
	/* The depth of interleaving: chunks that are sent in turns have the same quotient by
	 * this number. */
	WIREXT_INTERLEAVE = 8,
};

enum wirext_flag {
	WIREXT_CAN_PARITY = 1, /* offer and answer */
	WIREXT_AGAIN = 2,      /* offer: the client will say by WANT which chunks it wants */
	WIREXT_NO_INTERLEAVING = 4, /* offer: the client has too few buffers for it */
	WIREXT_UNPACED = 2,    /* answer: the credit of the clients alone sets the pace */
	/* Answer: probes (probe.h) are answered.  Offer: the sender only asks for the
	 * answer, and is no client. */
	WIREXT_PROBES = 256,
	WIREXT_CAN_URGENT = 512, /* answer: URGENT is understood */
};

struct wirext_answer {
	uint32_t flags;
	uint16_t port;
	uint8_t identity[WIREXT_IDENTITY_BYTES]; /* of the image */
	uint32_t session;                        /* number of the session; never 0 */
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
	WIREXT_MTU_PROBE, /* as long as a DATA, to find out whether such packets arrive */
	WIREXT_MTU_ACK,   /* the longest MTU_PROBE that arrived */
	WIREXT_URGENT = 18, /* blocks that a client waits for; 16 and 17: probe.h */
	WIREXT_URGENT_DATA, /* a DATA that is sent before the blocks of the carousel */
	WIREXT_HEARS, /* a client has lost nothing lately */
};

enum wirext_congestion_flag {
	WIREXT_QUEUE = 1, /* packets queued up */
	WIREXT_STEP = 2,  /* no queue was seen, and losses came in step with bursts */
};

enum wirext_state_flag {
	WIREXT_IDLE = 1,        /* nothing to send */
	WIREXT_STALE = 2,       /* the image's file has changed since it was opened */
	WIREXT_INTERLEAVED = 4, /* chunks are interleaved */
	WIREXT_HELD = 8,        /* blocks are wanted, and no client grants any */
	WIREXT_ASKS = 16,       /* whoever hears everything is to say so */
};

/* A set of the chunks [first, first + count): chunk first + b is bit b % 8 of byte b / 8. */
struct wirext_map {
	uint32_t first, count;
	const uint8_t *bits; /* borrowed from the packet */
};

/* Blocks [first, first + count) of a chunk; count > 0. */
struct wirext_run {
	uint32_t chunk;
	uint16_t first, count;
};

struct wirext_nack {
	uint32_t chunk;
	uint8_t lack[WIREXT_GROUPS]; /* missing blocks of each group, 0..128 */
};

/* What a client is doing; for the reports about clients. */
enum wirext_doing {
	WIREXT_DOING_LOADING = 1,
	WIREXT_DOING_DISK, /* all its memory for chunks waits to be written */
	WIREXT_DOING_FLUSHING,
};

/* How far a client is; it follows the body of WANT, NACK, CREDIT and CREDIT_AT. */
struct wirext_told {
	bool is; /* false: the client did not say it */
	uint8_t doing;   /* enum wirext_doing */
	uint32_t chunks; /* that the client has received */
};

struct wirext_msg {
	enum wirext_kind kind;
	uint8_t srcip[4];
	uint32_t session;
	struct wirext_told told;
	union {
		struct {
			uint8_t identity[WIREXT_IDENTITY_BYTES];
			uint32_t flags, clients, chunks; /* chunks: of the image */
			struct wirext_map coming; /* chunks that will be sent */
		} state;
		struct {
			uint32_t clientid;
			struct wirext_map map; /* the wanted chunks */
		} want;
		struct {
			uint32_t clientid, n;
			struct wirext_nack at[WIREXT_NACKS];
		} nack;
		struct {
			uint32_t clientid, blocks; /* blocks: the credit */
			/* CREDIT_AT: the last block that was received, and the number
			 * of parity blocks that came after it. */
			uint32_t chunk, block, since;
		} credit; /* and CREDIT_AT */
		struct {
			uint32_t epoch;   /* of the server's rate */
			uint64_t sent;    /* blocks so far, parity included */
			uint64_t time_us; /* the server's time */
		} time;
		struct {
			uint32_t clientid, epoch;
			uint32_t lost, of; /* lost blocks, of those sent in the epoch */
			bool queue;        /* packets queued up in the epoch */
			bool step;         /* losses came in step with bursts */
		} congestion;
		struct {
			uint32_t clientid;
			uint32_t epoch; /* of the server's rate, until which nothing was lost */
		} hears;
		struct {
			uint32_t chunk;
			uint8_t group, index;
			uint32_t content;    /* see data.content; 0: not known */
			const uint8_t *data; /* borrowed */
		} parity;
		struct {
			uint32_t chunk, first, count;
			/* The blocks of the chunk without those at its end that are
			 * all zero; 1..1024. */
			uint32_t content;
			const uint8_t *data; /* borrowed: count blocks */
		} data; /* and URGENT_DATA */
		struct {
			uint32_t clientid, n;
			struct wirext_run at[WIREXT_URGENT_RUNS];
		} urgent;
		struct {
			uint32_t number; /* of the round of probes */
			uint32_t blocks; /* the packet is as long as a DATA with these */
			uint32_t n, id[WIREXT_MTU_PROBE_IDS]; /* clients that should answer */
		} mtu_probe;
		struct {
			uint32_t clientid;
			uint32_t number; /* of the MTU_PROBE's round; 0: none */
			uint32_t blocks; /* of the longest MTU_PROBE that came; 1..8 */
		} mtu_ack;
	} u;
};

/* Append an offer to a JOIN of len bytes in pkt[cap], or an answer to its reply.  Returns the new
 * length, or 0 when it does not fit. */
size_t wirext_put_offer(void *pkt, size_t len, size_t cap, uint32_t flags);
size_t wirext_put_answer(
    void *pkt, size_t len, size_t cap, const struct wirext_answer *);
/* Is there an offer, or an answer, behind the body of this packet, which wire_get() has
 * accepted? */
bool wirext_get_offer(const void *pkt, size_t len, uint32_t *flags);
bool wirext_get_answer(const void *pkt, size_t len, struct wirext_answer *);

/* Append to a LEAVE2 whether the whole image was installed: 4 bytes, for which there is
 * just room.  Returns the new length, or 0 when it does not fit. */
size_t wirext_put_outcome(void *pkt, size_t len, size_t cap, bool whole);
/* Is there an outcome behind the body of this packet, which wire_get() has accepted? */
bool wirext_get_outcome(const void *pkt, size_t len, bool *whole);
/* Append the cookie of --unicast; in a JOIN, 0 asks for one.  Returns the new length, or 0 when
 * it does not fit. */
size_t wirext_put_cookie(void *pkt, size_t len, size_t cap, uint64_t cookie);
/* Is there a cookie behind the body of this packet, which wire_get() has accepted? */
bool wirext_get_cookie(const void *pkt, size_t len, uint64_t *cookie);

/* Does this packet belong on the second port?  No packet of the base protocol begins with the
 * same magic. */
bool wirext_is(const void *pkt, size_t len);
/* Decode a packet; pointers in the message are into the packet.  ERR_FORMAT: the packet is not
 * of the extension, too short or too long, has a map without its bytes, or a group or count that
 * is impossible.  ERR_UNSUPPORTED: the kind is not known; a newer peer may have sent it. */
int wirext_get(struct wirext_msg *, const void *pkt, size_t len, struct err *);
/* Encode into pkt[cap].  Returns the length, or 0 when the packet does not fit. */
size_t wirext_put(const struct wirext_msg *, void *pkt, size_t cap);
/* Encode only the bytes in front of a parity block's data. */
void wirext_put_parity_header(uint8_t hdr[WIREXT_PARITY_HEADER_BYTES],
    const uint8_t srcip[4], uint32_t session, uint32_t chunk, uint32_t group,
    uint32_t index, uint32_t content);
/* Encode only the bytes in front of the data of a DATA or URGENT_DATA, as `kind` says. */
void wirext_put_data_header(uint8_t hdr[WIREXT_DATA_HEADER_BYTES],
    enum wirext_kind kind, const uint8_t srcip[4], uint32_t session, uint32_t chunk,
    uint32_t first, uint32_t count, uint32_t content);

/* Is the chunk in the set? */
static inline bool
wirext_map_test(const struct wirext_map *m, uint32_t chunk)
{
	uint32_t i = chunk - m->first;

	return i < m->count && (m->bits[i / 8] >> i % 8 & 1) != 0;
}

#endif /* COMMON_WIRE_WIREXT_H */
