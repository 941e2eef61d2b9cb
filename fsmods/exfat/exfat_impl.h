/* exfat_impl.h: what the files of the exFAT module share; for them only.
 *
 *	exfat_boot.c: geometry → exfat_dir.c: which clusters are in use →
 *	exfat.c: the allocation bitmap; exfat_bad.c: bad clusters
 *
 * Source: Microsoft's "exFAT file system specification", revision 1.00.
 */
#ifndef FSMODS_EXFAT_EXFAT_IMPL_H
#define FSMODS_EXFAT_EXFAT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "fsmods/fsmod.h"

enum {
	EXFAT_SECTOR_SHIFT_MIN = 9,
	EXFAT_FIRST_CLUSTER = 2,
	EXFAT_FAT_ENTRY_BYTES = 4,
	EXFAT_PIECE_BYTES = 1 << 20, /* of the bitmap or the FAT, read at once */
	EXFAT_PIECE_ENTRIES = EXFAT_PIECE_BYTES / EXFAT_FAT_ENTRY_BYTES,
	EXFAT_WINDOW_BYTES = 4096,
};

struct exfat_boot {
	uint64_t total; /* total, fat_at, fat_sectors, heap_at: sectors of the filesystem */
	uint32_t fat_at, fat_sectors;
	uint32_t heap_at, clusters;
	uint32_t root; /* cluster */
	uint32_t revision, flags;
	unsigned sector_shift, cluster_shift;
	unsigned fats;
};

struct exfat_contents {
	uint32_t first; /* cluster; 0: none */
	uint64_t bytes;
};

/* A directory that is still to be read. */
struct exfat_pending {
	uint32_t first;
	bool contiguous;
	uint64_t bytes;
};

/* Clusters are counted from 0 in the maps: bit 0 is cluster 2. */
struct exfat {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	struct exfat_boot boot;
	uint64_t cluster_bytes;
	uint8_t *claimed;  /* bit set: a file, directory or table has it */
	bool *used_pieces; /* of the FAT: has the entry of an allocated cluster */
	struct exfat_contents bitmap, case_table;
	bool strangers;             /* entries of unknown types, perhaps with clusters */
	struct exfat_pending *dirs; /* a stack */
	size_t ndirs, dirs_cap;
	uint64_t window_at; /* byte of the FAT where window begins; UINT64_MAX: empty */
	uint8_t window[EXFAT_WINDOW_BYTES];
};

/* exfat_boot.c */

/* Is the partition's first sector a boot sector of exFAT? 1 yes, 0 no, -1 cannot be read. */
int exfat_is_boot(struct disk *, struct range part, struct err *);
/* Read how a volume, whose disk and part are set, is laid out. Fails, with the reason,
 * unless the volume is clean and of a known kind: ERR_FORMAT, ERR_UNSUPPORTED, or errors
 * of reading. */
int exfat_read_boot(struct exfat *, struct err *);
/* Read len bytes at byte off of the partition; ERR_FORMAT when they lie outside. */
int exfat_read(const struct exfat *, void *buf, size_t len, uint64_t off, struct err *);
/* Is n the number of a cluster? */
bool exfat_is_cluster(const struct exfat *, uint64_t n);
/* The first byte of cluster n, in the partition. */
uint64_t exfat_cluster_at(const struct exfat *, uint32_t n);

/* exfat_dir.c */

/* Read the root directory: find bitmap and case table, claim their clusters, and note the
 * directories in it. ERR_FORMAT, ERR_UNSUPPORTED (TexFAT, a bitmap in pieces), or errors
 * of reading. */
int exfat_read_root(struct exfat *, struct err *);
/* Read up to max of the directories that are still to be read, and claim what they have.
 * ERR_FORMAT when two files have one cluster. */
int exfat_read_dirs(struct exfat *, size_t max, struct err *);

/* exfat_bad.c: skip the clusters that the FAT marks as bad and no file has. Reads all
 * directories if there are bad clusters, with the errors of exfat_read_dirs(). */
int exfat_scan_bad(struct exfat *, struct skip_sink *, struct err *);

/* exfat.c: clusters [from, to), counted from 0, may be skipped. */
int exfat_skip(
    const struct exfat *, struct skip_sink *, uint64_t from, uint64_t to, struct err *);
/* exfat.c: every use may change these bytes of the partition: whole sectors of 512 bytes. */
int exfat_hot(const struct exfat *, uint64_t off, uint64_t bytes, struct err *);

#endif /* FSMODS_EXFAT_EXFAT_IMPL_H */
