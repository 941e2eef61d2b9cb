/* gpt_impl.h: a GPT as it is on the disk, for gpt.c and gpt_fit.c only.  gpt.c
 * says which field is where. */
#ifndef COMMON_DISK_GPT_IMPL_H
#define COMMON_DISK_GPT_IMPL_H

#include "common/disk/ptable_impl.h"

enum {
	HEADER_BYTES = 92,
	HEADER_CRC = 16,
	ARRAY_CRC = 88,
	ENTRY_BYTES = 128,
	ENTRY_NAME = 56,
	NAME_UNITS = 36,
	ARRAY_BYTES_MAX = 1 << 20, /* 8192 entries; the usual 128 take 16 KiB */
	LBA_BYTES_MAX = 4096,
};

static const char gpt_magic[8] = "EFI PART";

/* One copy of the table, in LBAs of the table's own size. */
struct gpt_copy {
	bool found; /* there is a header */
	bool sound; /* the header is right, and describes a disk like this one */
	bool whole; /* array and entries are right, too */
	struct err why; /* why the copy is not whole */
	uint64_t lba;   /* of the header */
	uint8_t sector[LBA_BYTES_MAX]; /* the sector of the header */
	uint32_t header_bytes, crc, nentries, entry_bytes, array_crc;
	uint64_t alternate, first_usable, last_usable, array_lba;
	uint8_t *array; /* owned; nentries * entry_bytes */
	unsigned npassed; /* entries that are passed over; `passed` is about the first */
	char passed[100];
	unsigned nparts;
	struct partition parts[PTABLE_PARTS_MAX];
};

struct gpt {
	struct gpt_copy primary, backup;
};

static inline size_t
gpt_array_bytes(const struct gpt_copy *c)
{
	return (size_t)c->nentries * c->entry_bytes;
}

static inline struct range
gpt_array_lbas(const struct gpt_copy *c, unsigned lba_bytes)
{
	return (struct range){ c->array_lba,
		(gpt_array_bytes(c) + lba_bytes - 1) / lba_bytes };
}

/* The CRC of a header, computed as if the field of the CRC were zero. */
uint32_t gpt_header_crc(const struct gpt_copy *);
/* Read both copies, whole or not, from a disk whose table counts in sectors of
 * t->sector_bytes.  To be freed with gpt_free().  NULL: ERR_NOMEM. */
struct gpt *gpt_load(const struct ptable *t, struct disk *, struct err *);
/* NULL is fine. */
void gpt_free(struct gpt *);

#endif /* COMMON_DISK_GPT_IMPL_H */
