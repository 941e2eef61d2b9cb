/* msg.h: the messages of dolly's protocol (docs/dolly-protocol.md), each in a frame:
 * the length of its body, its type, the body.  Numbers are little-endian. */
#ifndef DOLLY_ENGINE_MSG_H
#define DOLLY_ENGINE_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rd.h"

enum {
	MSG_VERSION = 2,
	MSG_FRAME_BYTES = 5, /* in front of each body */
	MSG_DATA_BYTES = 12, /* of a body of DATA, in front of the piece */
	MSG_PIECE_MAX = 65536,
	MSG_BODY_MAX = MSG_DATA_BYTES + MSG_PIECE_MAX,
	MSG_FIRST_MAX = 256,    /* of the first body of a connection */
	MSG_CONTROL_MAX = 4096, /* of bodies but DATA */
	MSG_KEY_BYTES = 16,
	MSG_IDENTITY_BYTES = 16,
	MSG_TEXT_MAX = 200, /* bytes of a sentence or a name */
	MSG_RANGES_MAX = 256,
	MSG_CHUNKS_MAX = 1 << 26,
};

enum msg_type {
	MSG_JOIN = 1, /* node to server, first: versions, port, text: its name */
	MSG_WELCOME,  /* server to node: version, id, key, content, identity, chunks,
	               * bytes, deadline, slow */
	MSG_REFUSE,   /* server to node: text: why it is not served, or not any more */
	MSG_PARENT, /* server to node: id, address, port, key: chunks come from there */
	MSG_DROP,   /* server to node: id: this child is cut out */
	MSG_END,    /* server to node: nothing more is needed of it */
	MSG_PROGRESS, /* node to server: have, stuck, waits */
	MSG_LOST,   /* node to server: id: the connection to this parent ended; text */
	MSG_WHOLE,  /* node to server: all is where it belongs */
	MSG_FAILED, /* node to server: text: why it gives up */
	MSG_HELLO,  /* child to parent, first: id of the child, key of the parent */
	MSG_WANT,   /* child to parent: ranges of chunks */
	MSG_DATA,   /* parent to child: chunk, offset, length, a piece */
};

/* What chunks are. */
enum msg_content {
	MSG_IMAGE = 0, /* of an image, as they are */
	MSG_RAW = 1,   /* of any file or disk, packed by dolly/raw */
};

struct msg_range {
	uint32_t first, count;
};

/* Of each type only the fields above mean something. */
struct msg {
	enum msg_type type;
	uint16_t version_lo,
	    version_hi; /* JOIN; WELCOME: version_lo is the chosen one */
	uint16_t port;
	uint8_t address[4]; /* zeros: the server's own, as the node reaches it */
	uint8_t key[MSG_KEY_BYTES];
	uint32_t id;          /* 0: the server */
	uint32_t chunks;      /* of the image, 1 to MSG_CHUNKS_MAX */
	uint64_t bytes;       /* of all that is served */
	uint8_t content;      /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES]; /* of what is served */
	uint32_t deadline_ms; /* for which a child may take nothing */
	uint64_t slow;        /* bytes a second that a child takes at least */
	uint32_t have;        /* chunks that are installed */
	uint32_t stuck;       /* id of a child that takes too little; 0: none */
	uint32_t waits; /* id of a child that has held the node up for a while; 0 */
	uint32_t chunk, offset;
	uint32_t length; /* DATA: bytes of the whole chunk, as it is sent */
	const void *piece; /* DATA: borrowed from the frame */
	uint32_t piece_bytes;
	unsigned nranges;
	struct msg_range ranges[MSG_RANGES_MAX];
	char text[MSG_TEXT_MAX + 1];
};

/* A body; ERR_FORMAT: it is not one of that type, or has bytes left over. */
int msg_read(struct msg *, uint8_t type, struct rd body, struct err *);
/* Appends a frame; not of DATA. */
void msg_write(struct buf *, const struct msg *);
/* The frame of a part of a chunk, without the part's bytes; length: of the whole chunk. */
void msg_data_header(uint8_t to[MSG_FRAME_BYTES + MSG_DATA_BYTES], uint32_t chunk,
    uint32_t offset, uint32_t length, uint32_t piece_bytes);

#endif /* DOLLY_ENGINE_MSG_H */
