/* client_ext_impl.h: what the files of the client's side of the extension share. */
#ifndef FRISBEE_CLIENT_CLIENT_EXT_IMPL_H
#define FRISBEE_CLIENT_CLIENT_EXT_IMPL_H

#include "frisbee/client/client_impl.h"

enum {
	/* The longest time for which a message is held back; a quarter of it if the
	 * server has nothing else to send.  Of 500 clients, one or two send their
	 * message before they hear the first one. */
	EXT_BACKOFF_US = 160000,
	/* A chunk takes less than this on a fast network: 170 Mbit/s and more. */
	EXT_FAST_CHUNK_US = 50000,
	/* If nothing arrived for this time, a message may have been lost, and is
	 * repeated. */
	EXT_STALL_US = 30000,
};

/* client_ext.c: */
/* Fill in the fields that all messages of this client have. */
void client_ext_message(struct client *, struct wirext_msg *, enum wirext_kind);

/* client_ext_session.c: */
void client_ext_hear_state(struct client *, uint64_t now_us, const struct wirext_msg *);
/* A message of a sender that is not pinned, and speaks like a server. */
void client_ext_hear_other(struct client *, const struct wirext_msg *);
void client_ext_listen_for_state(struct client *, uint64_t now_us);
/* A JOIN, or 0. */
size_t client_ext_join_again(struct client *, uint64_t now_us, void *pkt);

/* client_ext_parity.c: */
bool client_ext_hear_parity(
    struct client *, uint64_t now_us, const struct wirext_msg *, struct client_store *);

/* client_ext_congestion.c: */
/* A complaint, or the answer that there is no reason for one, when it is time; or 0. */
size_t client_ext_complain(struct client *, uint64_t now_us, void *pkt);
/* The server asks who hears everything. */
void client_ext_asked(struct client *, uint64_t now_us);

#endif /* FRISBEE_CLIENT_CLIENT_EXT_IMPL_H */
