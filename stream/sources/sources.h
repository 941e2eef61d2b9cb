/* sources.h: opens a disk where its image is: files, a store, web servers, NBD servers,
 * sessions; one place, or several that have the same image; and deltas of that image. */
#ifndef STREAM_SOURCES_SOURCES_H
#define STREAM_SOURCES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "stream/export/export.h"

enum { SOURCES_MAX = 16, SOURCES_DELTAS_MAX = 64 };

struct sources_config {
	const char *places[SOURCES_MAX]; /* as in place.h */
	size_t n;
	/* Deltas: each is of the image that the places and the deltas before it make. */
	const char *deltas[SOURCES_DELTAS_MAX];
	size_t ndeltas;
	const char *store; /* store of store:NAME: a folder or s3://...; NULL: none */
	const char *group_key; /* file of the key of the sessions among them; NULL: none */
	/* A disk that is no image stores its holes, too, but for those behind its last partition: what
	 * the export is written to may hold something else there. */
	bool holes_are_contents;
	const char *work;  /* folder for what sessions send; NULL: as in session.h */
};

/* Add a place, or a delta.  The text is borrowed.  ERR_USAGE: there are too many. */
int sources_add(struct sources_config *, const char *place, struct err *);
int sources_add_delta(struct sources_config *, const char *place, struct err *);
/* Check that all places are written as in place.h, that a store is given if one is needed, and a
 * group key only if there is a session.  ERR_USAGE; errors of keyfile.h for the group key. */
int sources_check(const struct sources_config *, struct err *);
/* Check that nothing is read from the file or device at this path, which will be written to.
 * ERR_USAGE. */
int sources_check_apart(const struct sources_config *, const char *path, struct err *);
/* Whether a source starts threads when it is opened. */
bool sources_have_threads(const struct sources_config *);
/* Check that all can be opened; warn() may be NULL.  If there is a session among the places,
 * nothing is opened and the result is 0.  Errors as sources_open(). */
int sources_look(const struct sources_config *, void (*warn)(const char *sentence),
    struct err *);
/* Open all of them as one disk.  Of several places, one that can be opened is enough; for each
 * that cannot, warn() is called with a sentence; it may be NULL.  ERR_FORMAT: the places do not
 * have the same image; ERR_USAGE: a disk that is no image is one of several places, or has
 * deltas; and what export.h says. */
int sources_open(struct export **, const struct sources_config *,
    const struct export_config *, void (*warn)(const char *sentence), struct err *);

#endif /* STREAM_SOURCES_SOURCES_H */
