/* fat_impl.h: what the files of the FAT module share; for them only.
 *
 *	fat_boot.c: parameters and state → fat.c: the table → fat_root.c: is the
 *	root directory what it should be? → fat_hot.c: what every use changes
 */
#ifndef FSMODS_FAT_FAT_IMPL_H
#define FSMODS_FAT_FAT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

enum {
	FAT_BOOT_BYTES = 512,
	FAT_ENTRY_BYTES = 32, /* of a directory */
	FAT_FIRST_CLUSTER = 2,
};

#define FAT_FREE_UNKNOWN UINT32_MAX

/* The parameters, as the boot sector has them. */
struct fat_boot {
	uint32_t sector_bytes;
	uint32_t cluster_sectors;
	uint32_t reserved_sectors;
	uint32_t fats;
	uint32_t root_entries;
	uint32_t total16, total32;
	uint32_t media;
	uint32_t fat_sectors16, fat_sectors32;
	/* The members below exist in FAT32 only. */
	uint32_t version;
	uint32_t root_cluster;
	uint32_t info_sector;
	uint32_t backup_sector;
};

struct skip_sink;

struct fat {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	struct fat_boot boot;
	uint8_t raw[FAT_BOOT_BYTES];
	unsigned width; /* 12, 16, 32 */
	/* Sectors of the filesystem; data_at is where the first cluster begins. */
	uint64_t total, fat_sectors, data_at;
	uint64_t clusters;
};

/* What the table says. Bit 0 of the maps is cluster 0, which does not exist. */
struct fat_table {
	uint8_t *skip;   /* free or bad */
	uint8_t *linked; /* another cluster leads here */
	uint64_t free, bad;
};

/* fat_boot.c */

/* Read len bytes at byte off of the partition; ERR_FORMAT when they lie outside. */
int fat_read(const struct fat *, void *buf, size_t len, uint64_t off, struct err *);
/* Read the boot sector of a volume whose disk and part are set. Returns 1, 0 when it is
 * no boot sector of FAT, or -1. */
int fat_read_boot(struct fat *, struct err *);
/* Compute, after fat_read_boot(), how the volume is laid out. Fails, with the reason,
 * unless the volume is clean, of a known kind, and equal to the backup of its boot
 * sector. */
int fat_measure(struct fat *, struct err *);
/* Bytes of one copy of the table that hold entries. */
uint64_t fat_table_bytes(const struct fat *);
/* Get FSInfo's count of free clusters into *free; FAT_FREE_UNKNOWN when there is no
 * FSInfo. ERR_FORMAT when it lies outside the reserved sectors or has no signature. */
int fat_read_free(const struct fat *, uint32_t *free, struct err *);
/* The first byte of a cluster, in the partition. */
uint64_t fat_cluster_at(const struct fat *, uint64_t cluster);

/* fat_root.c: the root directory (of FAT32, its first cluster) proves that clusters are
 * where they are thought to be; it also marks, in the table's `linked`, the clusters that
 * the directory leads to. ERR_FORMAT when something is wrong. */
int fat_check_root(const struct fat *, struct fat_table *, struct err *);

/* fat_hot.c: report, with skip_hot(), the tables and the root directory, or one cluster that
 * begins another directory. */
int fat_hot(const struct fat *, struct err *);
int fat_hot_cluster(const struct fat *, uint32_t cluster, struct err *);

#endif /* FSMODS_FAT_FAT_IMPL_H */
