/* inflow.h: writes a stream into a journal, in a thread of its own, while more of it arrives. */
#ifndef DSYNC_MERGE_INFLOW_H
#define DSYNC_MERGE_INFLOW_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dsync/merge/journal.h"

struct inflow;

/* The journal is borrowed, and is used by nobody else until inflow_end().  ERR_NOMEM. */
int inflow_new(struct inflow **, struct journal *, struct err *);
void inflow_free(struct inflow *); /* NULL is fine; what was not written yet is not written */
/* Take the next n bytes of the stream; they are copied.  This waits while the journal's disk is
 * slower than the stream.  ERR_IO: of these bytes, or of some before; ERR_CANCELLED. */
int inflow_put(struct inflow *, const void *bytes, size_t n, struct err *);
/* Wait until all is written, and flush the journal.  ERR_IO. */
int inflow_end(struct inflow *, struct err *);
/* How many bytes were taken. */
uint64_t inflow_bytes(const struct inflow *);

#endif /* DSYNC_MERGE_INFLOW_H */
