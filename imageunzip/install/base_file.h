/* base_file.h: compares a target with all that a delta's base stored (--check-base). */
#ifndef IMAGEUNZIP_INSTALL_BASE_FILE_H
#define IMAGEUNZIP_INSTALL_BASE_FILE_H

#include "common/base/err.h"
#include "common/image/format/ext.h"
#include "imageunzip/install/target.h"

/* The file of --check-base is the base of the delta whose chunk 0 has this extension area: its
 * image, or, where the delta names its base by one, its signature.  Compare all that it stored
 * with the target, except for blocks in which a relocation of the base's image is, a tail that
 * is not at its place, and with --only what is not in the partition.  ERR_REFUSED: the file is
 * another image's, or the target differs; ERR_CANCELLED; errors of reading. */
int base_file_check(struct target *, const struct ext *delta, struct err *);

#endif /* IMAGEUNZIP_INSTALL_BASE_FILE_H */
