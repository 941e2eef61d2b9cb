/* patient.h: reading an image that a network or a failing disk does not give at once. */
#ifndef FRISBEED_SERVE_PATIENT_H
#define FRISBEED_SERVE_PATIENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

/* Calls source_read_run(), and again for ten seconds, with a line in the log, when it fails in a
 * way that may pass.  A signal ends it early.  It may be called in any thread. */
int patient_read(struct source *, uint32_t chunk, uint32_t first, uint32_t count, void *to,
    struct err *);

#endif /* FRISBEED_SERVE_PATIENT_H */
