/* master.h: the messages between clients and the master server over TCP.  A client asks for an
 * image by name, and learns at which address the image is served or taken.
 *
 * Each connection carries one request and one reply, both of a fixed length, and is closed
 * after the reply.  Numbers are in network order.
 * Source: the protocol specification, section 7, and golden/mserver-get.pcap. */
#ifndef COMMON_WIRE_MASTER_H
#define COMMON_WIRE_MASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum {
	MASTER_PORT = 64494,
	MASTER_NAME_MAX = 256,
	MASTER_SIGNATURE_MAX = 256,
	MASTER_HEADER_BYTES = 8, /* what master_message_bytes() looks at */
	MASTER_GET_BYTES = 272,
	MASTER_GET_REPLY_BYTES = 288,
	MASTER_PUT_BYTES = 287,
	MASTER_PUT_REPLY_BYTES = 291,
	MASTER_VERDICT_BYTES = 512,
};

enum master_type {
	MASTER_GET = 1,
	MASTER_GET_REPLY,
	MASTER_PUT,
	MASTER_PUT_REPLY,
};

/* How an image is sent.  A request has a mask of the methods that its client can use. */
enum master_method {
	MASTER_UNICAST = 1,
	MASTER_MULTICAST = 2,
	MASTER_BROADCAST = 4,
	MASTER_ANY = 7,
};

enum master_error {
	MASTER_OK,
	MASTER_FAILED,
	MASTER_NO_HOST,
	MASTER_NO_IMAGE,
	MASTER_NO_ACCESS,
	MASTER_NO_METHOD,
	MASTER_INVALID,
	MASTER_TRY_AGAIN,
	MASTER_TOO_BIG,
	MASTER_BAD_MTIME,
	MASTER_NOT_IMPLEMENTED,
};

enum master_signature_type {
	MASTER_SIGNATURE_NONE,
	MASTER_SIGNATURE_MTIME, /* 4 bytes: seconds since 1970, in network order */
	MASTER_SIGNATURE_MD5,
	MASTER_SIGNATURE_SHA1,
	/* In a refusal, in place of a signature: a challenge (MASTER_CHALLENGE_BYTES, see
	 * master_proof.h). */
	MASTER_SIGNATURE_CHALLENGE = 0x4642,
};

struct master_signature {
	uint16_t type; /* enum master_signature_type */
	uint8_t bytes[MASTER_SIGNATURE_MAX];
};

/* A client wants to load an image. */
struct master_get {
	uint8_t host[4]; /* the host that the request is made for; zeros: the sender */
	uint8_t methods; /* a mask of enum master_method */
	bool status_only; /* the client only asks: no server is started */
	char name[MASTER_NAME_MAX + 1];
};

struct master_get_reply {
	uint8_t method; /* enum master_method; for a status-only request: a mask */
	bool running;   /* the image is being served */
	uint16_t error; /* enum master_error */
	uint8_t server[4], addr[4]; /* of the server; what the image is sent to */
	uint16_t port;
	struct master_signature signature; /* of the image */
	uint64_t bytes;                    /* of the image */
};

/* A client wants to upload an image. */
struct master_put {
	uint8_t host[4];  /* the host that the request is made for; zeros: the sender */
	bool status_only; /* the client only asks, and sends no image */
	char name[MASTER_NAME_MAX + 1];
	uint64_t bytes;     /* of the image; 0: not known */
	uint32_t mtime;     /* of the image, seconds since 1970; 0: not known */
	uint32_t timeout_s; /* 0: none */
};

struct master_put_reply {
	uint16_t error;  /* enum master_error */
	uint8_t addr[4]; /* where the client connects to send the image */
	uint16_t port;
	bool exists; /* there is an image of this name; signature and bytes are its own */
	struct master_signature signature;
	uint64_t bytes, bytes_max; /* bytes_max: the largest image that is taken */
};

/* The type and the length, in bytes, of the message that begins with these
 * MASTER_HEADER_BYTES.  ERR_FORMAT: the message is of another version, or is none of the four. */
int master_message_bytes(const void *header, enum master_type *, size_t *, struct err *);

/* Each of these functions reads a whole message of its fixed length.  ERR_FORMAT: the message has
 * another type or length, or its name is empty, too long, or has a control character. */
int master_get_read(struct master_get *, const void *, size_t, struct err *);
int master_get_reply_read(struct master_get_reply *, const void *, size_t, struct err *);
int master_put_read(struct master_put *, const void *, size_t, struct err *);
int master_put_reply_read(struct master_put_reply *, const void *, size_t, struct err *);

/* Each of these functions writes a whole message. */
void master_get_write(const struct master_get *, uint8_t out[MASTER_GET_BYTES]);
void master_get_reply_write(
    const struct master_get_reply *, uint8_t out[MASTER_GET_REPLY_BYTES]);
void master_put_write(const struct master_put *, uint8_t out[MASTER_PUT_BYTES]);
void master_put_reply_write(
    const struct master_put_reply *, uint8_t out[MASTER_PUT_REPLY_BYTES]);

/* What has become of an upload.  This suite's master server sends it on the connection of the
 * upload, after the last byte has come.  Original servers send no verdict, and original clients
 * have closed the connection by then. */
struct master_verdict {
	bool taken;
	/* Why the image was not taken.  The text may have harmful characters (plain.h). */
	char reason[MASTER_VERDICT_BYTES - 4];
};
void master_verdict_write(
    const struct master_verdict *, uint8_t out[MASTER_VERDICT_BYTES]);
/* ERR_FORMAT: the bytes are no verdict, or are cut short. */
int master_verdict_read(struct master_verdict *, const void *, size_t, struct err *);

/* What an error means, as a sentence without its subject: "has no such image". */
const char *master_error_text(uint16_t error);

#endif /* COMMON_WIRE_MASTER_H */
