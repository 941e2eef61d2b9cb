/* fat_hot.c: names the sectors of FAT that every use changes. fat.c and fat_root.c call this,
 * in the thread that scans.
 *
 * They are FSInfo, the first part of the table, the root directory, and the beginnings of the
 * directories in it: a directory has the times of its files. */
#include "fsmods/fat/fat_impl.h"
#include "fsmods/fsmod.h"

#include "common/base/rd.h"

enum {
	TABLE_BYTES = 1 << 20, /* of the first copy */
	ROOT_CLUSTERS_MAX = 256,
};

static int
hot_bytes(const struct fat *v, uint64_t off, uint64_t len, struct err *e)
{
	return skip_hot(v->sink,
	    (struct range){ off / SECTOR_BYTES, (len + SECTOR_BYTES - 1) / SECTOR_BYTES },
	    e);
}

int
fat_hot_cluster(const struct fat *v, uint32_t cluster, struct err *e)
{
	return hot_bytes(v, fat_cluster_at(v, cluster),
	    (uint64_t)v->boot.cluster_sectors * v->boot.sector_bytes, e);
}

/* The cluster that follows another one of FAT32; any other number ends a chain. */
static int
next_cluster(const struct fat *v, uint32_t *cluster, struct err *e)
{
	uint8_t raw[4];
	uint64_t at = (uint64_t)v->boot.reserved_sectors * v->boot.sector_bytes;

	if (fat_read(v, raw, sizeof raw, at + *cluster * sizeof raw, e) != 0)
		return -1;
	struct rd r = rd_from(raw, sizeof raw);
	*cluster = rd_le32(&r) & 0x0fffffff;
	return 0;
}

/* The root directory of FAT32 is a chain of clusters. */
static int
hot_root32(const struct fat *v, struct err *e)
{
	uint32_t at = v->boot.root_cluster;

	for (unsigned i = 0; i < ROOT_CLUSTERS_MAX && at >= FAT_FIRST_CLUSTER &&
	                     at < v->clusters + FAT_FIRST_CLUSTER;
	     i++)
		if (fat_hot_cluster(v, at, e) != 0 || next_cluster(v, &at, e) != 0)
			return -1;
	return 0;
}

int
fat_hot(const struct fat *v, struct err *e)
{
	const struct fat_boot *b = &v->boot;
	uint64_t table = fat_table_bytes(v);
	uint64_t fat_at = (uint64_t)b->reserved_sectors * b->sector_bytes;
	uint64_t root_at = fat_at + b->fats * v->fat_sectors * b->sector_bytes;

	if (v->width == 32 && b->info_sector < b->reserved_sectors &&
	    hot_bytes(v, (uint64_t)b->info_sector * b->sector_bytes, b->sector_bytes,
		e) != 0)
		return -1;
	if (hot_bytes(v, fat_at, table < TABLE_BYTES ? table : TABLE_BYTES, e) != 0)
		return -1;
	if (v->width == 32)
		return hot_root32(v, e);
	return hot_bytes(v, root_at, (uint64_t)b->root_entries * FAT_ENTRY_BYTES, e);
}
