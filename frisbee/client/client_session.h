/* client_session.h: the session of a server that speaks the extension: what was agreed with it,
 * what it says of itself, and whether it still does.  A session is one run of a server.
 */
#ifndef FRISBEE_CLIENT_CLIENT_SESSION_H
#define FRISBEE_CLIENT_CLIENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

/* Only client_session.c writes it. */
struct client_session {
	bool known;   /* the extension was agreed for this image, */
	bool on;      /* and is in use: what the server says is heard */
	bool parity;  /* parity was agreed, too */
	bool unpaced; /* the server sends at once what it was granted */
	uint16_t port;
	uint32_t session;
	uint8_t identity[WIREXT_IDENTITY_BYTES];
	uint32_t clients;  /* as the server says */
	bool idle;         /* the server said that it is, and no block came since */
	uint64_t state_us; /* when it said STATE last */
	bool doubting;     /* that was too long ago */
	bool answered;     /* but the server has answered a JOIN since */
};

/* A server answers the offer; parity: it was offered, too. */
void client_session_begin(struct client_session *, uint64_t now_us,
    const struct wirext_answer *, bool parity);
/* The image is forgotten. */
void client_session_forget(struct client_session *);
/* The second port cannot be used: the base protocol must do. */
void client_session_close(struct client_session *);
/* Does the answer (NULL: it has no extension) tell of the same image, as far as is known? */
bool client_session_same(const struct client_session *, const struct wirext_answer *);
/* A session is heard of.  True: it is another one than before. */
bool client_session_adopt(struct client_session *, uint32_t session);
/* The pinned server has answered a JOIN again, or another one that took its place.  True: with
 * a session that is to be adopted, and then client_session_moved() is to be called. */
bool client_session_answered(struct client_session *, const struct wirext_answer *);
void client_session_moved(struct client_session *, uint64_t now_us, uint16_t port);
/* STATE came.  True: the server was idle the last time and since, and is. */
bool client_session_state(
    struct client_session *, uint64_t now_us, uint32_t clients, bool idle);
/* A block or parity came: the server is not idle. */
void client_session_busy(struct client_session *);

/* Is the server still heard?  Doubted: nothing it said is believed any more, and it is asked by
 * JOIN.  Lost: it answers, but not on the second port, so the base protocol must do.
 * open: packets came on the second port before, so something else must be the matter. */
enum session_heard { SESSION_HEARD, SESSION_DOUBTED, SESSION_LOST };
enum session_heard client_session_listen(
    struct client_session *, uint64_t now_us, bool open);
/* Is the server to be asked by JOIN where it is? */
bool client_session_asks(const struct client_session *);

#endif /* FRISBEE_CLIENT_CLIENT_SESSION_H */
