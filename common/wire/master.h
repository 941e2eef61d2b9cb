/* master.h: what clients and the master server say to each other over TCP: which image, and at
 * which address it is served or taken.
 *
 * Each connection carries one request and one reply, both of a fixed length, and is closed
 * then.  Numbers are in network order.  Source: the protocol specification, section 7, and
 * golden/mserver-get.pcap. */
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
	MASTER_HEADER_BYTES = 8, /* enough for master_request_bytes() */
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

/* How an image is sent; a request has a mask of those that its client can use. */
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
	/* No signature, in a refusal: MASTER_CHALLENGE_BYTES (master_proof.h). */
	MASTER_SIGNATURE_CHALLENGE = 0x4642,
};

struct master_signature {
	uint16_t type;
	uint8_t bytes[MASTER_SIGNATURE_MAX];
};

struct master_get {
	uint8_t host[4]; /* on whose behalf; zeros: the sender's own */
	uint8_t methods; /* a mask of enum master_method */
	bool status_only;
	char name[MASTER_NAME_MAX + 1];
};

struct master_get_reply {
	uint8_t method; /* of a status-only request: a mask */
	bool running;
	uint16_t error; /* enum master_error */
	uint8_t server[4], addr[4];
	uint16_t port;
	struct master_signature signature;
	uint64_t bytes;
};

struct master_put {
	uint8_t host[4];
	bool status_only;
	char name[MASTER_NAME_MAX + 1];
	uint64_t bytes;     /* 0: not known */
	uint32_t mtime;     /* 0: not known */
	uint32_t timeout_s; /* 0: none */
};

struct master_put_reply {
	uint16_t error;
	uint8_t addr[4];
	uint16_t port;
	bool exists;
	struct master_signature signature;
	uint64_t bytes, bytes_max;
};

/* How long the message is that begins with these MASTER_HEADER_BYTES.  ERR_FORMAT when it is of
 * another version, or none of the four. */
int master_message_bytes(const void *header, enum master_type *, size_t *, struct err *);

/* Each reads a whole message of its fixed length.  ERR_FORMAT: it is of another type, its name is
 * empty, too long, or has a control character. */
int master_get_read(struct master_get *, const void *, size_t, struct err *);
int master_get_reply_read(struct master_get_reply *, const void *, size_t, struct err *);
int master_put_read(struct master_put *, const void *, size_t, struct err *);
int master_put_reply_read(struct master_put_reply *, const void *, size_t, struct err *);

/* Each writes a whole message. */
void master_get_write(const struct master_get *, uint8_t out[MASTER_GET_BYTES]);
void master_get_reply_write(
    const struct master_get_reply *, uint8_t out[MASTER_GET_REPLY_BYTES]);
void master_put_write(const struct master_put *, uint8_t out[MASTER_PUT_BYTES]);
void master_put_reply_write(
    const struct master_put_reply *, uint8_t out[MASTER_PUT_REPLY_BYTES]);

/* What has become of an upload, which this suite's master says behind the last byte of one, on the same
 * connection; original servers say nothing, and original clients have closed it. */
struct master_verdict {
	bool taken;
	char reason[MASTER_VERDICT_BYTES - 4]; /* why not; printable (plain.h) or not */
};
void master_verdict_write(
    const struct master_verdict *, uint8_t out[MASTER_VERDICT_BYTES]);
/* ERR_FORMAT: it is none, or cut short. */
int master_verdict_read(struct master_verdict *, const void *, size_t, struct err *);

/* What an error means, as a sentence without its subject: "has no such image". */
const char *master_error_text(uint16_t error);

#endif /* COMMON_WIRE_MASTER_H */
