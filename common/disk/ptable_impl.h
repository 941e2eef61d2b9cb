/* ptable_impl.h: what mbr.c, gpt.c and ptable.c share; for them only. */
#ifndef COMMON_DISK_PTABLE_IMPL_H
#define COMMON_DISK_PTABLE_IMPL_H

#include "common/disk/ptable.h"

enum { MBR_BYTES = 512 };

/* Convert a range of the table's own sectors to 512-byte sectors.  It must lie inside the
 * disk. */
struct range ptable_scale(const struct ptable *, uint64_t lba, uint64_t count);
/* How many of its own sectors the table says the disk has. */
uint64_t ptable_disk_lbas(const struct ptable *, const struct disk *);
/* ERR_FORMAT when two of n partitions overlap. */
int ptable_check_overlap(
    const struct disk *, const struct partition *, unsigned n, struct err *);

/* What sector 0 (MBR_BYTES) announces, by the rules in ptable.h. */
enum ptable_kind mbr_kind(const void *sector0, uint64_t disk_lbas);
/* Fill in t, whose sector_bytes is set, from sector 0 and the chain.  entry_at:
 * NULL, or room for the disk's byte offset of each partition's entry. */
int mbr_read(struct ptable *t, struct disk *, const void *sector0,
    uint64_t entry_at[PTABLE_PARTS_MAX], struct err *);
/* ptable_set_type() and ptable_remove() of an MBR: the entry is written in place. */
int mbr_set_type(struct disk *, unsigned number, unsigned code, struct err *);
int mbr_remove(struct disk *, unsigned number, struct err *);

/* Fill in t, whose sector_bytes is set.  *found: is there at least a header? */
int gpt_read(struct ptable *t, struct disk *, bool *found, struct err *);
/* ptable_set_type() and ptable_remove() of a GPT that was read.  The backup is written
 * first, so that one copy on the disk is whole at any time.  gpt_set_type() returns 1 as
 * ptable_set_type() does. */
int gpt_set_type(
    const struct ptable *, struct disk *, unsigned number, unsigned code, struct err *);
int gpt_remove(const struct ptable *, struct disk *, unsigned number, struct err *);

/* ptable_fit() for the kind of table that sector 0 announces. */
int mbr_fit(struct disk *, unsigned from_bytes, bool grow, struct ptable_change *,
    struct err *);
int gpt_fit(struct disk *, unsigned from_bytes, bool grow, struct ptable_change *,
    struct err *);

/* ptable_cut() for each kind of table. */
int mbr_cut(struct disk *, const struct ptable *, unsigned number, uint64_t part_sectors,
    uint64_t *disk_sectors, struct err *);
int gpt_cut(struct disk *, const struct ptable *, unsigned number, uint64_t part_sectors,
    uint64_t *disk_sectors, struct err *);
/* ptable_place() for each kind of table.  ptable_place_lbas(): the place of a partition in
 * sectors of lba_bytes; ERR_UNSUPPORTED. */
int ptable_place_lbas(const struct ptable_place *, unsigned n, unsigned number,
    unsigned lba_bytes, struct range *lbas, struct err *);
int mbr_place(struct disk *to, struct disk *from, const struct ptable *,
    const struct ptable_place *, unsigned n, struct err *);
int gpt_place(struct disk *to, struct disk *from, const struct ptable *,
    const struct ptable_place *, unsigned n, struct err *);
/* ptable_end_at() of a GPT. */
int gpt_end_at(struct disk *, const struct ptable *, uint64_t disk_sectors, struct err *);

#endif /* COMMON_DISK_PTABLE_IMPL_H */
