/* sources.h: an image from where it is: files, a store, web servers; one place, or several
 * that have the same image. */
#ifndef STREAM_SOURCES_SOURCES_H
#define STREAM_SOURCES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

enum { SOURCES_MAX = 16 };

struct sources_config {
	const char *places[SOURCES_MAX]; /* as place.h has them; needed by sources_open() alone */
	size_t n;
	const char *store; /* of store:NAME: a folder or s3://...; NULL: there is none */
};

/* Are all of them as place.h wants them, and is there a store where one is needed?
 * ERR_USAGE. */
int sources_check(const struct sources_config *, struct err *);
/* Do some need threads as soon as they are open? */
bool sources_have_threads(const struct sources_config *);
/* Open all of them.  With several it is enough that one can be opened; those that
 * cannot are told to warn(), which may be NULL.  ERR_FORMAT: they have not the same image. */
int sources_open(struct source *, const struct sources_config *,
    void (*warn)(const char *sentence), struct err *);

#endif /* STREAM_SOURCES_SOURCES_H */
