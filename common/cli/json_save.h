/* json_save.h: write a JSON document into a file, of which readers see either the old or the
 * new content, never a part. */
#ifndef COMMON_CLI_JSON_SAVE_H
#define COMMON_CLI_JSON_SAVE_H

#include "common/base/json.h"

/* Write the document to the file `path`, which it replaces.  It is written to another file in
 * the same folder, which takes the name when it is complete.  The file is not synced, because
 * it describes a moment and is written again.  -1 with ERR_IO or ERR_NOMEM: `path` is as it
 * was. */
int json_save(struct json *, const char *path, struct err *);

#endif /* COMMON_CLI_JSON_SAVE_H */
