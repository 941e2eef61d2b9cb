/* report.h: the statistics of a load: a line, JSON, a file. */
#ifndef FRISBEE_REPORT_H
#define FRISBEE_REPORT_H

#include <stdio.h>

#include "frisbee/load/loop.h"

/* The summary, to stderr. */
void report_line(const struct loop_result *, double seconds);
/* As JSON. */
int report_print(const struct loop_result *, double seconds, FILE *, struct err *);
/* The same into a file that is always whole. */
int report_save(
    const struct loop_result *, double seconds, const char *path, struct err *);

#endif /* FRISBEE_REPORT_H */
