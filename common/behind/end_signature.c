/* end_signature.c: recognises metadata at the end of a disk or partition.
 *
 * behind.c calls it in its caller's thread for the end of a disk behind all partitions
 * and for the end of a partition behind its filesystem, and common/layout/disk_tail.c in
 * imagezip's first thread for what is stored of a disk's end.
 *
 * Sources: libblkid's probes of fake RAID, from dmraid's and the kernels' headers (Linux:
 * md_p.h, drbd.h, block/partitions/ldm.h; FreeBSD: the GEOM classes), from SNIA's "Common
 * RAID Disk Data Format", Microsoft's "Virtual Hard Disk Image Format", and Android's
 * avb_footer.h. Places count from the end of the area, in sectors of 512 bytes;
 * signatures with by_unit are also looked for in sectors of 4096 bytes.
 */
#include "common/behind/end_signature.h"

#include <string.h>

#include "common/base/rd.h"
#include "fsmods/md.h"

enum {
	ZFS_LABEL_SECTORS = 512, /* two labels lie at the end, at multiples of their size */
	ZFS_RING_SECTORS = 256,  /* the second half of a label, with a slot for each KiB */
	ZFS_MAGIC = 0x00bab10c,
	LDM_PLACE_AT = 0x12b,   /* u64 first sector, u64 sectors, big-endian */
	LDM_PRIMARY_SECTOR = 6, /* of a disk with an MBR */
	DDF_PLACES_AT = 96,     /* u64 primary, u64 secondary, in the magic's order */
	DDF_WORKSPACE_AT = 120, /* u64 */
	DDF_ADAPTEC_BACK = 257,
	IMSM_BYTES_AT = 36,
	DRBD_MAGIC_AT = 60, /* u32, u32 sectors of all of it; big-endian */
	DRBD_BACK = 8,
	DRBD_MAGIC_FIRST = (int)0x8374026b, /* 8, 8.4 in use, 9 */
	DRBD_MAGIC_LAST = (int)0x8374026d,
	VIA_SUM_BYTES = 50,
	JMICRON_BYTES = 128,
	AVB_FOOTER_BYTES = 64,
	AVB_SIZE_AT = 12,       /* u64 bytes in front of it all, big-endian */
	/* How far behind `from` are looked for a hash tree, and the superblock of an array
	 * that was at the end. */
	BEHIND_SECTORS = 2048,
	MD1_ALIGN_SECTORS = 8,
};

/* A signature at a fixed place, whose metadata reaches from there to the end. */
static const struct {
	enum tail_kind kind;
	unsigned back; /* sectors, from the end */
	bool by_unit;  /* also look for it in sectors of 4096 bytes */
	unsigned at, bytes;
	const char *magic;
} signatures[] = {
	{ TAIL_IMSM, 2, true, 0, 24, "Intel Raid ISM Cfg Sig. " },
	{ TAIL_GEOM, 1, true, 0, 6, "GEOM::" },
	{ TAIL_VHD, 1, false, 0, 8, "conectix" },
	{ TAIL_DDF, 1, true, 0, 4, "\xde\x11\xde\x11" },
	{ TAIL_DDF, 1, true, 0, 4, "\x11\xde\x11\xde" },
	{ TAIL_DDF, DDF_ADAPTEC_BACK, false, 0, 4, "\xde\x11\xde\x11" },
	{ TAIL_LDM, 1, false, 0, 8, "PRIVHEAD" },
	{ TAIL_NVIDIA, 2, false, 0, 8, "NVIDIA  " },
	{ TAIL_SILICON, 1, false, 0x60, 4, "\0\0\0\x2f" },
	{ TAIL_VIA, 1, false, 0, 2, "\x55\xaa" },
	{ TAIL_LSI, 1, false, 0, 6, "$XIDE$" },
	{ TAIL_ADAPTEC, 1, false, 0, 4, "\x37\xfc\x4d\x1e" },
	{ TAIL_HIGHPOINT, 11, false, 0, 4, "\xf3\x16\x78\x5a" },
	{ TAIL_HIGHPOINT, 11, false, 0, 4, "\xfd\x16\x78\x5a" },
	{ TAIL_JMICRON, 1, false, 0, 2, "JM" },
	{ TAIL_AVB, 1, false, SECTOR_BYTES - AVB_FOOTER_BYTES, 4, "AVBf" },
};

/* Places of the metadata of Promise, in sectors from the end: its controllers use
 * different ones. */
static const unsigned promise_back[] = { 16, 63, 255, 256, 399, 591, 675, 735, 911, 951,
	974, 991, 3087 };

struct search {
	struct disk *d;
	struct range area;
	uint64_t floor; /* sector of the area */
	struct end_signature *found;
	size_t n;
};

