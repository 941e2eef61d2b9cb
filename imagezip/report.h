/* report.h: what imagezip tells: -i, warnings, the summary. */
#ifndef IMAGEZIP_REPORT_H
#define IMAGEZIP_REPORT_H

#include "imagezip/capture/capture.h"
#include "imagezip/capture/layout.h"
#include "imagezip/options.h"

/* What of the layout the user should know, to stderr. */
enum { EXIT_LOST_SECTORS = 4 };

void report_warnings(const struct layout *);
/* -d: how filesystems that a library reads were read, to stderr. */
void report_confinement(const struct layout *);
/* -i, as text or JSON, to stdout. */
int report_layout(const struct layout *, const struct options *, struct err *);
/* What was made: to stderr unless quiet, or as JSON to stdout; with what came of it in a store,
 * or NULL. */
struct stored_as;
int imagezip_summary(const struct options *, const struct layout *,
    const struct capture_stats *, const struct delta *, const struct stored_as *,
    double seconds, struct err *);
/* The sectors that could not be read, to stderr. */
void report_lost(const struct options *, const struct capture_stats *);

#endif /* IMAGEZIP_REPORT_H */
