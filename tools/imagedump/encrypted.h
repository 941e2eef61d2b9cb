/* encrypted.h: what the headers of an encrypted image say without its key. */
#ifndef TOOLS_IMAGEDUMP_ENCRYPTED_H
#define TOOLS_IMAGEDUMP_ENCRYPTED_H

#include "common/base/json.h"
#include "tools/imagedump/options.h"

/* Report what the headers of the image at `path` say: as members of the object j that is
 * open, or to standard output, unless quiet, when j is NULL.  Nothing is reported when
 * --decrypt was given, when the image is not encrypted or cannot be read, or when it is a
 * pipe, whose beginning cannot be read again. */
void encrypted_report(const struct options *, const char *path, struct json *j);

#endif /* TOOLS_IMAGEDUMP_ENCRYPTED_H */