/* Read n bytes of a sector of the area; false when they cannot be read, or lie in front of
 * the floor. */
static bool
look(const struct search *s, uint64_t sector, void *buf, size_t n)
{
	struct err ignored;

	return sector >= s->floor && sector < s->area.len &&
	       n <= (s->area.len - sector) * SECTOR_BYTES &&
	       disk_read(s->d, buf, n, (s->area.off + sector) * SECTOR_BYTES,
		   &ignored) == 0;
}

/* Add what was found, from sector `from` of the area to its end; of each kind only the
 * first find counts. */
static void
add(struct search *s, enum tail_kind kind, uint64_t from)
{
	from = from < s->floor ? s->floor : from;
	for (size_t i = 0; i < s->n; i++)
		if (s->found[i].kind == kind)
			return;
	s->found[s->n++] = (struct end_signature){ kind,
		{ s->area.off + from, s->area.len - from } };
}

static struct rd
at_byte(const uint8_t sector[SECTOR_BYTES], size_t at)
{
	struct rd r = rd_from(sector, SECTOR_BYTES);

	rd_skip(&r, at);
	return r;
}

/* Is the sum of a VIA record right? Two bytes of magic can be found by chance, so the
 * byte behind the first fifty must be their sum. */
static bool
via_is_right(const uint8_t b[SECTOR_BYTES])
{
	uint8_t sum = 0;

	for (int i = 0; i < VIA_SUM_BYTES; i++)
		sum += b[i];
	return sum == b[VIA_SUM_BYTES];
}

/* The words of a JMicron record add up to 0 or 1. */
static bool
jmicron_is_right(const uint8_t b[SECTOR_BYTES])
{
	struct rd r = rd_from(b, JMICRON_BYTES);
	uint16_t sum = 0;

	while (rd_left(&r) > 0)
		sum += rd_le16(&r);
	return sum <= 1;
}

/* The first sector of an IMSM table: one that is too long for one sector begins in front
 * of the sector `at`, which has the signature. */
static uint64_t
imsm_from(const uint8_t b[SECTOR_BYTES], uint64_t at)
{
	struct rd r = at_byte(b, IMSM_BYTES_AT);
	uint64_t more = (rd_le32(&r) + (uint64_t)SECTOR_BYTES - 1) / SECTOR_BYTES;

	return more > 1 && more - 1 <= at ? at - (more - 1) : at;
}

/* The first sector of DDF metadata: the anchor at `at` has the numbers of other sectors,
 * in its own byte order. */
static uint64_t
ddf_from(const uint8_t b[SECTOR_BYTES], uint64_t at, uint64_t unit_sectors)
{
	static const size_t places[] = { DDF_PLACES_AT, DDF_PLACES_AT + 8,
		DDF_WORKSPACE_AT };
	uint64_t from = at;

	for (int i = 0; i < 3; i++) {
		struct rd r = at_byte(b, places[i]);
		uint64_t lba = b[0] == 0xde ? rd_be64(&r) : rd_le64(&r);
		if (lba != 0 && lba < from / unit_sectors)
			from = lba * unit_sectors;
	}
	return from;
}

static uint64_t
ldm_from(const uint8_t b[SECTOR_BYTES], uint64_t at)
{
	struct rd r = at_byte(b, LDM_PLACE_AT);
	uint64_t from = rd_be64(&r);

	return from != 0 && from < at ? from : at;
}

static uint64_t
avb_from(const uint8_t b[SECTOR_BYTES], uint64_t at)
{
	struct rd r = at_byte(b, SECTOR_BYTES - AVB_FOOTER_BYTES + AVB_SIZE_AT);
	uint64_t from = rd_be64(&r) / SECTOR_BYTES;

	return from < at ? from : at;
}

/* Check the rest of a signature that was found, and find where its metadata begins. */
static void
found_signature(struct search *s, size_t i, const uint8_t b[SECTOR_BYTES], uint64_t at,
    unsigned unit)
{
	uint64_t from = at;

	switch (signatures[i].kind) {
	case TAIL_VIA:
		if (!via_is_right(b))
			return;
		break;
	case TAIL_JMICRON:
		if (!jmicron_is_right(b))
			return;
		break;
	case TAIL_IMSM:
		from = imsm_from(b, at);
		break;
	case TAIL_DDF:
		from = ddf_from(b, at, unit);
		break;
	case TAIL_LDM:
		from = ldm_from(b, at);
		break;
	case TAIL_AVB:
		from = avb_from(b, at);
		break;
	default:
		break;
	}
	add(s, signatures[i].kind, from);
}

