/* finish.h: when all data is on the target: its partition table and what was there
 * before. */
#ifndef COMMON_INSTALL_FINISH_H
#define COMMON_INSTALL_FINISH_H

#include "common/disk/rangeset.h"
#include "common/install/target.h"
#include "common/ndz/chunk.h"

/* Before anything of the chunk that begins with sector 0 is written: can its table be
 * made to fit, if that is wanted?  ERR_UNSUPPORTED, as of ptable_fit(). */
int finish_check(const struct target *, const struct chunk *, const void *bytes,
    unsigned table_sector_bytes, struct err *);
/* Type (-D), old signatures, the table's fit, as the configuration has it, while the
 * mark stands.  `stored`: sectors of the image that were fed, NULL: not known;
 * table_sector_bytes: of the disk that the image is of, 0: not known.  May be done
 * once more, after a kill. */
int finish_target(struct target *, struct rangeset *stored, unsigned table_sector_bytes,
    unsigned *stale_wiped, struct err *);
/* There is another table now. */
void finish_tell_kernel(const struct target *);

#endif /* COMMON_INSTALL_FINISH_H */
