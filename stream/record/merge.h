/* merge.h: makes one order of reads of what many machines have recorded.
 *
 * What most machines have read comes first, and of that what they read early.  What one
 * of three or more machines alone has read is left out, so that a machine that is
 * unlike all others changes nothing but how many have read what.
 */
#ifndef STREAM_RECORD_MERGE_H
#define STREAM_RECORD_MERGE_H

#include "common/image/format/order.h"

/* What is read together: 64 KiB, as much as a fragment of an image holds.  An order
 * that was merged names such pieces, aligned. */
enum { MERGE_PIECE_SECTORS = 128 };

/* Merge n > 0 records into *out, to be freed if this returns 0.  What has no room in an
 * order, which is what few have read, or late, is left out.  names[i] is for messages.
 * ERR_USAGE: one of them is an order that was merged already; ERR_REFUSED: they are not
 * of disks of one size, so not of one image; ERR_NOMEM. */
int merge_records(struct order *out, const struct order *records,
    const char *const *names, size_t n, struct err *);

#endif /* STREAM_RECORD_MERGE_H */
