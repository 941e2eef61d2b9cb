/* s3_list.h: reads what an object store says about its objects, and about errors. */
#ifndef EMUSTORE_S3_S3_LIST_H
#define EMUSTORE_S3_S3_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emustore/objects/objects.h"

struct s3_page {
	bool more;
	char token[OBJECT_KEY_MAX + 1]; /* asks for the next page */
	/* the last key until now; further keys must come after it */
	char last[OBJECT_KEY_MAX + 1];
	unsigned empty; /* pages without an object, one after the other until now */
};

/* Read an answer to ListObjectsV2, and call the function for each object.  Keys must begin
 * with `prefix` and ascend, also from page to page, so that an answer without end, or the
 * same answer again and again, is detected; so are many pages in a row that have no object.
 * ERR_FORMAT. */
int s3_list_page(const void *xml, size_t bytes, const char *prefix, struct s3_page *,
    object_fn *, void *arg, struct err *);
/* Write "Code: message" of an error's answer to out[cap], as far as it can be read; it may
 * be "". */
void s3_error_text(const void *xml, size_t bytes, char *out, size_t cap);

#endif /* EMUSTORE_S3_S3_LIST_H */
