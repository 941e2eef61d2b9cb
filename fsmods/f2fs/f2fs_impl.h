/* f2fs_impl.h: what the files of the F2FS module share; for them only.
 *
 *	f2fs_super.c: where the areas are → f2fs_checkpoint.c: which copies of the
 *	segment information table's blocks are valid → f2fs.c: the table
 */
#ifndef FSMODS_F2FS_F2FS_IMPL_H
#define FSMODS_F2FS_F2FS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "fsmods/fsmod.h"

enum {
	F2FS_BLOCK = 4096,
	F2FS_BLOCK_SECTORS = F2FS_BLOCK / SECTOR_BYTES,
	F2FS_SEGMENT = 512, /* blocks */
	F2FS_LOGS = 8,      /* fields for logs, of nodes and of data */
	F2FS_LOGS_USED = 3,
	/* The segment information table. */
	F2FS_SIT_ENTRY_BYTES = 2 + F2FS_SEGMENT / 8 + 8,
	F2FS_SIT_ENTRIES = F2FS_BLOCK / F2FS_SIT_ENTRY_BYTES,
	F2FS_SUMMARY_ENTRIES_BYTES = 7 * F2FS_SEGMENT,
	F2FS_JOURNAL_BYTES = F2FS_BLOCK - F2FS_SUMMARY_ENTRIES_BYTES - 5,
	F2FS_JOURNAL_MAX = (F2FS_JOURNAL_BYTES - 2) / (4 + F2FS_SIT_ENTRY_BYTES),
};

#define F2FS_MAGIC UINT32_C(0xf2f52010)

struct f2fs_super {
	uint32_t magic;
	uint32_t log_block, log_segment;
	uint64_t blocks;
	uint32_t segments, cp_segments, sit_segments, nat_segments, ssa_segments;
	uint32_t main_segments;
	uint32_t first, cp, sit, nat, ssa, main; /* block addresses */
	uint32_t cp_payload;                     /* blocks */
	uint32_t features;
	bool more_devices, errors;
};

struct f2fs_checkpoint {
	uint64_t at; /* block */
	uint64_t version;
	uint64_t valid_blocks;
	uint32_t free_segments;
	uint32_t node_segment[F2FS_LOGS], data_segment[F2FS_LOGS];
	uint16_t node_offset[F2FS_LOGS];
	uint32_t flags;
	uint32_t blocks, first_summary;
	uint32_t sit_bitmap_bytes, nat_bitmap_bytes;
	uint8_t raw[F2FS_BLOCK];
};

struct f2fs_sit_entry {
	uint32_t segment;
	uint16_t valid;
	const uint8_t *map;
};

struct f2fs {
	struct disk *disk;
	struct range part;
	struct skip_sink *sink;
	struct f2fs_super sb;
	struct f2fs_checkpoint cp;
	uint8_t *sit_bitmap;         /* a bit for each block: which copy is valid; owned */
	uint8_t summary[F2FS_BLOCK]; /* the block that holds the journal */
	struct f2fs_sit_entry journal[F2FS_JOURNAL_MAX];
	unsigned journal_entries;
	struct range run; /* free blocks not yet reported */
	uint64_t valid_blocks;
	uint32_t free_segments;
};

/* f2fs_super.c */

/* Read n blocks from block `first` of the partition on; ERR_FORMAT when they lie outside. */
int f2fs_read(const struct f2fs *, void *buf, uint64_t first, uint64_t n, struct err *);
/* CRC-32 without the usual inversions. crc: F2FS_MAGIC for the first bytes, or the CRC of
 * the bytes before. */
uint32_t f2fs_crc(uint32_t crc, const uint8_t *buf, size_t len);
/* Has the partition a superblock, or a copy of one? 1 yes, 0 no, -1 cannot be read. */
int f2fs_probe(struct disk *, struct range part, struct err *);
/* Read and check the superblock of f->part. ERR_FORMAT when the two copies differ, or the
 * areas are impossible; ERR_UNSUPPORTED for unknown features; also errors of reading. */
int f2fs_read_super(struct f2fs *, struct err *);

/* f2fs_checkpoint.c */

/* Read the newer valid checkpoint, after f2fs_read_super(). Fails, with the reason,
 * unless an unmount wrote the checkpoint and nothing was written since. */
int f2fs_read_checkpoint(struct f2fs *, struct err *);
/* Read, after f2fs_read_checkpoint(), which copies of the table's blocks are valid, and
 * the table's latest changes. The caller frees sit_bitmap, also after an error. */
int f2fs_read_journal(struct f2fs *, struct err *);
/* Read an entry of `segment`, which has the same form in the table and in the journal.
 * Its map points into the reader's bytes. */
struct f2fs_sit_entry f2fs_get_sit_entry(struct rd *, uint32_t segment);

#endif /* FSMODS_F2FS_F2FS_IMPL_H */
