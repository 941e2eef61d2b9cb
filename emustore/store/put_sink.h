/* put_sink.h: an image of a store as a sink of chunks (sink.h), for programs that do not
 * have the image in a file: it comes from a load, a relay or another image. */
#ifndef EMUSTORE_STORE_PUT_SINK_H
#define EMUSTORE_STORE_PUT_SINK_H

#include "common/image/read/sink.h"
#include "emustore/store/put.h"

struct put_sink_config {
	struct store *store; /* in a transaction, which the caller commits after sink_end() */
	/* As put_begin() takes it; complete after sink_end().  Stays the caller's. */
	struct recipe_image *about;
	bool exact;              /* as in struct put_config */
	uint64_t jobs;
	struct put_stats *stats; /* filled in by sink_end(); the caller's */
};

/* Open the sink.  Chunks must come in order, and are copied when they are put.  Until
 * sink_end() or sink_close() nobody else uses the store.  *cfg is copied.  Errors are
 * those of put_begin(). */
int sink_to_store(struct sink *, const struct put_sink_config *, struct err *);

#endif /* EMUSTORE_STORE_PUT_SINK_H */
