/* wire.h: the packets of the Frisbee protocol, to the byte.
 *
 * All fields little-endian except srcip, which is in network order (held here
 * as the four bytes).  Layout:
 *
 *	0 i32 type (1 request, 2 reply), 4 i32 subtype, 8 u32 datalen,
 *	12 srcip[4], 16 body
 *
 * Source: the protocol specification, sections 2 and 3.
 */
#ifndef COMMON_WIRE_WIRE_H
#define COMMON_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum wire_type { WIRE_REQUEST = 1, WIRE_REPLY = 2 };

enum wire_subtype {
	WIRE_JOIN = 1,
	WIRE_LEAVE = 2,
	WIRE_BLOCK = 3, /* the server's, but of the type WIRE_REQUEST */
	WIRE_REQ = 4,
	WIRE_LEAVE2 = 5,
	WIRE_PREQ = 6,
	WIRE_JOIN2 = 7,
	WIRE_PROGRESS = 8,
};

enum {
	WIRE_HEADER_BYTES = 16,
	WIRE_BLOCK_BYTES = 1024,      /* payload of a block */
	WIRE_BLOCK_HEADER_BYTES = 24, /* in front of the payload */
	WIRE_BLOCK_PACKET_BYTES = WIRE_BLOCK_HEADER_BYTES + WIRE_BLOCK_BYTES,
	WIRE_PACKET_MAX = 1056, /* the longest packet that peers read */
	WIRE_CHUNK_BLOCKS = 1024,
	WIRE_MAP_BYTES = WIRE_CHUNK_BLOCKS / 8,
	/* The cost of a block on the wire, for option -W: 1056 + 28 + 38 bytes. */
	WIRE_BLOCK_COST_BITS = 8976,
};

/* The statistics in a LEAVE2 (protocol specification, section 2). */
struct wire_stats {
	int32_t run_s, run_ms;
	int32_t start_delay_ms;
	uint64_t bytes_written; /* bytes that were written */
	uint64_t bytes_covered; /* bytes that were written or skipped */
	int32_t chunk_buffers, readahead, max_in_progress;
	int32_t packet_timeout_us, start_delay_s, idle_ticks, idle_delay_us,
	    redo_delay_us;
	int32_t randomised;
	uint32_t no_chunk_ready, dropped_no_buffer, dup_finished, dup_in_progress;
	uint32_t prequests, idle_timeouts, join_attempts, requests,
	    decompressor_blocked;
	uint32_t writer_idle;
	int32_t write_buffer_mb;
	uint32_t blocks_by_prequest, rerequests, partial_drops, full_rerequests;
};

struct wire_msg {
	enum wire_type type;
	enum wire_subtype subtype;
	uint8_t srcip[4];
	union {
		struct {
			uint32_t clientid;
			uint32_t blocks;
		} join; /* request: id; reply: blocks */
		struct {
			uint32_t clientid;
			uint32_t blocks, chunk_blocks, block_bytes;
			uint64_t image_bytes;
		} join2;
		struct {
			uint32_t clientid;
			int32_t elapsed_s;
		} leave;
		struct {
			uint32_t clientid;
			int32_t elapsed_s;
			struct wire_stats stats;
		} leave2;
		struct {
			uint32_t chunk, block;
			const uint8_t *data; /* borrowed from the packet */
		} block;
		struct {
			uint32_t chunk, first, count;
		} req;
		struct {
			uint32_t chunk;
			int32_t retries;
			uint8_t map[WIRE_MAP_BYTES];
		} preq;
	} u;
};

/* Decode a packet.  ERR_FORMAT: too short, too long, unknown type or subtype,
 * datalen below the table's, a block number or range outside a chunk, a
 * negative number, an empty request.  ERR_UNSUPPORTED: PROGRESS (a newer
 * peer's; to be dropped in silence).  The chunk number is checked only
 * against INT32_MAX: the engines know how many there are.  Bytes behind the
 * body are ignored. */
int wire_get(struct wire_msg *, const void *pkt, size_t len, struct err *);
/* Does the header name the address that the packet came from?  A header is believed if the
 * packet seems to come from a multicast group. */
bool wire_source_is(const struct wire_msg *, const uint8_t from[4]);
/* Encode into pkt[cap].  Returns the length, or 0 when the packet does not fit.  Fields that
 * the protocol leaves undefined are zero. */
size_t wire_put(const struct wire_msg *, void *pkt, size_t cap);
/* Encode only the 24 bytes in front of a block's data, for gathered writes. */
void wire_put_block_header(uint8_t hdr[WIRE_BLOCK_HEADER_BYTES], const uint8_t srcip[4],
    uint32_t chunk, uint32_t block);

#endif /* COMMON_WIRE_WIRE_H */
