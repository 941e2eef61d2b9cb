/* ntfs_meta.c: boot sector, records, attributes, run lists, streams. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/ntfs_impl.h"

enum {
	BOOT_BYTES = 512,
	ATTR_BYTES_MIN = 24,
	RECORD_IN_USE = 1,
	RECORD_HEADER_BYTES = 48,
	FIRST_RECORDS = 16,         /* read before the MFT's run list is known */
	LIST_BYTES_MAX = 256 << 10, /* as Windows has it */
};
#define ATTR_END UINT32_MAX
#define CLUSTERS_MAX UINT32_MAX     /* of a volume: Windows's limit */
#define VCN_MAX (UINT64_C(1) << 52) /* of a stream, holes and all */

struct attr {
	uint32_t type;
	bool resident;
	uint16_t flags;
	struct rd name;  /* UTF-16 */
	struct rd value; /* resident: the value; else the run list */
	uint64_t first_vcn, last_vcn;
	uint64_t bytes, valid;
};

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
static struct rd
slice(const struct rd *whole, size_t off, size_t n)
{
	struct rd r = rd_from(whole->base, whole->len);

	rd_skip(&r, off);
	return rd_sub(&r, n);
}

static int
attr_decode(struct rd body, struct attr *a, struct err *e)
{
	struct rd r = body;

	a->type = rd_le32(&r);
	rd_skip(&r, 4);
	a->resident = rd_u8(&r) == 0;
	size_t name_chars = rd_u8(&r), name_at = rd_le16(&r);
	a->name = name_chars == 0 ? rd_from(body.base, 0)
	                          : slice(&body, name_at, name_chars * 2);
	a->flags = rd_le16(&r);
	rd_skip(&r, 2);
	if (a->resident) {
		a->bytes = a->valid = rd_le32(&r);
		a->value = slice(&body, rd_le16(&r), a->bytes);
	} else {
		a->first_vcn = rd_le64(&r);
		a->last_vcn = rd_le64(&r);
		size_t at = rd_le16(&r);
		rd_skip(&r, 6 + 8);
		a->bytes = rd_le64(&r);
		a->valid = rd_le64(&r);
		a->value = slice(&body, at, at < body.len ? body.len - at : 0);
	}
	if (!rd_ok(&r) || !rd_ok(&a->name) || !rd_ok(&a->value))
		return err_set(e, ERR_FORMAT, "attribute 0x%x is damaged", a->type);
	return 1;
}

/* The next attribute: 1, 0 there is none, -1. */
static int
attr_next(struct rd *attrs, struct attr *a, struct err *e)
{
	struct rd head = *attrs;

	*a = (struct attr){ .type = rd_le32(&head) };
	if (rd_ok(&head) && a->type == ATTR_END)
		return 0;
	uint32_t bytes = rd_le32(&head);
	struct rd body = rd_sub(attrs, bytes);
	if (!rd_ok(&body) || bytes < ATTR_BYTES_MIN)
		return err_set(e, ERR_FORMAT, "the attributes do not end");
	return attr_decode(body, a, e);
}

static bool
name_is(struct rd name, const char *ascii)
{
	while (*ascii != '\0')
		if (rd_le16(&name) != (uint8_t)*ascii++)
			return false;
	return rd_done(&name);
}

/* The attribute of this type and name that starts at a vcn: 1, 0, -1. */
static int
attr_find(const struct ntfs_record *m, uint32_t type, const char *name, uint64_t vcn,
    struct attr *a, struct err *e)
{
	struct rd attrs = m->attrs;
	int rc;

	while ((rc = attr_next(&attrs, a, e)) == 1)
		if (a->type == type && name_is(a->name, name) && a->first_vcn == vcn)
			return 1;
	return rc == 0 ? 0 : err_ctx(e, "record %" PRIu64, m->number);
}

int
ntfs_record_value(
    const struct ntfs_record *m, uint32_t type, struct rd *value, struct err *e)
{
	struct attr a;
	int rc = attr_find(m, type, "", 0, &a, e);

	if (rc == 1 && !a.resident)
		return err_set(e, ERR_FORMAT,
		    "record %" PRIu64 ": attribute 0x%x is not resident", m->number,
		    type);
	*value = a.value;
	return rc;
}

