/* xfs_log.h: says whether an XFS filesystem was cleanly unmounted, by the head of its
 * log. */
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

/* Returns 0 when the last record of the log is an unmount record, without any doubt.
 * *head is then the sector of the log that will be written next; where the ring is closed, it
 * is the log's length.  Otherwise ERR_FORMAT says that the log is not clean, or why this
 * cannot be told. Also errors of reading. */
int xfs_log_check_clean(const struct xfs_log *, uint64_t *head, struct err *);

#endif /* FSMODS_XFS_XFS_LOG_H */
