/* range_json.h: ranges of sectors in reports. */
#ifndef COMMON_DISK_RANGE_JSON_H
#define COMMON_DISK_RANGE_JSON_H

#include <stddef.h>

#include "common/base/json.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

/* Add an array of objects { "first_sector": , "sectors": }. */
void json_ranges(struct json *, const char *key, const struct range *, size_t n);
/* json_ranges() of a sealed set. */
void json_rangeset(struct json *, const char *key, const struct rangeset *);

#endif /* COMMON_DISK_RANGE_JSON_H */
