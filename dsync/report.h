/* report.h: what dsync tells of a sync, a comparison and a copy. */
#ifndef DSYNC_REPORT_H
#define DSYNC_REPORT_H

#include "dsync/options.h"

/* To standard error, or as JSON to standard output.  ERR_IO when it does not arrive. */
int report_sync(const struct options *, const struct pair_report *, struct err *);
/* To standard output. */
int report_verified(const struct options *, const struct pair_difference *, struct err *);
int report_status(const struct options *, const struct far_status *, struct err *);
/* Into a file that readers see old or new, in the text format of Prometheus. */
int report_metrics(const char *path, const struct pair_report *, struct err *);

#endif /* DSYNC_REPORT_H */
