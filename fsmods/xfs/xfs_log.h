/* xfs_log.h: was an XFS filesystem cleanly unmounted?  Its log's head says so. */
#ifndef FSMODS_XFS_XFS_LOG_H
#define FSMODS_XFS_XFS_LOG_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"

struct xfs_log {
	struct disk *disk;
	uint64_t at_bytes;   /* where it begins, on the disk */
	uint64_t sectors;    /* of 512 bytes, whatever the filesystem has */
	const uint8_t *uuid; /* 16 bytes: the filesystem's */
};

/* 0 when the last thing in the log is an unmount record, and nothing is doubtful
 * about that; otherwise ERR_FORMAT says that the log is not clean, or why it
 * cannot be told. */
int xfs_log_check_clean(const struct xfs_log *, struct err *);

#endif /* FSMODS_XFS_XFS_LOG_H */
