/* encrypted.h: what the headers of an encrypted image say without its key. */
#ifndef TOOLS_IMAGEDUMP_ENCRYPTED_H
#define TOOLS_IMAGEDUMP_ENCRYPTED_H

#include "common/base/json.h"
#include "tools/imagedump/options.h"

/* Report it: into the object j that is open, or to standard output when j is NULL.
 * Nothing is said of an image that is not encrypted, or cannot be read, or is a pipe,
 * whose beginning is gone. */
void encrypted_report(const struct options *, const char *path, struct json *j);

#endif /* TOOLS_IMAGEDUMP_ENCRYPTED_H */
