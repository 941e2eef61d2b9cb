/* msg.h: the messages of dolly's protocol (docs/dolly-protocol.md).  Each message is sent
 * as a frame: the length of the body, the type, and the body.  Numbers are little-endian. */
#ifndef DOLLY_ENGINE_MSG_H
#define DOLLY_ENGINE_MSG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rd.h"

enum {
	MSG_VERSION = 5,
	MSG_VERSION_OLDEST = 3,
	MSG_VERSION_REPORTS = 4, /* the first one with REPORT and LEAF */
	MSG_VERSION_DIGESTS = 5, /* ... with DIGESTS, and with WANT of a node to its server */
	MSG_FRAME_BYTES = 5, /* length and type, in front of each body */
	MSG_DATA_BYTES = 12, /* fields of a DATA body, in front of the piece */
	MSG_PIECE_MAX = 65536,
	MSG_BODY_MAX = MSG_DATA_BYTES + MSG_PIECE_MAX,
	MSG_FIRST_MAX = 256,    /* bytes of the first body of a connection */
	MSG_CONTROL_MAX = 4096, /* bytes of any body except that of DATA */
	MSG_KEY_BYTES = 16,
	MSG_IDENTITY_BYTES = 16,
	MSG_DIGEST_BYTES = 16,
	MSG_TEXT_MAX = 200, /* bytes of a sentence or a name */
	MSG_RANGES_MAX = 256,
	MSG_LINKS_MAX = 128,
	MSG_DIGESTS_MAX = 250,
	MSG_CHUNKS_MAX = 1 << 26,
};

enum msg_type {
	MSG_JOIN = 1, /* node to server, first: versions, port, text: its name */
	MSG_WELCOME,  /* server to node: version, id, key, content, identity, chunks,
	               * bytes, deadline, slow */
	MSG_REFUSE,   /* server to node: text: why the node is not served, or no longer */
	MSG_PARENT, /* server to node: id, address, port, key of the parent, from which the
	             * node gets its chunks */
	MSG_DROP,   /* server to node: id: this child is cut out */
	MSG_END,    /* server to node: the node is not needed any more, and may end */
	MSG_PROGRESS, /* node to server: have, stuck, waits */
	MSG_LOST,   /* node to server: id: the connection to this parent ended; text: why */
	MSG_WHOLE,  /* node to server: all chunks are installed */
	MSG_FAILED, /* node to server: text: why the node gives up */
	MSG_HELLO,  /* child to parent, first: id of the child, key of the parent */
	MSG_WANT,   /* child to parent: ranges of chunks, or none: its own children hold it up;
	             * node to server: of those whose digests it lacks */
	MSG_DATA,   /* parent to child: chunk, offset, length, a piece */
	MSG_REPORT, /* node to server: links, what the node has measured of them */
	MSG_LEAF,   /* server to node: id: this child is not waited for */
	MSG_DIGESTS, /* server to node: chunk, the first one; digests of it and those behind it */
};

/* What the chunks contain. */
enum msg_content {
	MSG_IMAGE = 0, /* chunks of an image, unchanged */
	MSG_RAW = 1,   /* bytes of any file or disk, packed by dolly/raw */
};

struct msg_range {
	uint32_t first, count;
};

/* What one end of a link has measured since the link was there. */
struct msg_link {
	uint32_t id;        /* of the node at the other end; 0: the server */
	bool up;            /* the other end is the parent, and not a child */
	uint64_t bytes;     /* that have passed */
	uint32_t waited_ms; /* how long this end was ready and waited for the other one: with
	                     * bytes to send, or with room for bytes that it had asked for */
	uint32_t wanted;    /* chunks that the child wants now, as this end knows */
	uint32_t damaged;   /* chunks that the parent has sent damaged */
};

/* A message.  A message of one type uses only the fields that enum msg_type names for it. */
struct msg {
	enum msg_type type;
	uint16_t version_lo,
	    version_hi; /* JOIN: the range of versions; WELCOME: version_lo is the chosen one */
	uint16_t port;
	uint8_t address[4]; /* zeros: the address at which the node reaches the server */
	uint8_t key[MSG_KEY_BYTES];
	uint32_t id;          /* 0: the server */
	uint32_t chunks;      /* of the image, 1 to MSG_CHUNKS_MAX */
	uint64_t bytes;       /* size of what is served */
	uint8_t content;      /* enum msg_content */
	uint8_t identity[MSG_IDENTITY_BYTES]; /* of what is served */
	uint32_t deadline_ms; /* the longest time for which a child may take nothing */
	uint64_t slow;        /* bytes a second that a child must take at least */
	uint32_t have;        /* chunks that are installed */
	uint32_t stuck;       /* id of a child that takes too little; 0: none */
	uint32_t waits; /* id of a child that has delayed the node for half the deadline; 0:
	                 * none */
	uint32_t chunk, offset; /* DATA: number of the chunk; first byte of the piece */
	uint32_t length; /* DATA: bytes of the whole chunk, as it is sent */
	uint32_t piece_bytes; /* DATA: of the piece, which follows (peer.h) */
	unsigned nranges, nlinks, ndigests;
	struct msg_range ranges[MSG_RANGES_MAX];
	struct msg_link links[MSG_LINKS_MAX];
	uint8_t digests[MSG_DIGESTS_MAX][MSG_DIGEST_BYTES];
	char text[MSG_TEXT_MAX + 1];
};

/* Parses the body of a message of this type; of DATA, what is in front of the piece.
 * ERR_FORMAT: the body does not fit the type, or bytes are left over. */
int msg_read(struct msg *, uint8_t type, struct rd body, struct err *);
/* Appends the frame of a message of any type except DATA.  buf_ok() tells afterwards
 * whether there was memory. */
void msg_write(struct buf *, const struct msg *);
/* Writes the frame header and the fields of a DATA message; the caller sends the
 * piece_bytes of the piece behind it.  length: bytes of the whole chunk. */
void msg_data_header(uint8_t to[MSG_FRAME_BYTES + MSG_DATA_BYTES], uint32_t chunk,
    uint32_t offset, uint32_t length, uint32_t piece_bytes);

#endif /* DOLLY_ENGINE_MSG_H */
