/* shrink_fs.h: one filesystem is made smaller in a copy-on-write view of the source. */
#ifndef IMAGEZIP_SHRINK_SHRINK_FS_H
#define IMAGEZIP_SHRINK_SHRINK_FS_H

#include "imagezip/shrink/shrink.h"

/* The smaller filesystem; all zeros: it is as it was. */
struct shrunk_fs {
	struct view *view;
	struct disk *disk; /* the partition, as long as part->is */
};

/* Make the filesystem in a partition smaller, and then the partition, which ends at a multiple of
 * align_bytes.  A filesystem that its tool does not make smaller is as it was; part->fs says
 * why.  Errors of view.h; ERR_NOMEM; ERR_CANCELLED. */
int shrink_fs(struct shrunk_fs *, struct disk *source, struct shrink_part *part,
    uint64_t spare_bytes, uint64_t align_bytes, struct err *);
void shrink_fs_end(struct shrunk_fs *);

#endif /* IMAGEZIP_SHRINK_SHRINK_FS_H */
