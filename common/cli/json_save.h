/* json_save.h: a JSON document into a file that readers see old or new, never half. */
#ifndef COMMON_CLI_JSON_SAVE_H
#define COMMON_CLI_JSON_SAVE_H

#include "common/base/json.h"

/* The document is written to another file in the same folder, which takes the name when it
 * is complete.  It is not synced, because it describes a moment and is written again. */
int json_save(struct json *, const char *path, struct err *);

#endif /* COMMON_CLI_JSON_SAVE_H */
