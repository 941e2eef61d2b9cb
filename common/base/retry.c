/* retry.c: when a server is asked again (retry.h).  common/net/web and disk_nbd.c call this, in
 * the threads that ask. */
#include "common/base/retry.h"

enum {
	TRIES_MAX = 30, /* for a line that breaks again and again, while bytes move */
	PAUSE_MS = 100, /* after the first try; each further pause is twice as long */
	PAUSE_MS_MAX = 5000,
};

/* Clients that failed together do not return together: a pause is between half of pause_ms and
 * all of it, at random. */
bool
retry_again(struct retry *r, unsigned most, double silent, uint64_t now_us)
{
	r->tries++;
	r->pause_ms = r->pause_ms == 0 ? PAUSE_MS : 2 * r->pause_ms;
	r->pause_ms = r->pause_ms < PAUSE_MS_MAX ? r->pause_ms : PAUSE_MS_MAX;
	r->seconds -= silent + (double)r->pause_ms / 1e3;
	r->due_us = now_us + (r->pause_ms / 2 + now_us % (r->pause_ms / 2 + 1)) * 1000;
	return r->seconds > 0 && r->tries < (most > 0 ? most : TRIES_MAX);
}