static int
run_append(const struct ntfs *v, struct ntfs_stream *s, uint64_t lcn, uint64_t len,
    struct err *e)
{
	if (len == 0 || len > VCN_MAX || s->clusters > VCN_MAX - len)
		return err_set(e, ERR_FORMAT, "impossible length in a run list");
	if (lcn != NTFS_HOLE) {
		if (!range_within((struct range){ lcn, len }, v->clusters))
			return err_set(e, ERR_FORMAT, "a run list leaves the volume");
		s->allocated += len;
		if (s->allocated > v->clusters)
			return err_set(e, ERR_FORMAT,
			    "a run list has more clusters than the volume");
	}
	if (s->nruns == s->cap) {
		size_t cap = s->cap < 4 ? 4 : s->cap * 2;
		struct ntfs_run *runs = reallocarray(s->runs, cap, sizeof *runs);
		if (runs == NULL)
			return err_nomem(e, "a run list");
		s->runs = runs;
		s->cap = cap;
	}
	s->runs[s->nruns++] = (struct ntfs_run){ s->clusters, lcn, len };
	s->clusters += len;
	return 0;
}

/* n bytes, little endian, with a sign. */
static int64_t
signed_le(struct rd *r, unsigned n)
{
	uint64_t x = 0;
	uint8_t byte = 0;

	for (unsigned i = 0; i < n; i++) {
		byte = rd_u8(r);
		x |= (uint64_t)byte << 8 * i;
	}
	if (n < 8 && (byte & 0x80))
		x |= UINT64_MAX << 8 * n;
	return (int64_t)x;
}

/* Pairs of length and distance from the last place; no distance: a hole. */
static int
runs_decode(
    const struct ntfs *v, const struct attr *a, struct ntfs_stream *s, struct err *e)
{
	struct rd r = a->value;
	uint64_t lcn = 0;
	uint8_t sizes;

	while ((sizes = rd_u8(&r)) != 0) {
		unsigned len_bytes = sizes & 15, lcn_bytes = sizes >> 4;
		if (len_bytes == 0 || len_bytes > 8 || lcn_bytes > 8)
			return err_set(e, ERR_FORMAT, "a run list is damaged");
		int64_t len = signed_le(&r, len_bytes);
		lcn += (uint64_t)signed_le(&r, lcn_bytes);
		if (!rd_ok(&r) || len <= 0)
			return err_set(e, ERR_FORMAT, "a run list is damaged");
		if (run_append(
			v, s, lcn_bytes == 0 ? NTFS_HOLE : lcn, (uint64_t)len, e) != 0)
			return -1;
	}
	if (!rd_ok(&r) || s->clusters != a->last_vcn + 1)
		return err_set(
		    e, ERR_FORMAT, "a run list does not end where it should");
	return 0;
}

/* One attribute, or one part of it, into the stream. */
static int
stream_add(
    const struct ntfs *v, const struct attr *a, struct ntfs_stream *s, struct err *e)
{
	if (!a->resident && a->first_vcn != 0)
		return runs_decode(v, a, s, e);
	s->flags = a->flags;
	s->resident = a->resident;
	s->bytes = a->bytes;
	s->valid = a->valid;
	if (!a->resident) {
		if (s->bytes > VCN_MAX * 512 || s->valid > s->bytes)
			return err_set(e, ERR_FORMAT, "impossible sizes of a stream");
		return runs_decode(v, a, s, e);
	}
	struct rd value = a->value;
	s->data = malloc(s->bytes > 0 ? s->bytes : 1);
	if (s->data == NULL)
		return err_nomem(e, "an attribute");
	rd_copy(&value, s->data, s->bytes);
	return 0;
}

struct list_entry {
	uint32_t type;
	struct rd name;
	uint64_t vcn, ref;
};

