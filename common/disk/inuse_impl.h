/* inuse_impl.h: what the files of inuse.h share; for them only.
 *
 * inuse_places.c finds the places; inuse.c looks for mounts and swap there;
 * inuse_open.c for processes and for claims; inuse_area.c asks about some sectors of a
 * disk.  All run in the thread of the caller.
 */
#ifndef COMMON_DISK_INUSE_IMPL_H
#define COMMON_DISK_INUSE_IMPL_H

#include <stddef.h>
#include <stdio.h>

#include "common/disk/inuse.h"

enum { INUSE_NAME_BYTES = 256, INUSE_PATH_BYTES = 4096 };

/* A block device or a file that has bytes of what was asked about. */
struct inuse_place {
	bool is_device;
	dev_t dev;  /* number of the device; of a file, its filesystem's */
	ino_t ino;  /* of a file */
	bool outer; /* the disk that was asked about a partition of: its other
	             * partitions are no places */
	bool aside; /* a partition whose sectors are not wanted: no place, but what
	             * claims it claims the disk, too */
	bool seen;  /* something that does no harm accounts for a claim on it */
	bool mapped;   /* `base` is known */
	uint64_t base; /* the sector of what was asked about where this place begins */
	char name[INUSE_NAME_BYTES];
};

struct inuse_places {
	struct inuse_place *v; /* owned; what was asked about comes first */
	size_t n, cap;
	char held[3 * INUSE_NAME_BYTES];    /* "" or "X is held by Y" */
	char rebuilt[3 * INUSE_NAME_BYTES]; /* "" or why the member of an array changes */
};

/* Find all places of a query.  The list is to be freed even after a failure.  ERR_NOMEM. */
int inuse_places_find(struct inuse_places *, const struct inuse_query *, struct err *);
void inuse_places_free(struct inuse_places *);
/* The place that is this device, or NULL. */
struct inuse_place *inuse_place_of_device(struct inuse_places *, dev_t);
/* The place that is what st describes, or NULL. */
struct inuse_place *inuse_place_of(struct inuse_places *, const struct stat *st);
/* The place with this path, as the kernel prints it, or NULL. */
struct inuse_place *inuse_place_of_path(
    struct inuse_places *, const char *root, const char *path);
/* The place that is in the same btrfs as the device at this path, or NULL. */
struct inuse_place *inuse_place_of_btrfs(
    struct inuse_places *, const char *root, const char *path);

/* The first line of a small file below root, without the newline.  False: there is no
 * such file, or it is empty. */
bool inuse_line(const char *root, char *buf, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Call each(arg, name) for the entries of a directory below root, until a call returns nonzero.
 * Returns what the last call returned; 0: there is no such directory, or it is empty. */
int inuse_entries(const char *root, const char *dir,
    int (*each)(void *arg, const char *name), void *arg);

/* "Y (process 123) has X open for writing", if a process has that the query counts; else buf is
 * "".  *unseen: a process could not be looked into. */
void inuse_find_writer(struct inuse_places *, const struct inuse_query *, bool *unseen,
    char *buf, size_t cap);
/* "X is claimed by ...", if the kernel or a program has claimed a place and no place is
 * marked as seen for that; else buf is "". */
void inuse_find_claim(struct inuse_places *, const char *root, char *buf, size_t cap);

#endif /* COMMON_DISK_INUSE_IMPL_H */
