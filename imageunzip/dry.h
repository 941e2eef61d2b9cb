/* dry.h: what would an installation do?  (--dry-run) */
#ifndef IMAGEUNZIP_DRY_H
#define IMAGEUNZIP_DRY_H

#include "common/base/err.h"
#include "imageunzip/install/rehearsal.h"
#include "imageunzip/run.h"

/* For the configuration: a line of the report. */
void dry_say(const char *sentence);
/* Rehearse it and print what was found.  `source` reads from the image, as
 * dry_read() does of a struct sectors *, or of NULL when it has none.  Fails as the installation would before
 * its first write. */
int dry_run(struct run *, const struct install_config *, const char *target,
    const struct rehearsal_source *, struct err *);
int dry_read(void *sectors, struct range, void *buf, struct err *);

#endif /* IMAGEUNZIP_DRY_H */
