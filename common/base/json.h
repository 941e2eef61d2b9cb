/* json.h: one JSON document, spooled in memory and written only when whole.
 *
 * The writer owns commas, nesting, indentation and escaping; errors stick and
 * are reported once, by json_print().  key NULL inside arrays.
 */
#ifndef COMMON_BASE_JSON_H
#define COMMON_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"

struct json;

struct json *json_new(void); /* NULL: out of memory */
void json_free(struct json *);
void json_object(struct json *, const char *key);
void json_array(struct json *, const char *key);
void json_end(struct json *); /* closes the innermost object or array */
void json_string(struct json *, const char *key, const char *value);
void json_uint(struct json *, const char *key, uint64_t value);
void json_int(struct json *, const char *key, int64_t value);
void json_double(struct json *, const char *key, double value);
void json_bool(struct json *, const char *key, bool value);
void json_hex(struct json *, const char *key, const void *bytes, size_t n);
/* Everything must be closed (asserted).  Adds a newline. */
int json_print(struct json *, FILE *, struct err *);
/* Print the document to standard output, or to the given file, and free it. */
int json_show(struct json *, struct err *);
int json_show_on(struct json *, FILE *, struct err *);

#endif /* COMMON_BASE_JSON_H */
