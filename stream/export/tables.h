/* tables.h: fetches the headers and fragment tables of an image's chunks in the background, so
 * that a read of an image that comes from far away waits for its data alone. */
#ifndef STREAM_EXPORT_TABLES_H
#define STREAM_EXPORT_TABLES_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/random.h"

struct tables;

struct tables_config {
	struct random *random; /* borrowed */
	uint64_t most_bytes;   /* nothing more is fetched when its cache keeps this much */
	/* Waits until no reader waits for data.  Called in any thread. */
	void (*wait_for_turn)(void *arg);
	/* Called once, in any thread, when nothing more will be fetched, but not after
	 * tables_end() has begun.  chunks: how many are known; took_us: how long that
	 * took. */
	void (*done)(void *arg, uint64_t chunks, uint64_t took_us);
	void *arg;
};

/* Start the threads.  ERR_NOMEM: there is no memory, or a thread could not be started. */
int tables_start(struct tables **, const struct tables_config *, struct err *);
/* End the threads, also in the middle of a read, and wait for them.  NULL is allowed. */
void tables_end(struct tables *);

#endif /* STREAM_EXPORT_TABLES_H */
