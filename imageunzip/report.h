/* report.h: prints what the user sees of a run. */
#ifndef IMAGEUNZIP_REPORT_H
#define IMAGEUNZIP_REPORT_H

#include "common/base/err.h"
#include "imageunzip/install/install.h"
#include "imageunzip/run.h"

/* Print the dots that are due (-o, -O). */
void report_dots(struct run *);
/* Print the summary: one line, or JSON. ERR_NOMEM, ERR_IO. */
int imageunzip_summary(
    const struct run *, const struct install_stats *, double seconds, struct err *);

#endif /* IMAGEUNZIP_REPORT_H */
