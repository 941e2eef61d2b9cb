/* folder_impl.h: what the parts of a folder of objects share: folder.c has the objects,
 * folder_room.c what only a folder has. */
#ifndef EMUSTORE_OBJECTS_FOLDER_IMPL_H
#define EMUSTORE_OBJECTS_FOLDER_IMPL_H

#include "emustore/objects/folder.h"

enum { FOLDER_NEW_BYTES = 48 };

struct folder {
	char *dir, *real; /* as it was named, and without links */
	int dirfd, lock_fd;
	atomic_uint serial; /* of files below new/ */
};

/* The file of that key, as own_open() has it. */
int folder_open_file(struct folder *, const char *key, int flags, struct err *);

#endif /* EMUSTORE_OBJECTS_FOLDER_IMPL_H */
