/* sources.h: a disk from where its image is: files, a store, web servers, NBD servers; one
 * place, or several that have the same image; and deltas of that image. */
#ifndef STREAM_SOURCES_SOURCES_H
#define STREAM_SOURCES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "stream/export/export.h"

enum { SOURCES_MAX = 16, SOURCES_DELTAS_MAX = 64 };

struct sources_config {
	const char *places[SOURCES_MAX]; /* as place.h has them; needed by sources_open() alone */
	size_t n;
	/* Of the image, and each of what the ones before it make of it. */
	const char *deltas[SOURCES_DELTAS_MAX];
	size_t ndeltas;
	const char *store; /* of store:NAME: a folder or s3://...; NULL: there is none */
	const char *work;  /* a folder for what sessions send; NULL: session.h has the usual */
};

/* Add a place, or a delta.  The text is borrowed.  ERR_USAGE: there are too many. */
int sources_add(struct sources_config *, const char *place, struct err *);
int sources_add_delta(struct sources_config *, const char *place, struct err *);
/* Are all of them as place.h wants them, and is there a store where one is needed?
 * ERR_USAGE. */
int sources_check(const struct sources_config *, struct err *);
/* Do some need threads as soon as they are open? */
bool sources_have_threads(const struct sources_config *);
/* Can they be opened?  Nothing is said of those where there is a session.  Errors as
 * sources_open(). */
int sources_look(const struct sources_config *, void (*warn)(const char *sentence),
    struct err *);
/* Open all of them as one disk.  With several places it is enough that one can be opened;
 * those that cannot are told to warn(), which may be NULL.  ERR_FORMAT: they have not the
 * same image; ERR_USAGE: a disk that is no image is one of several places, or has deltas;
 * and what export.h says. */
int sources_open(struct export **, const struct sources_config *,
    const struct export_config *, void (*warn)(const char *sentence), struct err *);

#endif /* STREAM_SOURCES_SOURCES_H */
