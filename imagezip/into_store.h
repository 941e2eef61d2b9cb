/* into_store.h: imagezip --to=store:NAME: the image goes into a store, which says what of it it has
 * compressed already. */
#ifndef IMAGEZIP_INTO_STORE_H
#define IMAGEZIP_INTO_STORE_H

#include "emustore/store/put.h"
#include "imagezip/capture/capture.h"

struct into_store;

/* What came of an image. */
struct stored_as {
	const struct recipe_image *about;
	const struct put_stats *stats;
};

/* The name behind "store:", or NULL when `to` does not begin so. */
const char *into_store_name(const char *to);
/* A new image of that name, in a store that is there and that nobody else writes to.  `to` is
 * filled in for capture_run(); jobs: threads, as struct put_config has it.  ERR_USAGE: it is no
 * name; errors of store_open() and put_begin(). */
int into_store_open(struct into_store **, const char *store, const char *name,
    uint64_t jobs, struct capture_to *to, struct err *);
/* After a good capture_run(): the image is in the store.  What *stored refers to stays until
 * into_store_close(). */
int into_store_commit(struct into_store *, struct stored_as *stored, struct err *);
/* Without a commit before, nothing of it stays.  NULL is fine. */
void into_store_close(struct into_store *);

#endif /* IMAGEZIP_INTO_STORE_H */
