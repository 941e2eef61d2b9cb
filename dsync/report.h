/* report.h: what dsync prints of a sync, a comparison and a copy. */
#ifndef DSYNC_REPORT_H
#define DSYNC_REPORT_H

#include "dsync/options.h"

/* Print the result of a sync to standard error, or as JSON to standard output.  ERR_IO: standard
 * output failed; ERR_NOMEM. */
int report_sync(const struct options *, const struct pair_report *, struct err *);
/* Print the result of a comparison, or the state of the copy, to standard output.  Errors as
 * report_sync(). */
int report_verified(const struct options *, const struct pair_difference *, struct err *);
int report_status(const struct options *, const struct far_status *, struct err *);
/* Write the file of metrics, in the text format of Prometheus.  Readers see either the old file
 * or the new one.  ERR_IO. */
int report_metrics(const char *path, const struct pair_report *, struct err *);

#endif /* DSYNC_REPORT_H */
