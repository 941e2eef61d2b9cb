/* s3_list.h: what an object store says about its objects, and about its errors. */
#ifndef EMUSTORE_S3_S3_LIST_H
#define EMUSTORE_S3_S3_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emustore/objects/objects.h"

struct s3_page {
	bool more;
	char token[OBJECT_KEY_MAX + 1]; /* for the next page */
	char last[OBJECT_KEY_MAX + 1];  /* keys must come behind it; is moved on */
};

/* The answer to ListObjectsV2: fn for each object.  Keys must begin with `prefix` and
 * ascend, also from page to page: an answer without end, or the same one again and
 * again, is found.  ERR_FORMAT. */
int s3_list_page(const void *xml, size_t bytes, const char *prefix, struct s3_page *,
    object_fn *, void *arg, struct err *);
/* "Code: message" of an error's answer, as far as it can be read; may be "". */
void s3_error_text(const void *xml, size_t bytes, char *out, size_t cap);

#endif /* EMUSTORE_S3_S3_LIST_H */
