/* replace.h: a file gets new content as a whole.  Whoever reads it finds the old content or
 * the new one, also after a power failure, and never a part. */
#ifndef COMMON_BASE_REPLACE_H
#define COMMON_BASE_REPLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/base/err.h"

/* The name of a file that is not complete ends in this. */
#define REPLACE_PARTIAL ".partial"

enum replace_flags {
	/* Nothing is synced: it is made again when a power failure takes it, or the caller
	 * syncs many files at once. */
	REPLACE_UNSYNCED = 1,
};

/* Writes bytes[n] to PATH.partial, which is locked meanwhile, and gives that file the name.  It
 * gets the mode of the file that it replaces, or this one.  A link is replaced, and not what
 * it leads to.  -1: PATH is as it was, or only its folder could not be synced; PATH.partial is
 * removed.  ERR_REFUSED: PATH is no file, or another program is writing it; ERR_IO. */
int replace_file(const char *path, const void *bytes, size_t n, mode_t mode,
    enum replace_flags, struct err *);
/* Gives a file that is whole and synced its name, and syncs the folder. */
int replace_name(const char *made, const char *path, enum replace_flags, struct err *);
/* Syncs the folder that has this path's name, so that a file that was made survives a power
 * failure under that name.  ERR_IO; ERR_NOMEM; 0 where folders cannot be synced. */
int replace_sync_name(const char *path, struct err *);

#endif /* COMMON_BASE_REPLACE_H */