static void
find_signatures(struct search *s)
{
	uint8_t b[SECTOR_BYTES];

	for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
		for (unsigned unit = 1; unit <= (signatures[i].by_unit ? 8 : 1);
		     unit += 7) {
			uint64_t back = (uint64_t)signatures[i].back * unit;
			if (s->area.len >= back &&
			    look(s, s->area.len - back, b, sizeof b) &&
			    memcmp(b + signatures[i].at, signatures[i].magic,
				signatures[i].bytes) == 0)
				found_signature(s, i, b, s->area.len - back, unit);
		}
}

static void
find_promise(struct search *s)
{
	static const char magic[] = "Promise Technology, Inc.";
	char b[sizeof magic - 1];

	for (size_t i = 0; i < sizeof promise_back / sizeof promise_back[0]; i++)
		if (s->area.len >= promise_back[i] &&
		    look(s, s->area.len - promise_back[i], b, sizeof b) &&
		    memcmp(b, magic, sizeof b) == 0)
			add(s, TAIL_PROMISE, s->area.len - promise_back[i]);
}

static void
find_md(struct search *s)
{
	struct md md;

	if (md1_find(s->d, s->area, md1_place(s->area.len), &md) && md.at >= s->floor)
		add(s, TAIL_MD1, md.meta_from);
	if (md0_find(s->d, s->area, &md) && md.at >= s->floor)
		add(s, TAIL_MD0, md.meta_from);
}

static void
find_zfs(struct search *s)
{
	uint64_t end = s->area.len / ZFS_LABEL_SECTORS * ZFS_LABEL_SECTORS;
	uint8_t ring[ZFS_RING_SECTORS * SECTOR_BYTES];

	for (unsigned label = 1; label <= 2; label++) {
		uint64_t at = end - label * ZFS_LABEL_SECTORS;
		if (end < label * ZFS_LABEL_SECTORS ||
		    !look(s, at + ZFS_RING_SECTORS, ring, sizeof ring))
			continue;
		for (size_t slot = 0; slot < sizeof ring; slot += 1024) {
			struct rd r = rd_from(ring + slot, 8);
			uint64_t magic = rd_le64(&r);
			if (magic == ZFS_MAGIC ||
			    __builtin_bswap64(magic) == ZFS_MAGIC)
				add(s, TAIL_ZFS,
				    end >= 2 * ZFS_LABEL_SECTORS
					? end - 2 * ZFS_LABEL_SECTORS
					: at);
		}
	}
}

static void
find_drbd(struct search *s)
{
	uint64_t end = s->area.len / DRBD_BACK * DRBD_BACK;
	uint8_t b[SECTOR_BYTES];

	if (end < DRBD_BACK || !look(s, end - DRBD_BACK, b, sizeof b))
		return;
	struct rd r = at_byte(b, DRBD_MAGIC_AT);
	uint32_t magic = rd_be32(&r), sectors = rd_be32(&r);
	if (magic >= (uint32_t)DRBD_MAGIC_FIRST && magic <= (uint32_t)DRBD_MAGIC_LAST)
		add(s, TAIL_DRBD,
		    sectors > DRBD_BACK && sectors <= end ? end - sectors
							  : end - DRBD_BACK);
}

/* Find the database of LDM by the primary copy of its head, when the copy at the end is
 * gone. */
static void
find_ldm(struct search *s)
{
	struct search front = *s;
	uint8_t b[SECTOR_BYTES];

	front.floor = 0;
	if (!look(&front, LDM_PRIMARY_SECTOR, b, sizeof b) ||
	    memcmp(b, "PRIVHEAD", 8) != 0)
		return;
	uint64_t from = ldm_from(b, s->area.len);
	if (from >= s->floor && from < s->area.len)
		add(s, TAIL_LDM, from);
}

size_t
end_signature_find(struct disk *d, struct range area, uint64_t floor,
    struct end_signature found[END_SIGNATURES_MAX])
{
	struct search s = { .d = d, .area = area, .floor = floor, .found = found };

	find_md(&s);
	find_signatures(&s);
	find_promise(&s);
	find_ldm(&s);
	find_zfs(&s);
	find_drbd(&s);
	return s.n;
}

size_t
end_signature_find_behind(struct disk *d, struct range area, uint64_t from,
    struct end_signature found[END_SIGNATURES_MAX])
{
	struct search s = { .d = d,
		.area = area,
		.floor = from,
		.found = found,
		.n = end_signature_find(d, area, from, found) };
	struct md md;
	char b[8];

	for (uint64_t at = from; at - from < BEHIND_SECTORS && at < area.len; at++) {
		if (!look(&s, at, b, sizeof b))
			continue;
		if (memcmp(b, "verity\0\0", 8) == 0)
			add(&s, TAIL_VERITY, at);
		/* The disk was made larger, or its image was installed on a larger one. */
		if (at % MD1_ALIGN_SECTORS == 0 && md1_find(d, area, at, &md))
			add(&s, TAIL_MD1, md.meta_from);
	}
	return s.n;
}
