/* ntfs_boot.c: reads the boot sector: is this NTFS, and what sizes does it claim? The
 * probe runs in the program's own process, so the boot sector is read here and not by the
 * library. fsmods.c calls it, through ntfs.c, in the first thread of imagezip, and
 * ntfs_scan() in the child. */
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/ntfs/ntfs_impl.h"

enum {
	BOOT_BYTES = 512,
	CLUSTER_MAX = 2 << 20, /* bytes */
	RECORD_MIN = 512,      /* of the MFT or an index; bytes */
	RECORD_MAX = 65536,
};

static bool
power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* The sectors of a cluster, which are coded plainly, or, for the largest clusters, as a
 * negative byte n that stands for 2^-n sectors. */
static uint64_t
cluster_sectors(uint8_t coded)
{
	if (coded <= 0x80)
		return coded;
	unsigned shift = 256u - coded;
	return shift < 16 ? UINT64_C(1) << shift : 0;
}

/* Is the size of a record sane? It is coded as a signed byte n: n clusters, or, if n is
 * negative, 2^-n bytes. */
static bool
record_sane(uint8_t coded, uint64_t cluster_bytes)
{
	unsigned shift = 256u - coded;
	uint64_t bytes = coded < 0x80 ? coded * cluster_bytes
	                 : shift < 32 ? UINT64_C(1) << shift
	                              : 0;

	return power_of_two(bytes) && bytes >= RECORD_MIN && bytes <= RECORD_MAX;
}

/* May the library be given these numbers? It allocates as much memory as they say. */
static bool
sizes_sane(uint64_t sector_bytes, uint64_t cluster_bytes, uint64_t sectors)
{
	return power_of_two(sector_bytes) && sector_bytes >= 512 &&
	       sector_bytes <= 4096 && power_of_two(cluster_bytes) &&
	       cluster_bytes >= sector_bytes && cluster_bytes <= CLUSTER_MAX &&
	       sectors <= UINT64_MAX / sector_bytes;
}

int
nt_boot(struct nt_boot *b, struct disk *d, struct range part, struct err *e)
{
	uint8_t boot[BOOT_BYTES];

	*b = (struct nt_boot){ 0 };
	if (part.len < 2)
		return 0;
	if (disk_read(d, boot, sizeof boot, part.off * SECTOR_BYTES, e) != 0)
		return -1;
	if (memcmp(boot + 3, "NTFS    ", 8) != 0 || boot[510] != 0x55 ||
	    boot[511] != 0xaa)
		return 0;
	struct rd r = rd_from(boot, sizeof boot);
	rd_skip(&r, 11);
	uint64_t sector_bytes = rd_le16(&r),
		 cluster = cluster_sectors(rd_u8(&r)) * sector_bytes;
	rd_skip(&r, 0x28 - 14);
	uint64_t sectors = rd_le64(&r);
	b->mft_lcn = rd_le64(&r);
	b->mirror_lcn = rd_le64(&r);
	uint8_t record = rd_u8(&r);
	rd_skip(&r, 3);
	uint8_t index = rd_u8(&r);
	if (!sizes_sane(sector_bytes, cluster, sectors) ||
	    !record_sane(record, cluster) || !record_sane(index, cluster))
		return 0;
	b->cluster_bytes = (uint32_t)cluster;
	b->sectors = sectors * sector_bytes / SECTOR_BYTES;
	b->clusters = sectors * sector_bytes / cluster;
	return 1;
}
