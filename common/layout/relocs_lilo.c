/* relocs_lilo.c: makes relocations for LILO in a captured partition. relocate.c calls
 * this in imagezip's first thread. LILO 21 has in the boot sector of a partition:
 *
 *	6	"LILO"
 *	10	u16 stage (1)
 *	24	addresses: two sectors with descriptors, the default command line
 *	40	u16 length of the message
 *	42	address of the message's first map sector
 *	47	address of the keyboard table
 *	52	addresses of the second stage, up to one that is none
 *
 * A descriptor has at 0 its name, at 36 and 41 the addresses of the first map sectors of
 * a RAM disk and of a kernel. Map sectors hold addresses. Later versions have another
 * layout, with the table's sum at another place.
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/image/format/lilo.h"
#include "common/layout/relocs.h"

enum {
	SIGNATURE_AT = 6,
	STAGE_AT = 10,
	TABLE_AT = 24, /* addresses of two tables, and of the command line */
	MESSAGE_BYTES_AT = 40,
	MESSAGE_AT = 42,
	KEYS_AT = 47,
	SECOND_AT = 52,
	SECOND_MAX = 16,
	DESCRIPTORS = 19,
	DESCRIPTOR_BYTES = 52,
	DESCRIPTORS_AT = 2,
	INITRD_AT = 36,
	KERNEL_AT = 41,
	MAPS_MAX = 4096, /* 200 MB of kernels */
};

struct walk {
	struct relocs *x;
	struct disk *d;
	struct range slice;
	uint64_t maps[2 * DESCRIPTORS + 1]; /* first sectors of maps that are to be followed */
	unsigned nmaps, maps_done;
};

static uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* Make an address relative to the partition; *sector: where it leads. */
static int
make_relative(const struct walk *w, uint8_t *address, uint64_t *sector, struct err *e)
{
	if (lilo_get(address, sector, e) != 0)
		return -1;
	if (*sector < w->slice.off || *sector - w->slice.off >= w->slice.len)
		return err_set(e, ERR_UNSUPPORTED,
		    "LILO refers to a sector outside the partition, %" PRIu64, *sector);
	*sector -= w->slice.off;
	return lilo_put(address, *sector, e);
}

/* Convert an address at byte `offset` of the image's sector `in`, which gets a relocation
 * of its own. 1: it leads to *to; 0: there is no address; -1. */
static int
one_address(const struct walk *w, uint8_t *address, uint64_t in, unsigned offset,
    uint64_t *to, struct err *e)
{
	if (lilo_is_none(address))
		return 0;
	if (make_relative(w, address, to, e) != 0 ||
	    relocs_add(
		w->x, NDZ_RELOC_LILO_ADDRESS, in, offset, LILO_ADDRESS_BYTES, e) != 0)
		return -1;
	return 1;
}

/* Convert the address of a map as one_address() does, and note the map, which is to be
 * followed. */
static int
map_address(
    struct walk *w, uint8_t *address, uint64_t in, unsigned offset, struct err *e)
{
	uint64_t to;
	int rc = one_address(w, address, in, offset, &to, e);

	if (rc == 1)
		w->maps[w->nmaps++] = to;
	return rc < 0 ? -1 : 0;
}

/* Convert one map sector; *next: the map sector behind it, 0 when it is the last. */
static int
map_sector(struct walk *w, uint64_t sector, uint64_t *next, struct err *e)
{
	uint8_t *p = relocs_patch(w->x, w->d, w->slice.off, sector, e);

	*next = 0;
	if (p == NULL)
		return -1;
	for (unsigned i = 0; i < LILO_MAP_ADDRESSES && !lilo_is_none(p); i++) {
		uint64_t to;
		if (make_relative(w, p, &to, e) != 0)
			return -1;
		if (i == LILO_MAP_ADDRESSES - 1)
			*next = to;
		p += LILO_ADDRESS_BYTES;
	}
	return relocs_add(w->x, NDZ_RELOC_LILO_MAP, sector, 0, SECTOR_BYTES, e);
}

static bool
seen_before(const struct walk *w, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (w->maps[k] == w->maps[i])
			return true;
	return false;
}

static int
follow_maps(struct walk *w, struct err *e)
{
	for (unsigned i = 0; i < w->nmaps; i++) {
		uint64_t at = w->maps[i];
		while (at != 0 && !seen_before(w, i)) {
			if (w->maps_done++ == MAPS_MAX)
				return err_set(
				    e, ERR_FORMAT, "LILO has too many map sectors");
			if (map_sector(w, at, &at, e) != 0)
				return -1;
		}
	}
	return 0;
}

