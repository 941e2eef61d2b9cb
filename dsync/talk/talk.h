/* talk.h: a connection between dsync and `dsync serve`: messages in TLS 1.3, which both sides
 * can make and read only with a common key (common/net/tls.h).
 *
 * A message is a frame (common/base/frame.h) of one of these kinds.  The client sends one
 * REQUEST, and then what dmmerge reads as DATA, and END.  The server sends what dmmerge prints as
 * DATA, END, and in the end RESULT: a byte that is 0 if dmmerge has succeeded, and otherwise 1 and
 * a sentence.
 *
 * A connection belongs to one thread. */
#ifndef DSYNC_TALK_TALK_H
#define DSYNC_TALK_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/frame.h"
#include "common/net/tls.h"

enum talk_kind { TALK_REQUEST = 1, TALK_DATA, TALK_END, TALK_RESULT };

enum {
	/* The most payload of a frame that fits into one record of TLS, which has up to 16384 bytes. */
	TALK_PAYLOAD_BYTES = FRAME_PAYLOAD_MAX - FRAME_HEAD_BYTES,
};

/* The name of the key in a handshake: a key that other programs share, too, opens no connection of
 * theirs here. */
#define TALK_IDENTITY "dsync"

struct talk;

/* Make a connection from a socket that does not block, and its TLS; both are the connection's
 * from then on, also on failure.  ERR_NOMEM. */
int talk_new(struct talk **, int fd, struct tls_wire *, struct err *);
/* Close the connection.  NULL is fine. */
void talk_free(struct talk *);
/* The socket, for poll(2); it stays the connection's. */
int talk_fd(const struct talk *);

/* Put a message of up to FRAME_PAYLOAD_MAX bytes into the place for the next one, which must be
 * free (talk_is_sent()). */
void talk_queue(struct talk *, enum talk_kind, const void *payload, size_t n);
/* Whether all that was queued was sent. */
bool talk_is_sent(const struct talk *);
/* Send of it what can be sent without waiting.  ERR_IO: the connection has ended. */
int talk_flush(struct talk *, struct err *);
/* Take the next message without waiting.  1: it is in *f, and its payload stays until the next
 * call; 0: it has not arrived yet, and the socket is to be waited for; -1: ERR_IO, the connection
 * has ended; ERR_FORMAT. */
int talk_receive(struct talk *, struct frame *f, struct err *);

/* Make the handshake as the side that has connected, within limit_us.  ERR_REFUSED: the other side
 * has another key, or none; ERR_IO, ERR_CANCELLED. */
int talk_shake(struct talk *, uint64_t limit_us, struct err *);
/* Send one message, within limit_us.  ERR_IO, ERR_CANCELLED. */
int talk_say(struct talk *, enum talk_kind, const void *payload, size_t n, uint64_t limit_us,
    struct err *);
/* Wait for one message, up to limit_us.  Errors of talk_receive(), and ERR_IO, ERR_CANCELLED. */
int talk_hear(struct talk *, struct frame *, uint64_t limit_us, struct err *);
/* End a connection after its last message was sent: wait until the other side has closed it, up to
 * limit_us, and drop what comes.  Closed at once, the connection could take the message with it. */
void talk_hang_up(struct talk *, uint64_t limit_us);

/* Let the system notice within about a minute that the other side of a TCP connection is gone. */
void talk_notice_silence(int fd);

#endif /* DSYNC_TALK_TALK_H */
