/* catalog.h: finds the file, or the image of a store, for which a name stands, and lists the names.  Used by
 * one thread. */
#ifndef MFRISBEED_MASTER_CATALOG_H
#define MFRISBEED_MASTER_CATALOG_H

#include <sys/stat.h>

#include "common/base/buf.h"
#include "mfrisbeed/master/settings.h"

struct catalog_entry {
	char *place;       /* a path, or a name in the store */
	char *store;       /* NULL: a file */
	bool at_parent;    /* the parent has it; `place`: the file that keeps it here (fetch.h) */
	/* Of a file, or as the parent says; zeros for an image of a store. */
	uint64_t bytes;
	int64_t mtime;     /* seconds since 1970; 0: not known */
	dev_t device;
	ino_t inode;
};

/* Finds the image with this name; catalog_entry_free() releases the entry.  A name of a file
 * below `images` or `uploads` cannot lead out of that folder, whatever dots and links are in
 * it, and is never that of a file that is still being written (output.h).  Whether the store has an
 * image is asked when it is opened.  ERR_ABSENT: there is
 * no such image; ERR_IO; ERR_NOMEM. */
int catalog_find(
    struct catalog_entry *, const struct settings *, const char *name, struct err *);
/* Calls each() for the images that have names: those of the configuration, those of the store, and
 * the files below `images` and `uploads` whose names end in .ndz, at most CATALOG_MOST.  `stored` has
 * the names that the store has (storelist.h); NULL: none.  The entry is each()'s until it returns.  *more: there may be others, here or at a parent.  ERR_IO: one of
 * the two folders cannot be read; ERR_NOMEM. */
enum { CATALOG_MOST = 4096 };
int catalog_each(const struct settings *, const struct buf *stored,
    void (*each)(void *arg, const char *name, const struct catalog_entry *), void *arg,
    bool *more, struct err *);
/* Releases the strings; the entry is all zeros afterwards. */
void catalog_entry_free(struct catalog_entry *);
/* Makes a copy with strings of its own.  ERR_NOMEM. */
int catalog_entry_copy(
    struct catalog_entry *, const struct catalog_entry *, struct err *);
/* Sets *path to the path of the signature of this image, beside the file of the image; the caller frees
 * it.  *replaces and errors as of catalog_upload_path() for the image; ERR_USAGE: there is no such
 * image. */
int catalog_signature_path(char **path, bool *replaces, const struct settings *,
    const char *image, struct err *);
/* Sets *path to the path of an upload with this name; the caller frees it.  *replaces: it is that
 * of an image of the folder `images`, which would hide one among the uploads.  ERR_ABSENT: no
 * uploads are taken; ERR_USAGE: no file in a folder can have this name, or an `image` has it;
 * ERR_IO; ERR_NOMEM. */
int catalog_upload_path(char **path, bool *replaces, const struct settings *,
    const char *name, struct err *);

#endif /* MFRISBEED_MASTER_CATALOG_H */