/* Convert the addresses of all descriptors. The kernel's address in the tenth descriptor
 * begins at byte 511 and ends in the next sector. */
static int
descriptors(struct walk *w, uint8_t *table, uint64_t sector, struct err *e)
{
	for (unsigned i = 0; i < DESCRIPTORS; i++) {
		static const unsigned at[] = { INITRD_AT, KERNEL_AT };
		unsigned d = DESCRIPTORS_AT + i * DESCRIPTOR_BYTES;
		if (table[d] == '\0')
			continue;
		for (unsigned k = 0; k < 2; k++) {
			unsigned off = d + at[k];
			if (map_address(w, table + off, sector + off / SECTOR_BYTES,
				off % SECTOR_BYTES, e) != 0)
				return -1;
		}
	}
	return 0;
}

static int
table(struct walk *w, uint64_t sector, struct err *e)
{
	uint8_t bytes[LILO_TABLE_BYTES], *p;

	for (unsigned i = 0; i < 2; i++) {
		p = relocs_patch(w->x, w->d, w->slice.off, sector + i, e);
		if (p == NULL)
			return -1;
		memcpy(bytes + i * SECTOR_BYTES, p, SECTOR_BYTES);
	}
	if (get16(bytes) != lilo_sum(bytes))
		return err_set(e, ERR_UNSUPPORTED,
		    "LILO's table of descriptors has a wrong sum, or is of "
		    "another version");
	if (descriptors(w, bytes, sector, e) != 0)
		return -1;
	uint16_t sum = lilo_sum(bytes);
	bytes[0] = (uint8_t)sum;
	bytes[1] = (uint8_t)(sum >> 8);
	for (unsigned i = 0; i < 2; i++)
		memcpy(w->x->patches[w->x->npatches - 2 + i].bytes,
		    bytes + i * SECTOR_BYTES, SECTOR_BYTES);
	w->x->together = (struct range){ sector, 2 };
	return relocs_add(w->x, NDZ_RELOC_LILO_CHECKSUM,
	    sector + LILO_TABLE_END / SECTOR_BYTES, LILO_TABLE_END % SECTOR_BYTES, 2,
	    e);
}

static int
second_stage(struct walk *w, uint8_t *boot, struct err *e)
{
	uint64_t to;
	int rc = 1;

	for (unsigned i = 0; i < SECOND_MAX && rc == 1; i++) {
		unsigned at = SECOND_AT + i * LILO_ADDRESS_BYTES;
		rc = one_address(w, boot + at, 0, at, &to, e);
	}
	if (rc == 1)
		return err_set(
		    e, ERR_UNSUPPORTED, "LILO's list of its second stage has no end");
	return rc;
}

/* Convert the addresses in the boot sector, in place. */
static int
boot_sector(struct walk *w, uint8_t *boot, uint64_t *table_at, struct err *e)
{
	uint64_t to[3];

	for (unsigned i = 0; i < 3; i++) {
		unsigned at = TABLE_AT + i * LILO_ADDRESS_BYTES;
		int rc = one_address(w, boot + at, 0, at, &to[i], e);
		if (rc < 0)
			return -1;
		if (rc == 0 && i < 2)
			return err_set(e, ERR_UNSUPPORTED, "LILO has no descriptors");
	}
	if (to[1] != to[0] + 1)
		return err_set(
		    e, ERR_UNSUPPORTED, "LILO's map file is not in one piece");
	*table_at = to[0];
	if (get16(boot + MESSAGE_BYTES_AT) != 0 &&
	    map_address(w, boot + MESSAGE_AT, 0, MESSAGE_AT, e) != 0)
		return -1;
	if (one_address(w, boot + KEYS_AT, 0, KEYS_AT, &to[2], e) < 0)
		return -1;
	return second_stage(w, boot, e);
}

int
relocs_of_lilo(struct relocs *x, struct disk *d, struct range slice, struct err *e)
{
	struct walk w = { .x = x, .d = d, .slice = slice };
	uint64_t table_at = 0;
	uint8_t *boot = relocs_patch(x, d, slice.off, 0, e);

	if (boot == NULL)
		return -1;
	if (memcmp(boot + SIGNATURE_AT, "LILO", 4) != 0 ||
	    get16(boot + STAGE_AT) != 1) {
		relocs_free(x);
		return 0;
	}
	if (boot_sector(&w, boot, &table_at, e) != 0 || table(&w, table_at, e) != 0)
		return -1;
	return follow_maps(&w, e);
}
