/* lvm2_label.c: reads the label of a PV, and the newest text of its metadata areas.
 * lvm2.c calls this, in the thread that scans.
 *
 * The label is in one of the first four sectors. A metadata area is a header of 512 bytes
 * and a ring of texts; the header's first location says where the valid text is. Label,
 * headers and texts have a CRC-32 of one kind.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "fsmods/lvm2/lvm2_impl.h"

enum {
	LABEL_SECTORS = 4,
	LABEL_CRC_FROM = 20, /* bytes in front are not covered */
	HEADER_BYTES = 512,  /* of a metadata area */
	HEADER_VERSION = 1,
	TEXT_BYTES_MAX = 32 << 20, /* some 30000 volumes */
	LOCATION_IGNORED = 1,
};
#define CRC_START UINT32_C(0xf597a6cf)
static const char header_magic[16] = " LVM2 x[5A%r0N*>";

/* The CRC-32 of LVM: zlib complements before and after, LVM does not. */
static uint32_t
crc_of(const void *p, size_t n)
{
	return ~(uint32_t)crc32_z(~CRC_START, p, n);
}

/* Decode pairs of offset and size, which end with an offset of 0. */
static int
areas_decode(struct rd *r, struct range areas[], unsigned *n)
{
	*n = 0;
	for (;;) {
		struct range a = { .off = rd_le64(r) };
		a.len = rd_le64(r);
		if (!rd_ok(r))
			return -1;
		if (a.off == 0)
			return 0;
		if (*n == LVM_AREAS_MAX)
			return -1;
		areas[(*n)++] = a;
	}
}

static int
label_decode(const uint8_t *sector, unsigned number, struct lvm_pv *pv)
{
	struct rd r = rd_from(sector, SECTOR_BYTES);

	if (memcmp(sector, "LABELONE", 8) != 0)
		return 0;
	rd_skip(&r, 8);
	uint64_t at = rd_le64(&r);
	uint32_t crc = rd_le32(&r), header_at = rd_le32(&r);
	const void *type = rd_bytes(&r, 8);
	if (at != number || memcmp(type, "LVM2 001", 8) != 0 ||
	    crc != crc_of(sector + LABEL_CRC_FROM, SECTOR_BYTES - LABEL_CRC_FROM))
		return 0;
	r = rd_from(sector, SECTOR_BYTES);
	rd_skip(&r, header_at);
	rd_copy(&r, pv->uuid, sizeof pv->uuid);
	rd_skip(&r, 8); /* the size of the device */
	return areas_decode(&r, pv->data, &pv->ndata) == 0 &&
	       areas_decode(&r, pv->meta, &pv->nmeta) == 0;
}

int
lvm_label(struct disk *d, struct range part, struct lvm_pv *pv, struct err *e)
{
	uint8_t head[LABEL_SECTORS * SECTOR_BYTES];

	memset(pv, 0, sizeof *pv);
	if (part.len < LABEL_SECTORS)
		return 0;
	if (disk_read(d, head, sizeof head, part.off * SECTOR_BYTES, e) != 0)
		return -1;
	for (unsigned i = 0; i < LABEL_SECTORS; i++)
		if (label_decode(head + i * SECTOR_BYTES, i, pv) == 1)
			return 1;
	return 0;
}

struct location {
	uint64_t off, len; /* in the metadata area */
	uint32_t crc, flags;
};

/* Read the header of a metadata area, which says where the text is. */
static int
header_read(struct disk *d, struct range part, struct range area, struct location *l,
    struct err *e)
{
	uint8_t head[HEADER_BYTES];

