/* put_sink.h: an image of a store as a sink of chunks (sink.h), for whoever does not have the
 * image in a file: a load, a relay, another image. */
#ifndef EMUSTORE_STORE_PUT_SINK_H
#define EMUSTORE_STORE_PUT_SINK_H

#include "common/image/read/sink.h"
#include "emustore/store/put.h"

struct put_sink_config {
	struct store *store; /* in a transaction, which the caller commits after sink_end() */
	/* As put_begin() has it; complete after sink_end().  The caller's. */
	struct recipe_image *about;
	bool exact;              /* as in struct put_config */
	uint64_t jobs;
	struct put_stats *stats; /* given by sink_end() */
};

/* Chunks are wanted in order, and are copied when they are put.  Until sink_end() or
 * sink_close() nobody else uses the store.  Errors as put_begin(). */
int sink_to_store(struct sink *, const struct put_sink_config *, struct err *);

#endif /* EMUSTORE_STORE_PUT_SINK_H */
