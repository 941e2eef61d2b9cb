/* objects.h: where a store keeps its objects: named runs of bytes that are put whole, read in
 * parts, listed and removed, and never changed in place.
 *
 * Two places are implemented: a folder, whose files they are (folder.h), and a bucket of an
 * object store (emustore/s3/s3.h).  All else that a store does is done on this
 * interface.  A key is made of letters, digits and "._+-/".  All functions may be called by
 * several threads at once.
 */
#ifndef EMUSTORE_OBJECTS_OBJECTS_H
#define EMUSTORE_OBJECTS_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { OBJECT_KEY_MAX = 1024, OBJECT_ETAG_MAX = 79 };

/* What a list says of an object. */
struct object {
	char key[OBJECT_KEY_MAX + 1];
	char etag[OBJECT_ETAG_MAX + 1]; /* another etag: the object was replaced */
	uint64_t bytes, modified;       /* seconds since 1970, by the clock of `now` */
};

typedef int object_fn(void *arg, const struct object *, struct err *);

/* An object that is not there: ERR_IO with e->os ENOENT.  What is there, but is not what was
 * asked for: ERR_FORMAT. */
struct object_ops {
	/* Makes a new object: others see all of it or nothing, and it is on the disk when this
	 * returns.  With `exclusive`, an object that exists is kept: ERR_REFUSED with e->os
	 * EEXIST.  After another -1 the object may exist nevertheless, or appear later. */
	int (*put)(
	    void *, const char *key, const void *data, size_t bytes, struct err *);
	/* Reads exactly `bytes` bytes from byte `from` of the object. */
	int (*get)(void *, const char *key, uint64_t from, size_t bytes, void *out,
	    struct err *);
	/* Appends the whole object to out.  ERR_FORMAT: it has more than max bytes. */
	int (*load)(
	    void *, const char *key, size_t max, struct buf *out, struct err *);
	/* Calls fn for all objects whose keys begin with `folder`, which ends in a slash,
	 * or is a whole key, in any order; fn sees the rest of the key behind `folder`.
	 * *now (NULL: not needed): the time by the clock that `modified` comes from; 0:
	 * not known. */
	int (*list)(void *, const char *folder, object_fn *, void *arg, uint64_t *now,
	    struct err *);
	int (*remove)(void *, const char *key, struct err *); /* also if there is none */
	/* Opens the object, and returns a descriptor to read it by preadv(), which the
	 * caller closes, and which stays valid when the object is removed.  NULL: the
	 * objects are not files. */
	int (*open)(void *, const char *key, struct err *);
	void (*close)(void *);
	bool exclusive;
};

struct objects {
	const struct object_ops *ops;
	void *ctx;
	const char *title;   /* for messages; lasts as long as the objects */
	const char *address; /* no other place has it */
	atomic_uint refs;
};

/* Make objects with one holder; the strings are borrowed.  NULL: out of memory. */
struct objects *objects_new(const struct object_ops *, void *ctx, const char *title,
    const char *address);
struct objects *objects_hold(struct objects *);
void objects_release(struct objects *); /* NULL: nothing; the last one closes them */

/* What a list said, in ascending order of the keys. */
struct listing {
	size_t n, cap;
	struct listed {
		char *key, *etag;
		uint64_t bytes, modified;
	} * v;
};

int listing_get(struct listing *, struct objects *, const char *folder, uint64_t *now,
    struct err *);
const struct listed *listing_find(const struct listing *, const char *key);
/* Is there an object of this key?  A list is asked for, since a server may say of an object that
 * it has lost for now that there is none.  1, 0, -1. */
int objects_have(struct objects *, const char *key, struct err *);
void listing_free(struct listing *);

#endif /* EMUSTORE_OBJECTS_OBJECTS_H */