	if (!range_within(area, part.len * SECTOR_BYTES) || area.len <= HEADER_BYTES)
		return err_set(
		    e, ERR_FORMAT, "a metadata area lies outside the partition");
	if (disk_read(d, head, sizeof head, part.off * SECTOR_BYTES + area.off, e) != 0)
		return -1;
	struct rd r = rd_from(head, sizeof head);
	uint32_t crc = rd_le32(&r);
	const void *magic = rd_bytes(&r, sizeof header_magic);
	uint32_t version = rd_le32(&r);
	uint64_t start = rd_le64(&r), bytes = rd_le64(&r);
	if (crc != crc_of(head + 4, sizeof head - 4) ||
	    memcmp(magic, header_magic, sizeof header_magic) != 0 ||
	    version != HEADER_VERSION || start != area.off || bytes != area.len)
		return err_set(
		    e, ERR_FORMAT, "the header of a metadata area is damaged");
	*l = (struct location){ .off = rd_le64(&r) };
	l->len = rd_le64(&r);
	l->crc = rd_le32(&r);
	l->flags = rd_le32(&r);
	if (l->off == 0 || (l->flags & LOCATION_IGNORED))
		return err_set(e, ERR_FORMAT, "no volume group is described on it");
	if (rd_le64(&r) != 0)
		return err_set(
		    e, ERR_FORMAT, "a change of its metadata was interrupted");
	if (l->off < HEADER_BYTES || l->off >= area.len || l->len == 0 ||
	    l->len > area.len - HEADER_BYTES)
		return err_set(
		    e, ERR_FORMAT, "the header of a metadata area is damaged");
	if (l->len > TEXT_BYTES_MAX)
		return err_set(e, ERR_UNSUPPORTED, "its metadata is very large");
	return 0;
}

/* Read the text. At the end of the ring it goes on behind the header. */
static int
text_read(struct disk *d, struct range part, struct range area,
    const struct location *l, char *text, struct err *e)
{
	uint64_t at = part.off * SECTOR_BYTES + area.off;
	size_t first = l->len < area.len - l->off ? (size_t)l->len
	                                          : (size_t)(area.len - l->off);

	if (disk_read(d, text, first, at + l->off, e) != 0 ||
	    disk_read(d, text + first, (size_t)l->len - first, at + HEADER_BYTES, e) !=
		0)
		return -1;
	if (crc_of(text, (size_t)l->len) != l->crc)
		return err_set(e, ERR_FORMAT, "the checksum of its metadata is wrong");
	return 0;
}

/* Find the volume group, which is the only section of the text. */
static int
find_group(struct lvm_text text, struct lvm_text *vg, uint64_t *seqno, struct err *e)
{
	struct lvm_text rest = text;
	struct lvm_item i;
	unsigned sections = 0;
	int rc;

	if (lvm_get(text, "contents", LVM_STRING, &i, e) != 0)
		return -1;
	bool known = lvm_text_is(i.text, "Text Format Volume Group");
	if (lvm_get(text, "version", LVM_NUMBER, &i, e) != 0)
		return -1;
	if (!known || i.number != 1)
		return err_set(
		    e, ERR_UNSUPPORTED, "its metadata is of an unknown version");
	while ((rc = lvm_next(&rest, &i, e)) == 1)
		if (i.kind == LVM_SECTION) {
			*vg = i.text;
			sections++;
		}
	if (rc < 0)
		return -1;
	if (sections != 1)
		return err_set(
		    e, ERR_FORMAT, "the metadata text has %u volume groups", sections);
	if (lvm_get(*vg, "seqno", LVM_NUMBER, &i, e) != 0)
		return -1;
	*seqno = i.number;
	return 0;
}

static int
area_read(struct disk *d, struct range part, struct range area, char **buf,
    struct lvm_text *vg, uint64_t *seqno, struct err *e)
{
	struct location l;

	*buf = NULL;
	if (header_read(d, part, area, &l, e) != 0)
		return -1;
	*buf = malloc((size_t)l.len);
	if (*buf == NULL)
		return err_nomem(e, "LVM's metadata");
	if (text_read(d, part, area, &l, *buf, e) == 0 &&
	    find_group((struct lvm_text){ *buf, strnlen(*buf, (size_t)l.len) }, vg,
		seqno, e) == 0)
		return 0;
	free(*buf);
	*buf = NULL;
	return -1;
}

int
lvm_metadata(struct disk *d, struct range part, const struct lvm_pv *pv, char **buf,
    struct lvm_text *vg, struct err *e)
{
	uint64_t newest = 0, seqno = 0;
	struct lvm_text found;
	char *text;

	*buf = NULL;
	if (pv->nmeta == 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "the metadata of its volume group is on other disks");
	for (unsigned i = 0; i < pv->nmeta; i++) {
		if (area_read(d, part, pv->meta[i], &text, &found, &seqno, e) != 0)
			continue;
		if (*buf == NULL || seqno > newest) {
			free(*buf);
			*buf = text;
			*vg = found;
			newest = seqno;
		} else {
			free(text);
		}
	}
	return *buf != NULL ? 0 : -1;
}
