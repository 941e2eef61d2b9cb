/* ext_io.h: opens an ext2, ext3 or ext4 filesystem in a partition of a disk with libext2fs. */
#ifndef FSMODS_EXT_IO_H
#define FSMODS_EXT_IO_H

#include <ext2fs/ext2fs.h>

#include "common/disk/disk.h"

/* The partition, which the library reads; `part` is in sectors. */
struct ext_io {
	struct disk *disk; /* borrowed */
	struct range part;
};

/* Open the filesystem read-only.  *io is borrowed until ext2fs_free() frees *fs.  Returns 0, or
 * an error code of the library, which error_message() turns into text. */
errcode_t ext_io_open(struct ext_io *io, ext2_filsys *fs);

#endif /* FSMODS_EXT_IO_H */
