/* report.h: what dsync prints of a sync, a comparison and a copy. */
#ifndef DSYNC_REPORT_H
#define DSYNC_REPORT_H

#include "dsync/options.h"

/* Exit statuses of a comparison that has found a difference, and of a device that is there without
 * its tracker. */
enum { EXIT_DIFFERS = 4, EXIT_UNTRACKED = 4 };

/* Print the result of a sync to standard error, or as JSON to standard output.  ERR_IO: standard
 * output failed; ERR_NOMEM. */
int report_sync(const struct options *, const struct pair_report *, struct err *);
/* Print the result of a comparison, or the state of the copy, to standard output.  Errors as
 * report_sync(). */
int report_verified(const struct options *, const struct pair_difference *, struct err *);
int report_status(const struct options *, const struct far_status *, struct err *);
/* Print what has become of a tracker that was set up or activated, and what is left to do.  Errors
 * as report_sync(). */
int report_tracked(const struct options *, const struct track_report *, struct err *);
/* Log that `what`, "sync" or "verify", has failed: a line on standard error, or an object on standard
 * output. */
void report_failed(const struct options *, const char *what, const struct err *why);
/* Write the file of metrics, in the text format of Prometheus.  Readers see either the old file
 * or the new one.  ERR_IO. */
int report_metrics(const char *path, const struct pair_report *, struct err *);

/* Say what a tracker will take, before it begins. */
void report_cost(const struct options *, const struct track_cost *);

#endif /* DSYNC_REPORT_H */