/* 1, 0 at the end, -1. */
static int
list_next(struct rd *list, struct list_entry *l, struct err *e)
{
	struct rd head = *list;

	if (rd_left(list) == 0)
		return 0;
	l->type = rd_le32(&head);
	struct rd body = rd_sub(list, rd_le16(&head));
	size_t name_chars = rd_u8(&head), name_at = rd_u8(&head);
	l->vcn = rd_le64(&head);
	l->ref = rd_le64(&head);
	l->name = name_chars == 0 ? rd_from(NULL, 0)
	                          : slice(&body, name_at, name_chars * 2);
	if (!rd_ok(&head) || !rd_ok(&body) || body.len < 24 || !rd_ok(&l->name))
		return err_set(e, ERR_FORMAT, "an attribute list is damaged");
	return 1;
}

/* The part of an attribute that a list's entry points to.  Parts come in the
 * order of their vcns, so a list that goes in circles ends at once. */
static int
add_listed(const struct ntfs *v, const struct ntfs_record *base,
    const struct list_entry *l, const char *name, struct ntfs_record *other,
    struct ntfs_stream *s, struct err *e)
{
	const struct ntfs_record *m = base;
	struct ntfs now = *v;
	struct attr a;

	/* Later parts of the MFT are described in records of its earlier parts. */
	if (base->number == NTFS_MFT && l->type == NTFS_AT_DATA && s->clusters > 0)
		now.mft = *s;
	if (l->vcn != s->clusters)
		return err_set(e, ERR_FORMAT, "an attribute list is out of order");
	if (NTFS_REF_RECORD(l->ref) != base->number) {
		if (ntfs_record_read(&now, NTFS_REF_RECORD(l->ref), other, e) != 0)
			return -1;
		if (NTFS_REF_RECORD(other->base) != base->number || other->base == 0)
			return err_set(e, ERR_FORMAT,
			    "record %" PRIu64 " is another file's", other->number);
		m = other;
	}
	if (m->sequence != NTFS_REF_SEQUENCE(l->ref))
		return err_set(e, ERR_FORMAT, "an attribute list is stale");
	int rc = attr_find(m, l->type, name, l->vcn, &a, e);
	if (rc == 0)
		return err_set(
		    e, ERR_FORMAT, "an attribute list names what is not there");
	return rc < 0 ? -1 : stream_add(v, &a, s, e);
}

/* All parts of an attribute, in the order of the list: 1, 0, -1. */
static int
open_listed(const struct ntfs *v, const struct ntfs_record *base, struct rd list,
    uint32_t type, const char *name, struct ntfs_stream *s, struct err *e)
{
	struct ntfs_record *other = malloc(sizeof *other);
	struct list_entry l;
	int rc, found = 0;

	if (other == NULL)
		return err_nomem(e, "a record");
	while ((rc = list_next(&list, &l, e)) == 1) {
		if (l.type != type || !name_is(l.name, name))
			continue;
		/* A resident attribute, or an empty one, has one part only. */
		if (found && s->clusters == 0)
			rc = err_set(
			    e, ERR_FORMAT, "an attribute list names something twice");
		else
			rc = add_listed(v, base, &l, name, other, s, e);
		if (rc != 0)
			break;
		found = 1;
	}
	free(other);
	return rc < 0 ? -1 : found;
}

/* The attribute list itself is in the base record, its value perhaps not. */
static int
read_list(const struct ntfs *v, const struct attr *a, uint8_t **list, size_t *bytes,
    struct err *e)
{
	struct ntfs_stream s = { 0 };
	int rc = stream_add(v, a, &s, e);

	*list = NULL;
	if (rc == 0 && s.bytes > LIST_BYTES_MAX)
		rc = err_set(
		    e, ERR_FORMAT, "an attribute list of %" PRIu64 " bytes", s.bytes);
	if (rc == 0) {
		*bytes = s.bytes;
		*list = malloc(s.bytes > 0 ? s.bytes : 1);
		rc = *list == NULL ? err_nomem(e, "an attribute list")
		                   : ntfs_stream_read(v, &s, *list, s.bytes, 0, e);
	}
	ntfs_stream_close(&s);
	return rc;
}

