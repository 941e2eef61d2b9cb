/* merging.h: the command merge-records. */
#ifndef STREAM_MERGING_H
#define STREAM_MERGING_H

#include "stream/options.h"

/* Merge the records in these n files into the order that --order names, and report.
 * ERR_USAGE: no record or no --order is given; errors of order_read(), merge_records()
 * and order_write(). */
int merging_run(const struct opts *, char **records, int n, struct err *);

#endif /* STREAM_MERGING_H */
