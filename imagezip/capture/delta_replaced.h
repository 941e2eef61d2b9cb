/* delta_replaced.h: finds, in the signature of a delta's base, what the base held of all that
 * the delta replaces (imagezip -H). */
#ifndef IMAGEZIP_CAPTURE_DELTA_REPLACED_H
#define IMAGEZIP_CAPTURE_DELTA_REPLACED_H

#include "imagezip/capture/delta_samples.h"

/* Add a sample to the basis, which has none of replaced sectors, for each record of the old
 * signature that has some of the sectors `changed`, which the delta stores.  Records are left
 * out that no sample can describe: those that relocations may concern, those of more than
 * SAMPLE_SECTORS_MAX sectors, and with -f the last one.  ERR_NOMEM; ERR_CANCELLED. */
int delta_replaced(struct basis *, const struct delta_samples *,
    const struct rangeset *changed, struct err *);

#endif /* IMAGEZIP_CAPTURE_DELTA_REPLACED_H */
