/* ntfs_boot.c: the boot sector of NTFS, and from there to the MFT. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/ntfs/ntfs_attr.h"

enum {
	BOOT_BYTES = 512,
	FIRST_RECORDS = 16, /* read before the MFT's run list is known */
};
#define CLUSTERS_MAX UINT32_MAX /* of a volume: Windows's limit */

static bool
power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* One signed byte: so many clusters, or 2^-n bytes. */
static uint64_t
record_size(uint8_t coded, uint32_t cluster_bytes)
{
	if (coded < 0x80)
		return (uint64_t)coded * cluster_bytes;
	unsigned shift = 256u - coded;
	return shift < 32 ? UINT64_C(1) << shift : 0;
}

/* Sectors a cluster: plain, or 2^-n of them for the largest clusters. */
static uint64_t
cluster_sectors(uint8_t coded)
{
	if (coded <= 0x80)
		return coded;
	unsigned shift = 256u - coded;
	return shift < 16 ? UINT64_C(1) << shift : 0;
}

static bool
boot_sane(const struct ntfs *v, uint64_t sector_bytes, uint64_t sectors)
{
	if (!power_of_two(sector_bytes) || sector_bytes < 512 || sector_bytes > 4096 ||
	    !power_of_two(v->cluster_bytes) || v->cluster_bytes < sector_bytes ||
	    v->cluster_bytes > NTFS_CLUSTER_MAX)
		return false;
	if (!power_of_two(v->record_bytes) || v->record_bytes < 512 ||
	    v->record_bytes > NTFS_RECORD_MAX)
		return false;
	return sectors <= UINT64_MAX / sector_bytes;
}

int
ntfs_boot(struct ntfs *v, struct disk *d, struct range part, struct err *e)
{
	uint8_t boot[BOOT_BYTES];

	*v = (struct ntfs){ .disk = d, .part = part };
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
	v->mft_lcn = rd_le64(&r);
	v->mirror_lcn = rd_le64(&r);
	if (cluster > NTFS_CLUSTER_MAX)
		return 0;
	v->cluster_bytes = (uint32_t)cluster;
	uint64_t record = record_size(rd_u8(&r), v->cluster_bytes);
	if (record > NTFS_RECORD_MAX)
		return 0;
	v->record_bytes = (uint32_t)record;
	if (!boot_sane(v, sector_bytes, sectors))
		return 0;
	v->sectors = sectors * sector_bytes / SECTOR_BYTES;
	v->clusters = sectors * sector_bytes / v->cluster_bytes;
	return 1;
}

int
ntfs_read(const struct ntfs *v, void *buf, size_t len, uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, v->sectors * SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "metadata outside the volume");
	return disk_read(v->disk, buf, len, v->part.off * SECTOR_BYTES + off, e);
}

/* Record 0 describes the MFT and so itself; at first only its place is known. */
static int
bootstrap(struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	uint64_t bytes = (uint64_t)FIRST_RECORDS * v->record_bytes;
	uint64_t n = (bytes + v->cluster_bytes - 1) / v->cluster_bytes;

	v->mft = (struct ntfs_stream){ .bytes = bytes, .valid = bytes };
	if (ntfs_stream_append(v, &v->mft, v->mft_lcn, n, e) != 0 ||
	    ntfs_record_read(v, NTFS_MFT, m, e) != 0)
		return -1;
	return 0;
}

static int
open_mft(struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	struct ntfs_stream whole;

	if (bootstrap(v, m, e) != 0)
		return -1;
	int rc = ntfs_stream_open(v, m, NTFS_AT_DATA, "", &whole, e);
	if (rc == 1 && whole.nruns > 0 && whole.runs[0].lcn == v->mft_lcn) {
		ntfs_stream_close(&v->mft);
		v->mft = whole;
		return 0;
	}
	ntfs_stream_close(&whole);
	return rc < 0 ? -1
	              : err_set(e, ERR_FORMAT, "the boot sector and $MFT disagree");
}

int
ntfs_open(struct ntfs *v, struct err *e)
{
	struct ntfs_record *m = malloc(sizeof *m);

	if (m == NULL)
		return err_nomem(e, "a record");
	int rc = v->clusters > CLUSTERS_MAX
	             ? err_set(e, ERR_UNSUPPORTED, "more clusters than NTFS can have")
	         : v->sectors > v->part.len
	             ? err_set(e, ERR_FORMAT,
			   "it has %" PRIu64 " sectors, more than the partition",
			   v->sectors)
	             : open_mft(v, m, e);
	free(m);
	return rc;
}

void
ntfs_close(struct ntfs *v)
{
	ntfs_stream_close(&v->mft);
}
