/* client_session.h: the session of a server that uses the extension: what was
 * negotiated, what the server announces about itself, and whether it still does.  A
 * session is one run of a server. */
#ifndef FRISBEE_CLIENT_CLIENT_SESSION_H
#define FRISBEE_CLIENT_CLIENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

/* Only client_session.c writes it. */
struct client_session {
	bool known;   /* the extension was negotiated for this image */
	bool on;      /* it is in use: the server's messages are heard */
	bool closed;  /* the second port could not be opened, so nothing can be sent there */
	bool parity;  /* parity was negotiated, too */
	bool unpaced; /* the server sends at once what it was granted */
	bool urgent;  /* it understands URGENT */
	uint16_t port;
	uint32_t session;
	uint8_t identity[WIREXT_IDENTITY_BYTES];
	uint32_t clients;  /* as the server says */
	bool idle; /* the server said that it is idle, and no block has arrived since */
	uint64_t state_us; /* when STATE last arrived */
	bool doubting;     /* this was too long ago */
	bool answered;     /* the server has answered a JOIN since */
};

/* A server answers the offer; parity: it was offered, too. */
void client_session_begin(struct client_session *, uint64_t now_us,
    const struct wirext_answer *, bool parity);
/* The image is forgotten. */
void client_session_forget(struct client_session *);
/* The second port cannot be used, so the base protocol is used. */
void client_session_close(struct client_session *);
/* A message names this session.  Returns true if it is another one than before. */
bool client_session_adopt(struct client_session *, uint32_t session);
/* The pinned server, or another one that took its place, has answered a JOIN again.
 * Returns true if the answer names a session that is to be adopted;
 * client_session_moved() must be called then. */
bool client_session_answered(struct client_session *, const struct wirext_answer *);
void client_session_moved(struct client_session *, uint64_t now_us, uint16_t port);
/* STATE arrived.  Returns true if the server is idle, and has been since the last
 * STATE. */
bool client_session_state(
    struct client_session *, uint64_t now_us, uint32_t clients, bool idle);
/* A block or parity arrived, so the server is not idle. */
void client_session_busy(struct client_session *);

/* Is the server still heard?  SESSION_DOUBTED: what it announced is not believed any
 * more, and it is asked by JOIN.  SESSION_LOST: it answers, but not on the second
 * port, so the base protocol is used. open: packets arrived on the second port
 * before, so a closed port is not the reason. */
enum session_heard { SESSION_HEARD, SESSION_DOUBTED, SESSION_LOST };
enum session_heard client_session_listen(
    struct client_session *, uint64_t now_us, bool open);
/* Is the server to be asked by JOIN whether it is still there? */
bool client_session_asks(const struct client_session *);

#endif /* FRISBEE_CLIENT_CLIENT_SESSION_H */
