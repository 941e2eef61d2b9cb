/* fetch.h: an image of the parent: where it is kept here, and how it is fetched.
 *
 * The image is loaded from the parent's session into a file in the folder for the parent's
 * images, and served from there while it still arrives.  When it is whole, the file gets its
 * name, and the time of the parent's file, by which it is recognised later. */
#ifndef MFRISBEED_MASTER_FETCH_H
#define MFRISBEED_MASTER_FETCH_H

#include "common/image/read/source.h"
#include "mfrisbeed/master/catalog.h"

/* Asks the parent for an image; status_only: the parent starts no session.  It waits for the
 * reply, and may be called in any thread.  Refusals are errors: ERR_ABSENT: the parent has
 * no such image; ERR_REFUSED: try again later; ERR_UNSUPPORTED: any other.  Also errors of
 * ask.h. */
int fetch_ask(const struct settings_parent *, const char *name, bool status_only,
    struct master_get_reply *, struct err *);

/* Makes the entry of an image from the parent's reply; catalog_entry_free() releases it.
 * ERR_USAGE: the name is too long for a file; ERR_NOMEM. */
int fetch_entry(struct catalog_entry *, const char *folder, const char *name,
    const struct master_get_reply *, struct err *);
/* Makes the entry of an image that was fetched before.  False: it was not. */
bool fetch_kept(struct catalog_entry *, const char *folder, const char *name);
/* Is the image that the entry describes here, whole? */
bool fetch_is_whole(const struct catalog_entry *);

/* Waits for this time, in a thread that has an owner (cancel.h).  ERR_CANCELLED. */
int fetch_pause(unsigned seconds, struct err *);
/* Begins to load an image, as a source that grows, into a file beside `place`; `number`
 * distinguishes the file from those of other loads.  It waits until the parent has said
 * where its session is, and may be called in any thread.  *bytes and *mtime are the size and
 * the time that the parent names.  Errors of fetch_ask() and load_source.h. */
int fetch_begin(struct source *, const struct settings_parent *, const char *name,
    const char *place, unsigned number, uint64_t *bytes, int64_t *mtime, struct err *);
/* Removes the files of loads that did not end.  ERR_IO: the folder cannot be read. */
int fetch_clean(const char *folder, struct err *);

#endif /* MFRISBEED_MASTER_FETCH_H */
