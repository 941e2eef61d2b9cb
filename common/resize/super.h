/* super.h: how large a filesystem says it is. */
#ifndef COMMON_RESIZE_SUPER_H
#define COMMON_RESIZE_SUPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes at the beginning of a partition that super_get() needs. */
enum { SUPER_BYTES = 68 * 1024 };

struct super {
	uint64_t bytes;       /* the length of the filesystem */
	uint32_t block_bytes; /* of a block; NTFS: of a sector: the unit of its length */
	uint64_t devices;     /* 1; btrfs: the partitions that the filesystem has */
	/* A disk with larger sectors than this cannot hold the filesystem; 0: not
	 * known. */
	uint32_t sector_bytes;
};

/* Read the length of a filesystem out of the first len bytes of its partition.  `type` is its
 * name as blkid(8) has it.  false: the type is none of ext2, ext3, ext4, xfs, btrfs, ntfs,
 * vfat and LVM2_member, or these bytes are not its superblock.  Nothing else of the
 * superblock is checked.
 * Sources: the kernel's documentation of ext4 (Documentation/filesystems/ext4), the XFS
 * Algorithms & Data Structures of the XFS developers, the on-disk format page of the btrfs
 * documentation, and the layout of the NTFS boot sector as Microsoft documents it. */
bool super_get(const char *type, const void *head, size_t len, struct super *);
/* Look for any filesystem that is known here in the first len bytes of a partition, and
 * read its length.  Returns its name as fsmods call it: those of super_get(), exfat,
 * f2fs, fat, swap, ufs and lvm2; NULL: nothing was found.  As a boot sector, or what is
 * left of another filesystem, may look like one, only what a module has recognised, too,
 * is sure.  Further sources: Microsoft's specifications of exFAT and FAT32, the headers of
 * mkfs.f2fs, mkswap(8), FreeBSD's ffs(7) and its fs.h, and the comments of LVM2's label
 * format. */
const char *super_find(const void *head, size_t len, struct super *);

#endif /* COMMON_RESIZE_SUPER_H */
