/* serve_impl.h: what serve.c and serve_stats.c know of the sessions of one process. */
#ifndef FRISBEED_SERVE_SERVE_IMPL_H
#define FRISBEED_SERVE_SERVE_IMPL_H

#include "frisbeed/serve/serve.h"

struct serve {
	struct serve_config cfg;
	struct budget *budget; /* NULL: each session keeps its own pace */
	/* Has room for the last word of each session that `taken` counts. */
	struct mailbox *ended;
	/* Of all below, and of what changes in a session that is in the table. */
	pthread_mutex_t lock;
	uint32_t last;  /* the number that was given last */
	unsigned taken; /* sessions, also those that are just being opened or removed */
	struct session *session[]; /* the table: sessions_max; NULL: free */
};

/* Where the session of this number is in the table; the caller holds the lock.  NULL: there is
 * none, ERR_ABSENT. */
struct session **serve_find(struct serve *, uint32_t number, struct err *);

#endif /* FRISBEED_SERVE_SERVE_IMPL_H */
