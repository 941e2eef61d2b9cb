/* rehearsal_report.h: prints what a rehearsal found, as text or JSON. */
#ifndef IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H
#define IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H

#include <stdio.h>

#include "common/base/err.h"
#include "imageunzip/install/rehearsal.h"

/* Print the report: text goes to standard output, JSON to the stream. ERR_NOMEM, ERR_IO. */
void rehearsal_print(const struct rehearsal_found *, const struct install_config *,
    const char *image, const char *target);
int rehearsal_json(const struct rehearsal_found *, FILE *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H */
