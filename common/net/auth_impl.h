/* auth_impl.h: what auth.c, auth_open.c and auth_senders.c share. */
#ifndef COMMON_NET_AUTH_IMPL_H
#define COMMON_NET_AUTH_IMPL_H

#include "common/base/lru.h"
#include "common/net/auth.h"
#include "common/net/replay.h"

enum auth_kind { AUTH_HELLO = 1, AUTH_WELCOME, AUTH_SERVER, AUTH_CLIENT, AUTH_NONE };

enum {
	AUTH_TAG_AT = AUTH_HEADER_BYTES - GMAC_TAG_BYTES,
	/* When the server has not answered this number of a client's packets, the session may
	 * be over. */
	AUTH_UNANSWERED = 3,
	AUTH_WAITING_MAX = 1024, /* clients that have sent a HELLO and were not welcomed yet */
};

struct auth_header {
	enum auth_kind kind;
	uint8_t port;
	uint16_t key_id;
	uint64_t id, session, number;
	const uint8_t *tag; /* borrowed */
};

struct auth_asker {
	uint64_t id, number; /* of the client; of its HELLO */
};

struct auth_sender {
	uint64_t id;
	bool server;
	uint8_t key[GMAC_KEY_BYTES];
	struct replay taken[AUTH_PORTS]; /* the numbers of its packets at each port */
};

struct auth {
	struct auth_config cfg; /* its key is the copy below */
	uint8_t key[AUTH_KEY_BYTES];
	uint16_t key_id;
	uint64_t session; /* 0: the client knows none */
	uint64_t number;  /* of the next packet */
	uint64_t since;   /* client: the number of its packet when it was last welcomed */
	unsigned unanswered; /* client: packets sent since the server was last heard */
	bool welcomed;       /* since auth_was_welcomed() was last called */
	uint8_t own_key[GMAC_KEY_BYTES]; /* the key for sending in own_session */
	uint64_t own_session;
	struct gmac out, in; /* for packets that are sent, and that come */
	struct ignored ignored;
	struct auth_asker *waiting; /* AUTH_WAITING_MAX; NULL: a client */
	unsigned nwaiting;
	struct lru order;           /* of the senders, by when they were heard */
	struct auth_sender *sender; /* cfg.senders */
	uint32_t last;              /* the sender that was heard last; LRU_NONE: none */
};

/* auth.c: derive the key of a sender in a session.  False: libcrypto fails. */
bool auth_derive(const struct auth *, bool server, uint64_t id, uint64_t session,
    uint8_t key[GMAC_KEY_BYTES]);

/* auth_senders.c: the sender with this id; NULL: it is not known. */
struct auth_sender *auth_find(struct auth *, bool server, uint64_t id);
/* Remember a sender that is not known yet; another one may be forgotten for it. */
struct auth_sender *auth_remember(
    struct auth *, bool server, uint64_t id, const uint8_t key[GMAC_KEY_BYTES]);
/* Make the table of senders.  ERR_NOMEM. */
int auth_senders_init(struct auth *, struct err *);
/* Wipe and free the table of senders. */
void auth_senders_fini(struct auth *);
/* Forget all senders, because the session is another one now. */
void auth_forget_all(struct auth *);

#endif /* COMMON_NET_AUTH_IMPL_H */
