/* json.h: one JSON document, kept in memory until it is complete, and written as a whole.
 *
 * The writer sees to commas, nesting, indentation and escaping.  Errors are kept and
 * reported once, by json_show().  `key` is NULL inside arrays and for the outermost
 * object.  Objects and arrays are at most 32 deep (asserted).
 *
 * A program that can report in both ways has no document, NULL, where it reports by text:
 * all functions but json_save() then do nothing. */
#ifndef COMMON_BASE_JSON_H
#define COMMON_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"

struct json;

struct json *json_new(void); /* never NULL: want of memory is reported by json_show() */
void json_free(struct json *);
/* Print the document on one line, as in a log.  To be called before anything is added. */
void json_one_line(struct json *);
/* Open an object or array; json_end() closes it. */
void json_object(struct json *, const char *key);
void json_array(struct json *, const char *key);
void json_end(struct json *); /* closes the innermost object or array */
/* Add one member or element.  Characters that are harmful to a terminal are escaped, and
 * bytes that are not UTF-8 become U+FFFD.  A double that is not finite becomes null.
 * json_hex() adds bytes[n] as a string of lower-case hex digits. */
void json_string(struct json *, const char *key, const char *value);
void json_uint(struct json *, const char *key, uint64_t value);
void json_int(struct json *, const char *key, int64_t value);
void json_double(struct json *, const char *key, double value);
void json_bool(struct json *, const char *key, bool value);
void json_hex(struct json *, const char *key, const void *bytes, size_t n);
/* Write the document and a newline to standard output, or to the given file, and free
 * it also on failure.  Everything must be closed (asserted).  ERR_NOMEM when the
 * document did not fit into memory, ERR_IO when it cannot be written. */
int json_show(struct json *, struct err *);
int json_show_on(struct json *, FILE *, struct err *);
/* The document and a newline in memory, *bytes of it and a NUL, which the caller frees with free();
 * frees the document.  NULL: no memory. */
char *json_text(struct json *, size_t *bytes);
/* Write it to the file `path`, which it replaces as a whole (replace.h).  The file is not
 * synced, because it describes a moment and is written again.  ERR_NOMEM, or an error of
 * replace_file(): `path` is as it was. */
int json_save(struct json *, const char *path, struct err *);

#endif /* COMMON_BASE_JSON_H */
