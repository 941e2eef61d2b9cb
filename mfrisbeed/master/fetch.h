/* fetch.h: an image of the parent: where it is kept here, and how it comes.
 *
 * The image is loaded from the parent's session into a file of the parent's folder, and served from there while
 * it still arrives.  When all of it is there, the file gets its name, and the time that the parent's file
 * has, by which it is recognised later. */
#ifndef MFRISBEED_MASTER_FETCH_H
#define MFRISBEED_MASTER_FETCH_H

#include "common/image/read/source.h"
#include "mfrisbeed/master/catalog.h"

/* Ask the parent for an image; status_only: start nothing there.  Waits, in any thread.  Its refusals are
 * errors: ERR_ABSENT, ERR_REFUSED (try again later), ERR_UNSUPPORTED. */
int fetch_ask(const struct settings_parent *, const char *name, bool status_only,
    struct master_get_reply *, struct err *);

/* The entry of an image of which the parent says this.  ERR_USAGE: its name is too long for a file. */
int fetch_entry(struct catalog_entry *, const char *folder, const char *name,
    const struct master_get_reply *, struct err *);
/* The entry of an image that was fetched before; false: it was not. */
bool fetch_kept(struct catalog_entry *, const char *folder, const char *name);
/* Is the whole image here already, as the entry describes it? */
bool fetch_is_whole(const struct catalog_entry *);

/* Wait for this time, in a thread that has an owner (cancel.h).  ERR_CANCELLED. */
int fetch_pause(unsigned seconds, struct err *);
/* Begin to load it, as a source that grows, into a file beside its place, which `number` keeps apart from
 * those of other loads.  Waits until the parent has said where its session is, in any thread; *bytes and *mtime
 * are what it says of the image.  Errors of fetch_ask() and load_source.h. */
int fetch_begin(struct source *, const struct settings_parent *, const char *name,
    const char *place, unsigned number, uint64_t *bytes, int64_t *mtime, struct err *);
/* Remove what loads have left in the folder that did not end.  ERR_IO: it cannot be read. */
int fetch_clean(const char *folder, struct err *);

#endif /* MFRISBEED_MASTER_FETCH_H */
