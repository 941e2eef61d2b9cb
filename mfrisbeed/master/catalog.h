/* catalog.h: which file, or which image of a store, a name stands for. */
#ifndef MFRISBEED_MASTER_CATALOG_H
#define MFRISBEED_MASTER_CATALOG_H

#include <sys/stat.h>

#include "mfrisbeed/master/settings.h"

struct catalog_entry {
	char *place;       /* a path, or a name in the store */
	char *store;       /* NULL: a file */
	bool at_parent;    /* the parent has it; the path is where it is kept here (fetch.h) */
	/* Of a file, or as the parent says; of a store's image zeros. */
	uint64_t bytes;
	int64_t mtime;     /* seconds since 1970; 0: not known */
	dev_t device;
	ino_t inode;
};

/* Find the image of this name.  A name that `images` or `uploads` is to hold stays in its folder,
 * whatever dots and links are in it.  ERR_ABSENT: there is none; ERR_IO. */
int catalog_find(
    struct catalog_entry *, const struct settings *, const char *name, struct err *);
void catalog_entry_free(struct catalog_entry *);
/* A copy that belongs to itself.  ERR_NOMEM. */
int catalog_entry_copy(
    struct catalog_entry *, const struct catalog_entry *, struct err *);
/* The path of an upload of this name, which is made by malloc().  ERR_ABSENT: no uploads are taken;
 * ERR_USAGE: no file in a folder could have this name. */
int catalog_upload_path(
    char **path, const struct settings *, const char *name, struct err *);

#endif /* MFRISBEED_MASTER_CATALOG_H */
