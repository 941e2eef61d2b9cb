/* ntfs_record.c: records of the MFT, their fix-ups and attributes. */
#include <inttypes.h>
#include <string.h>

#include "fsmods/ntfs/ntfs_attr.h"

enum {
	ATTR_BYTES_MIN = 24,
	RECORD_IN_USE = 1,
	RECORD_HEADER_BYTES = 48,
};
#define ATTR_END UINT32_MAX

int
ntfs_fix_up(uint8_t *block, size_t bytes, const char magic[4], struct err *e)
{
	struct rd r = rd_from(block, bytes);

	if (bytes < NTFS_STRIDE || memcmp(block, magic, 4) != 0)
		return err_set(e, ERR_FORMAT, "no %.4s signature", magic);
	rd_skip(&r, 4);
	size_t at = rd_le16(&r), count = rd_le16(&r);
	struct rd usa = rd_from(block, NTFS_STRIDE - 2);
	rd_skip(&usa, at);
	uint16_t number = rd_le16(&usa);
	if (count != bytes / NTFS_STRIDE + 1 || !rd_can_hold(&usa, count - 1, 2))
		return err_set(e, ERR_FORMAT, "%.4s block: bad fix-up array", magic);
	for (size_t i = 1; i < count; i++) {
		uint8_t *tail = block + i * NTFS_STRIDE - 2;
		const uint8_t *saved = rd_bytes(&usa, 2);
		if (saved == NULL || tail[0] != (number & 0xff) ||
		    tail[1] != number >> 8)
			return err_set(e, ERR_FORMAT,
			    "%.4s block: torn, fix-up %zu is wrong", magic, i);
		memcpy(tail, saved, 2);
	}
	return 0;
}

static int
record_decode(const struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	if (ntfs_fix_up(m->bytes, v->record_bytes, "FILE", e) != 0)
		return -1;
	struct rd r = rd_from(m->bytes, v->record_bytes);
	rd_skip(&r, 16);
	m->sequence = rd_le16(&r);
	m->links = rd_le16(&r);
	uint16_t attrs_at = rd_le16(&r);
	m->flags = rd_le16(&r);
	m->used_bytes = rd_le32(&r);
	rd_skip(&r, 4);
	m->base = rd_le64(&r);
	if (!(m->flags & RECORD_IN_USE))
		return err_set(e, ERR_FORMAT, "not in use");
	if (attrs_at < RECORD_HEADER_BYTES - 6 || attrs_at > m->used_bytes ||
	    m->used_bytes > v->record_bytes)
		return err_set(e, ERR_FORMAT, "its header has impossible sizes");
	m->attrs = rd_from(m->bytes + attrs_at, m->used_bytes - attrs_at);
	return 0;
}

int
ntfs_record_read(
    const struct ntfs *v, uint64_t number, struct ntfs_record *m, struct err *e)
{
	m->number = number;
	if (number > UINT32_MAX)
		return err_set(
		    e, ERR_FORMAT, "record number %" PRIu64 " is impossible", number);
	if (ntfs_stream_read(v, &v->mft, m->bytes, v->record_bytes,
		number * v->record_bytes, e) != 0 ||
	    record_decode(v, m, e) != 0)
		return err_ctx(e, "record %" PRIu64, number);
	return 0;
}

/* n bytes at off of what `whole` was made from. */
struct rd
ntfs_slice(const struct rd *whole, size_t off, size_t n)
{
	struct rd r = rd_from(whole->base, whole->len);

	rd_skip(&r, off);
	return rd_sub(&r, n);
}

static int
attr_decode(struct rd body, struct ntfs_attr *a, struct err *e)
{
	struct rd r = body;

	a->type = rd_le32(&r);
	rd_skip(&r, 4);
	a->resident = rd_u8(&r) == 0;
	size_t name_chars = rd_u8(&r), name_at = rd_le16(&r);
	a->name = name_chars == 0 ? rd_from(body.base, 0)
	                          : ntfs_slice(&body, name_at, name_chars * 2);
	a->flags = rd_le16(&r);
	rd_skip(&r, 2);
	if (a->resident) {
		a->bytes = a->valid = rd_le32(&r);
		a->value = ntfs_slice(&body, rd_le16(&r), a->bytes);
	} else {
		a->first_vcn = rd_le64(&r);
		a->last_vcn = rd_le64(&r);
		size_t at = rd_le16(&r);
		rd_skip(&r, 6 + 8);
		a->bytes = rd_le64(&r);
		a->valid = rd_le64(&r);
		a->value = ntfs_slice(&body, at, at < body.len ? body.len - at : 0);
	}
	if (!rd_ok(&r) || !rd_ok(&a->name) || !rd_ok(&a->value))
		return err_set(e, ERR_FORMAT, "attribute 0x%x is damaged", a->type);
	return 1;
}

/* The next attribute: 1, 0 there is none, -1. */
static int
attr_next(struct rd *attrs, struct ntfs_attr *a, struct err *e)
{
	struct rd head = *attrs;

	*a = (struct ntfs_attr){ .type = rd_le32(&head) };
	if (rd_ok(&head) && a->type == ATTR_END)
		return 0;
	uint32_t bytes = rd_le32(&head);
	struct rd body = rd_sub(attrs, bytes);
	if (!rd_ok(&body) || bytes < ATTR_BYTES_MIN)
		return err_set(e, ERR_FORMAT, "the attributes do not end");
	return attr_decode(body, a, e);
}

bool
ntfs_name_is(struct rd name, const char *ascii)
{
	while (*ascii != '\0')
		if (rd_le16(&name) != (uint8_t)*ascii++)
			return false;
	return rd_done(&name);
}

/* The attribute of this type and name that starts at a vcn: 1, 0, -1. */
int
ntfs_attr_find(const struct ntfs_record *m, uint32_t type, const char *name,
    uint64_t vcn, struct ntfs_attr *a, struct err *e)
{
	struct rd attrs = m->attrs;
	int rc;

	while ((rc = attr_next(&attrs, a, e)) == 1)
		if (a->type == type && ntfs_name_is(a->name, name) &&
		    a->first_vcn == vcn)
			return 1;
	return rc == 0 ? 0 : err_ctx(e, "record %" PRIu64, m->number);
}

int
ntfs_record_value(
    const struct ntfs_record *m, uint32_t type, struct rd *value, struct err *e)
{
	struct ntfs_attr a;
	int rc = ntfs_attr_find(m, type, "", 0, &a, e);

	if (rc == 1 && !a.resident)
		return err_set(e, ERR_FORMAT,
		    "record %" PRIu64 ": attribute 0x%x is not resident", m->number,
		    type);
	*value = a.value;
	return rc;
}
