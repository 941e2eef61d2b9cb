/* report.h: prints what imagezip reports: -i, warnings, the summary. */
#ifndef IMAGEZIP_REPORT_H
#define IMAGEZIP_REPORT_H

#include "common/layout/layout.h"
#include "imagezip/capture/capture.h"
#include "imagezip/options.h"
#include "imagezip/shrink/shrink.h"

/* The exit status when sectors could not be read and were stored as zeros. */
enum { EXIT_LOST_SECTORS = 4 };

/* Print warnings about the layout to stderr. */
void report_warnings(const struct layout *);
/* Print to stderr how filesystems that a library reads were read (-d). */
void report_confinement(const struct layout *);
/* Print the report of -i, as text or JSON, to stdout; JSON has what --shrink would do (NULL:
 * nothing), too. ERR_NOMEM, ERR_IO. */
int report_layout(const struct layout *, const struct options *,
    const struct shrink_result *, struct err *);
/* Print to stderr for which disk the image is made (--shrink). */
void report_shrunk(const struct options *, const struct shrink_result *);
/* Print what was made: to stderr unless quiet, or as JSON to stdout; also what --shrink has
 * done (NULL: nothing), and what was stored in a store (NULL: none). ERR_NOMEM, ERR_IO. */
struct stored_as;
int imagezip_summary(const struct options *, const struct layout *,
    const struct capture_stats *, const struct delta *, const struct shrink_result *,
    const struct stored_as *, double seconds, struct err *);
/* Print the sectors that could not be read to stderr. */
void report_lost(const struct options *, const struct capture_stats *);

#endif /* IMAGEZIP_REPORT_H */
