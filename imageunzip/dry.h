/* dry.h: reports what an installation would do (--dry-run). */
#ifndef IMAGEUNZIP_DRY_H
#define IMAGEUNZIP_DRY_H

#include "common/base/err.h"
#include "imageunzip/install/rehearsal.h"
#include "imageunzip/run.h"

/* Print a line of the report; for the configuration's say(). */
void dry_say(const char *sentence);
/* The read() of a rehearsal_source whose arg is a struct sectors *. NULL: the image
 * cannot be read by sector, and every read fails with ERR_UNSUPPORTED. */
int dry_read(void *sectors, struct range, void *buf, struct err *);
/* Print what was found. */
int dry_report(
    const struct run *, const char *target, const struct rehearsal_found *, struct err *);

#endif /* IMAGEUNZIP_DRY_H */
