/* own_file.h: the files of a store are files of its own, not links that lead elsewhere. */
#ifndef EMUSTORE_OBJECTS_OWN_FILE_H
#define EMUSTORE_OBJECTS_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* The file `name` of the folder dirfd, opened as openat() does with these flags; title
 * is what messages call it.  A link is not followed, and what is no regular file is not
 * taken: ERR_REFUSED.  To write to it as root, where others may write to the folder, it
 * must belong to root or to the folder's owner: ERR_REFUSED.  ERR_IO with errno. */
int own_file_open(int dirfd, const char *name, int flags, mode_t mode, const char *title,
    struct err *);
/* Check the file like own_file_open(), without opening it; a file that does not exist passes. */
int own_file_check(
    int dirfd, const char *name, bool writing, const char *title, struct err *);
/* Read n bytes from byte `from` of an open file.  Returns how many there were, fewer than n only
 * at its end; -1 with errno. */
ssize_t own_file_read(int fd, void *out, size_t n, uint64_t from);

#endif /* EMUSTORE_OBJECTS_OWN_FILE_H */
