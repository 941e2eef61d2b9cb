/* cpio.h: writes an archive as the kernel's initial ramdisk takes it: the "newc" format of
 * Linux's document driver-api/early-userspace/buffer-format.rst. */
#ifndef STREAM_BOOT_CPIO_H
#define STREAM_BOOT_CPIO_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* Several archives may follow each other in one ramdisk. */
struct cpio {
	struct buf out;     /* the archive so far; the caller frees it with buf_free() */
	uint32_t next_ino;  /* inode of the next entry; the caller sets the first one */
	char folder[256];   /* of the last file; it and those above it are in the archive */
};

/* Append a regular file of root's, and the folders that its path needs.  The path is relative to
 * the ramdisk's root, does not begin with "/", and has fewer than 256 bytes.  Whether there was
 * memory, buf_ok() says at the end. */
void cpio_file(struct cpio *, const char *path, unsigned mode, const void *data, size_t n);
/* Append the end of the archive. */
void cpio_end(struct cpio *);

#endif /* STREAM_BOOT_CPIO_H */
