/* report.h: the statistics of a load: a line, JSON, a file.  While a load runs, and where
 * nothing is installed, those of the installation are all zero. */
#ifndef FRISBEE_REPORT_H
#define FRISBEE_REPORT_H

#include <stdio.h>

#include "frisbee/load/load.h"
#include "imageunzip/install/install.h"

/* Prints a line of summary on stderr. */
void report_line(const struct load_stats *, const struct install_stats *);
/* Prints the statistics as JSON.  ERR_IO; ERR_NOMEM. */
int report_print(const struct load_stats *, const struct install_stats *, FILE *,
    struct err *);
/* Writes the statistics as JSON into a file, which is replaced as a whole.  ERR_IO; ERR_NOMEM. */
int report_save(const struct load_stats *, const struct install_stats *,
    const char *path, struct err *);

#endif /* FRISBEE_REPORT_H */
