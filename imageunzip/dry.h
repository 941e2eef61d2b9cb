/* dry.h: reports what an installation would do (--dry-run). */
#ifndef IMAGEUNZIP_DRY_H
#define IMAGEUNZIP_DRY_H

#include "common/base/err.h"
#include "imageunzip/install/rehearsal.h"
#include "imageunzip/run.h"

/* Print a line of the report; for the configuration's say(). */
void dry_say(const char *sentence);
/* Rehearse the installation and print what was found. `source` reads from the image, as
 * dry_read() does. Fails as the installation would before its first write. */
int dry_run(struct run *, const struct install_config *, const char *target,
    const struct rehearsal_source *, struct err *);
/* The read() of a rehearsal_source whose arg is a struct sectors *. NULL: the image
 * cannot be read by sector, and every read fails with ERR_UNSUPPORTED. */
int dry_read(void *sectors, struct range, void *buf, struct err *);

#endif /* IMAGEUNZIP_DRY_H */
