/* patience.h: for how long a source is asked again that answers with an error which may pass. */
#ifndef STREAM_EXPORT_PATIENCE_H
#define STREAM_EXPORT_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct patience {
	uint64_t most_us;  /* from the first error on */
	uint64_t until_us; /* 0: there was no error so far */
	void (*tell)(const char *sentence); /* called once */
};

/* Should what failed with this error be tried again?  Waits for a second before it returns true.  Only
 * an input/output error (EIO) that the source itself answers with may pass: a source that is not
 * there, or not what it should be, is said at once.  One thread at a time. */
bool patience_again(struct patience *, const struct err *);

#endif /* STREAM_EXPORT_PATIENCE_H */
