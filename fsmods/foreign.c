/* foreign.c: signatures of devices that are stored completely, whatever other signatures
 * they have. fsmods.c, recognise.c and imagezip's layout.c call this, in the thread that
 * scans.
 *
 * Linux RAID: see md.h.
 * ZFS: the first label has a ring of uberblocks at 128 KiB, one at each multiple of 1 KiB
 * or more; an uberblock begins with a u64 magic in the byte order of the machine that
 * wrote it.
 * bcache and bcachefs: the superblock begins at sector 8, and has a magic of 16 bytes at
 * byte 24. Other filesystems and pools: the magic numbers of the kernel's
 * include/uapi/linux/magic.h and of libblkid. A magic of two bytes is compared together
 * with the bytes that follow it, because two bytes alone would be found by chance.
 * GEOM (FreeBSD): a name in the last sector.
 */
#include "fsmods/foreign.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/md.h"

enum {
	ZFS_RING_AT = 128 << 10,
	ZFS_RING_BYTES = 128 << 10,
	ZFS_SLOT_BYTES = 1 << 10,
	ZFS_MAGIC = 0x00bab10c,
};

static const struct {
	uint64_t at_bytes;
	unsigned bytes;
	const char *magic, *name;
} signatures[] = {
	{ 4096 + 24, 16,
	    "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
	    "a bcache device" },
	{ 4096 + 24, 16,
	    "\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
	    "a bcachefs filesystem" },
	{ 0, 8, "dmvdo001", "a VDO volume" },
	{ 0, 8, "integrt\0", "a dm-integrity device" },
	{ 0, 8, "verity\0\0", "a dm-verity device" },
	{ 32768, 4, "JFS1", "a JFS filesystem" },
	{ 32768, 7, "\0BEA01\1", "a UDF filesystem" },
	{ 65536 + 52, 6, "ReIsEr", "a ReiserFS filesystem" },
	{ 65536, 7, "ReIsEr4", "a Reiser4 filesystem" },
	{ 3, 8, "ReFS\0\0\0\0", "a ReFS filesystem" },
	{ 3, 8, "-FVE-FS-", "a BitLocker volume" },
	{ 32, 4, "NXSB", "an APFS container" },
	{ 1024, 4, "H+\0\4", "an HFS+ filesystem" },
	{ 1024, 4, "HX\0\5", "an HFSX filesystem" },
	{ 1024, 8, "\2\0\0\0\0\0\x34\x34", "a NILFS2 filesystem" },
	{ 65536, 8, "\x01\x16\x19\x70\0\0\0\1", "a GFS2 filesystem" },
	{ 1024, 6, "OCFSV2", "an OCFS2 filesystem" },
	{ 2048, 6, "OCFSV2", "an OCFS2 filesystem" },
	{ 4096, 6, "OCFSV2", "an OCFS2 filesystem" },
	{ 8192, 6, "OCFSV2", "an OCFS2 filesystem" },
	{ 1 << 20, 4, "\x0d\xd0\x01\xc0", "a VMFS volume" },
	{ 0, 8, "\x11\x20\x17\x05\x32\x4d\x41\x48", "a HAMMER2 filesystem" },
	{ 0, 16, "bluestore block ", "a Ceph BlueStore device" },
	{ 32, 8, "ORCLDISK", "an Oracle ASM disk" },
	{ 512 + 4, 8, "!Stra0ti", "a Stratis pool's device" },
	{ 0, 8, "SPACEDB ", "a member of a pool of Windows Storage Spaces" },
	{ 88, 6, "CS\1\0\0\0", "a volume of Apple Core Storage" },
};

/* GEOM mirrors and labels are not listed, because their members begin with the data. */
static const struct {
	const char *magic, *name;
} geoms[] = {
	{ "GEOM::STRIPE", "a member of a GEOM stripe" },
	{ "GEOM::CONCAT", "a member of a GEOM concatenation" },
	{ "GEOM::RAID3", "a member of a GEOM RAID3" },
	{ "GEOM::VIRSTOR", "a component of GEOM's virtual storage" },
	{ "GEOM::ELI", "a GELI volume" },
};

/* Read len bytes at byte `at` of the partition. false: they lie outside, or cannot be
 * read. */
static bool
look(struct disk *d, struct range part, uint64_t at, void *buf, size_t len)
{
	struct err ignored;
	uint64_t bytes = part.len * SECTOR_BYTES;

	return at <= bytes && len <= bytes - at &&
	       disk_read(d, buf, len, part.off * SECTOR_BYTES + at, &ignored) == 0;
}

/* With its superblock at the end, a mirror's member begins like the mirror. */
static bool
ends_with_md(struct disk *d, struct range part)
{
	struct md md;

	bool at_end = md1_find(d, part, md1_place(part.len), &md) ||
	              md0_find(d, part, &md);
	return at_end && md.level != MD_LEVEL_MIRROR;
}

static bool
is_zfs(struct disk *d, struct range part)
{
	uint8_t slot[8];

	for (uint64_t i = 0; i < ZFS_RING_BYTES; i += ZFS_SLOT_BYTES) {
		if (!look(d, part, ZFS_RING_AT + i, slot, sizeof slot))
			return false;
		struct rd r = rd_from(slot, sizeof slot);
		uint64_t magic = rd_le64(&r);
		if (magic == ZFS_MAGIC || __builtin_bswap64(magic) == ZFS_MAGIC)
			return true;
	}
	return false;
}

/* The last sector of a GEOM member, of 512 or 4096 bytes, begins with a name that zeros
 * fill up to 16 bytes. */
static const char *
find_geom(struct disk *d, struct range part)
{
	static const uint64_t sector_bytes[] = { 512, 4096 };
	uint64_t bytes = part.len * SECTOR_BYTES;
	char last[16], want[16];

	for (int i = 0; i < 2; i++) {
		if (bytes < sector_bytes[i] ||
		    !look(d, part, bytes - sector_bytes[i], last, sizeof last))
			continue;
		for (size_t k = 0; k < sizeof geoms / sizeof geoms[0]; k++) {
			memset(want, 0, sizeof want);
			memcpy(want, geoms[k].magic, strlen(geoms[k].magic));
			if (memcmp(last, want, sizeof want) == 0)
				return geoms[k].name;
		}
	}
	return NULL;
}

const char *
foreign_begins(struct disk *d, struct range part)
{
	uint8_t b[16];
	struct md md;

	for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
		if (look(d, part, signatures[i].at_bytes, b, signatures[i].bytes) &&
		    memcmp(b, signatures[i].magic, signatures[i].bytes) == 0)
			return signatures[i].name;
	if (md1_find(d, part, 0, &md) || md1_find(d, part, 8, &md))
		return "a member of a Linux RAID";
	return is_zfs(d, part) ? "a member of a ZFS pool" : NULL;
}

const char *
foreign_find(struct disk *d, struct range part)
{
	const char *found = foreign_begins(d, part);

	if (found == NULL && ends_with_md(d, part))
		found = "a member of a Linux RAID";
	return found != NULL ? found : find_geom(d, part);
}
