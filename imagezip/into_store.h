/* into_store.h: imagezip --to=store:NAME: puts the image into a store, which also finds
 * the data that it has compressed already. */
#ifndef IMAGEZIP_INTO_STORE_H
#define IMAGEZIP_INTO_STORE_H

#include "emustore/store/put.h"
#include "imagezip/capture/capture.h"

struct into_store;

/* The image as it was stored; both members belong to the struct into_store. */
struct stored_as {
	const struct recipe_image *about;
	const struct put_stats *stats;
};

/* The name behind "store:", or NULL when `to` does not begin with "store:". */
const char *into_store_name(const char *to);
/* Begin a new image of that name, in a store that exists and that nobody else writes to.
 * `to` is filled in for capture_run(); jobs: threads, as struct put_config has it.
 * ERR_USAGE: `name` is not a valid name; errors of store_open() and put_begin(). */
int into_store_open(struct into_store **, const char *store, const char *name,
    uint64_t jobs, struct capture_to *to, struct err *);
/* Complete the image in the store, after a successful capture_run(). What *stored refers
 * to is valid until into_store_close(). */
int into_store_commit(struct into_store *, struct stored_as *stored, struct err *);
/* Close the store. Without a commit, the image is dropped. NULL is fine. */
void into_store_close(struct into_store *);

#endif /* IMAGEZIP_INTO_STORE_H */
