/* rehearsal_report.h: what a rehearsal found, as text or JSON. */
#ifndef IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H
#define IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H

#include <stdio.h>

#include "common/base/err.h"
#include "imageunzip/install/rehearsal.h"

/* To standard output. */
void rehearsal_print(const struct rehearsal_found *, const struct install_config *,
    const char *image, const char *target);
int rehearsal_json(const struct rehearsal_found *, FILE *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_REHEARSAL_REPORT_H */
