/* serve_impl.h: the table of the sessions of one process, which serve.c and serve_stats.c
 * share. */
#ifndef FRISBEED_SERVE_SERVE_IMPL_H
#define FRISBEED_SERVE_SERVE_IMPL_H

#include "frisbeed/serve/serve.h"

struct serve {
	struct serve_config cfg;
	struct budget *budget; /* NULL: each session keeps its own pace */
	/* Has room for the last event of each session that `taken` counts. */
	struct mailbox *ended;
	/* Protects all members below, and what changes in a session that is in the table. */
	pthread_mutex_t lock;
	uint32_t last;  /* the number that was given last */
	unsigned taken; /* sessions, also those that are just being opened or removed */
	struct session *session[]; /* the table of sessions_max entries; NULL: free */
};

/* The entry of the table with the session of this number; the caller holds the lock.  NULL
 * (ERR_ABSENT): there is no such session. */
struct session **serve_find(struct serve *, uint32_t number, struct err *);

#endif /* FRISBEED_SERVE_SERVE_IMPL_H */
