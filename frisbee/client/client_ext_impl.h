/* client_ext_impl.h: what the parts of the client's side of the extension share. */
#ifndef FRISBEE_CLIENT_CLIENT_EXT_IMPL_H
#define FRISBEE_CLIENT_CLIENT_EXT_IMPL_H

#include "frisbee/client/client_impl.h"

enum {
	/* The longest that a report is held back; a quarter when the server has nothing
	 * else to do. */
	EXT_HOLD_US = 160000,
	EXT_FAST_CHUNK_US = 50000, /* on a fast network a chunk takes less */
	EXT_STALL_US = 30000,      /* nothing came for so long: say it again */
};

/* client_ext.c: */
/* The beginning of a message of ours. */
void client_ext_message(struct client *, struct wirext_msg *, enum wirext_kind);

/* client_ext_session.c: */
void client_ext_hear_state(struct client *, uint64_t now_us, const struct wirext_msg *);
void client_ext_set_coming(struct client *, uint32_t chunk, bool coming);
void client_ext_listen_for_state(struct client *, uint64_t now_us);
/* A JOIN, or 0. */
size_t client_ext_join_again(struct client *, uint64_t now_us, void *pkt);

/* client_ext_parity.c: */
bool client_ext_hear_parity(
    struct client *, uint64_t now_us, const struct wirext_msg *, struct client_store *);

/* client_ext_load.c: */
/* A complaint when it is time for one, or 0. */
size_t client_ext_complain(struct client *, uint64_t now_us, void *pkt);

/* client_ext_report.c: */
/* Forget what was reported of a chunk; or only that it was, since the server has answered. */
void client_nacked_forget(struct client_nacked *);
void client_nacked_unanswered(struct client_nacked *);
/* What others say: */
void client_ext_hear_want(struct client *, const struct wirext_map *);
void client_ext_hear_reports(
    struct client *, uint64_t now_us, const struct wirext_msg *);
/* A message when it is time for one, or 0. */
size_t client_ext_report(struct client *, uint64_t now_us, void *pkt);
size_t client_ext_want(struct client *, uint64_t now_us, void *pkt);

/* client_ext_go.c: */
/* Somebody told the server to go on. */
void client_ext_note_go(struct client *, uint64_t now_us, uint32_t blocks);
/* ... what we have to tell it, or 0. */
size_t client_ext_go(struct client *, uint64_t now_us, void *pkt);

#endif /* FRISBEE_CLIENT_CLIENT_EXT_IMPL_H */