static int
check_stream(const struct ntfs *v, const struct ntfs_stream *s, struct err *e)
{
	uint64_t whole = s->bytes / v->cluster_bytes,
		 rest = s->bytes % v->cluster_bytes;

	if (!s->resident && s->clusters < whole + (rest != 0))
		return err_set(e, ERR_FORMAT, "a run list is shorter than the stream");
	return 1;
}

int
ntfs_stream_open(const struct ntfs *v, const struct ntfs_record *base, uint32_t type,
    const char *name, struct ntfs_stream *s, struct err *e)
{
	struct attr a;
	uint8_t *list;
	size_t bytes;

	*s = (struct ntfs_stream){ 0 };
	int rc = attr_find(base, NTFS_AT_LIST, "", 0, &a, e);
	if (rc == 1) {
		rc = read_list(v, &a, &list, &bytes, e);
		if (rc == 0)
			rc = open_listed(
			    v, base, rd_from(list, bytes), type, name, s, e);
		free(list);
	} else if (rc == 0) {
		rc = attr_find(base, type, name, 0, &a, e);
		if (rc == 1 && stream_add(v, &a, s, e) != 0)
			rc = -1;
	}
	if (rc == 1)
		rc = check_stream(v, s, e);
	return rc < 0 ? err_ctx(e, "record %" PRIu64, base->number) : rc;
}

void
ntfs_stream_close(struct ntfs_stream *s)
{
	free(s->data);
	free(s->runs);
	*s = (struct ntfs_stream){ 0 };
}

static const struct ntfs_run *
run_at(const struct ntfs_stream *s, uint64_t vcn)
{
	size_t lo = 0, hi = s->nruns;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->runs[mid].vcn <= vcn)
			lo = mid;
		else
			hi = mid;
	}
	return &s->runs[lo];
}

int
ntfs_stream_read(const struct ntfs *v, const struct ntfs_stream *s, void *buf,
    size_t len, uint64_t off, struct err *e)
{
	uint8_t *to = buf;

	if (!range_within((struct range){ off, len }, s->bytes))
		return err_set(e, ERR_FORMAT, "a stream is too short");
	if (s->flags != 0)
		return err_set(
		    e, ERR_UNSUPPORTED, "metadata is compressed, encrypted or sparse");
	if (s->resident) {
		memcpy(buf, s->data + off, len);
		return 0;
	}
	while (len > 0) {
		uint64_t vcn = off / v->cluster_bytes;
		if (vcn >= s->clusters)
			return err_set(
			    e, ERR_FORMAT, "a run list is shorter than the stream");
		const struct ntfs_run *r = run_at(s, vcn);
		uint64_t into = off - r->vcn * v->cluster_bytes,
			 left = r->len * v->cluster_bytes - into;
		size_t n = left < len ? (size_t)left : len;
		if (off >= s->valid)
			memset(to, 0, n);
		else if (r->lcn == NTFS_HOLE)
			return err_set(e, ERR_FORMAT, "metadata has a hole");
		else if (ntfs_read(v, to, n, r->lcn * v->cluster_bytes + into, e) != 0)
			return -1;
		if (off < s->valid && n > s->valid - off)
			memset(to + (s->valid - off), 0, n - (s->valid - off));
		to += n;
		off += n;
		len -= n;
	}
	return 0;
}

int
ntfs_stream_clusters(
    const struct ntfs_stream *s, struct rangeset *clusters, struct err *e)
{
	for (size_t i = 0; i < s->nruns; i++) {
		const struct ntfs_run *r = &s->runs[i];
		if (r->lcn != NTFS_HOLE &&
		    rangeset_add(clusters, (struct range){ r->lcn, r->len }, e) != 0)
			return -1;
	}
	return 0;
}

/* Record 0 describes the MFT and so itself; at first only its place is known. */
static int
bootstrap(struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	uint64_t bytes = (uint64_t)FIRST_RECORDS * v->record_bytes;
	uint64_t n = (bytes + v->cluster_bytes - 1) / v->cluster_bytes;

	v->mft = (struct ntfs_stream){ .bytes = bytes, .valid = bytes };
	if (run_append(v, &v->mft, v->mft_lcn, n, e) != 0 ||
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
