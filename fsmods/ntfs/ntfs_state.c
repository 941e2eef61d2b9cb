/* ntfs_state.c: may $Bitmap be believed?
 *
 * Not when the volume is marked dirty, when the log has something to replay, or
 * when the MFT and its mirror differ.  The log's two restart pages say: no
 * client has it open, or it was shut down cleanly.  A log of nothing but 0xff
 * was reset, as ntfs-3g and mkntfs leave it.
 *
 * Shadow copies are another matter.  What they hold of a cluster that was freed since,
 * and not written to again, is only in that free cluster.  Their header is in the last
 * sector of $Boot: a GUID, u32 version, u32 kind, u64 x 3, u64 place of the catalog,
 * or 0 (libvshadow's "Volume Shadow Snapshot (VSS) format").
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/ntfs/ntfs_impl.h"

enum {
	VOLUME_DIRTY = 0x0001,
	VOLUME_CHKDSK_RUNNING = 0x4000,
	LOG_HEAD_BYTES = 16384,
	LOG_PAGE_MIN = 512,
	LOG_PAGE_MAX = LOG_HEAD_BYTES / 2,
	LOG_MAJOR_MAX = 2,
	LOG_NO_CLIENT = 0xffff,
	LOG_WAS_CLOSED = 0x0002,
	MIRROR_RECORDS_MAX = 16,
	SHADOWS_AT = 0x1e00,
	SHADOWS_BYTES = 56,
	SHADOWS_CATALOG_AT = 48,
};

static int
check_volume(const struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	struct rd info;

	if (ntfs_record_read(v, NTFS_VOLUME, m, e) != 0)
		return -1;
	int rc = ntfs_record_value(m, NTFS_AT_VOLUME_INFORMATION, &info, e);
	if (rc != 1)
		return rc < 0 ? -1 : err_set(e, ERR_FORMAT, "$Volume says nothing");
	rd_skip(&info, 8);
	unsigned major = rd_u8(&info), minor = rd_u8(&info), flags = rd_le16(&info);
	if (!rd_ok(&info))
		return err_set(e, ERR_FORMAT, "$Volume is damaged");
	if (!(major == 1 && minor == 2) && !(major == 3 && minor <= 1))
		return err_set(e, ERR_UNSUPPORTED, "NTFS version %u.%u", major, minor);
	if (flags & VOLUME_DIRTY)
		return err_set(e, ERR_FORMAT, "the volume is marked dirty");
	if (flags & VOLUME_CHKDSK_RUNNING)
		return err_set(e, ERR_FORMAT, "chkdsk did not finish on it");
	return 0;
}

struct restart {
	uint64_t lsn;
	bool closed;
};

/* The restart page at the front of `page`, whose size it says itself. */
static int
restart_page(uint8_t *page, size_t *page_bytes, struct restart *out, struct err *e)
{
	struct rd r = rd_from(page, 32);

	rd_skip(&r, 16);
	uint32_t bytes = rd_le32(&r);
	rd_skip(&r, 4);
	uint16_t area_at = rd_le16(&r);
	rd_skip(&r, 2);
	uint16_t major = rd_le16(&r);
	if (bytes < LOG_PAGE_MIN || bytes > LOG_PAGE_MAX ||
	    (bytes & (bytes - 1)) != 0 || area_at >= bytes || major == 0 ||
	    major > LOG_MAJOR_MAX)
		return err_set(e, ERR_FORMAT, "a restart page is damaged");
	if (ntfs_fix_up(page, bytes, "RSTR", e) != 0)
		return -1;
	struct rd area = rd_from(page + area_at, bytes - area_at);
	out->lsn = rd_le64(&area);
	rd_skip(&area, 4);
	uint16_t in_use = rd_le16(&area), flags = rd_le16(&area);
	out->closed = in_use == LOG_NO_CLIENT || (flags & LOG_WAS_CLOSED) != 0;
	*page_bytes = bytes;
	return rd_ok(&area) ? 0 : err_set(e, ERR_FORMAT, "a restart page is damaged");
}

static bool
all_ff(const uint8_t *p, size_t n)
{
	return n > 0 && p[0] == 0xff && memcmp(p, p + 1, n - 1) == 0;
}

/* The newer of the two pages counts; both, when they are of one age. */
static int
log_is_closed(uint8_t *head, size_t n, struct err *e)
{
	struct restart first, second;
	size_t bytes, ignored;
	struct err unused;

	if (all_ff(head, n))
		return 0;
	if (n < LOG_HEAD_BYTES)
		return err_set(e, ERR_FORMAT, "the log is too short");
	if (restart_page(head, &bytes, &first, e) != 0)
		return -1;
	bool two = restart_page(head + bytes, &ignored, &second, &unused) == 0;
	bool closed = first.closed;
	if (two && second.lsn >= first.lsn)
		closed = second.closed && (closed || second.lsn > first.lsn);
	return closed ? 0 : err_set(e, ERR_FORMAT, "the log is to be replayed");
}

static int
check_log(const struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	struct ntfs_stream log = { 0 };
	uint8_t *head = malloc(LOG_HEAD_BYTES);
	int rc = head == NULL ? err_nomem(e, "the log")
	                      : ntfs_record_read(v, NTFS_LOG, m, e);

	if (rc == 0) {
		rc = ntfs_stream_open(v, m, NTFS_AT_DATA, "", &log, e);
		rc = rc == 1  ? 0
		     : rc < 0 ? -1
		              : err_set(e, ERR_FORMAT, "there is no log");
	}
	if (rc == 0) {
		size_t n = log.bytes < LOG_HEAD_BYTES ? (size_t)log.bytes
		                                      : LOG_HEAD_BYTES;
		rc = ntfs_stream_read(v, &log, head, n, 0, e);
		if (rc == 0)
			rc = log_is_closed(head, n, e);
		if (rc != 0 && e->kind != ERR_NOMEM)
			err_ctx(e, "$LogFile");
	}
	ntfs_stream_close(&log);
	free(head);
	return rc;
}

/* Are the bytes in use equal?  The fix-up arrays, which each copy has for
 * itself, are left out. */
static bool
same_record(const uint8_t *a, const uint8_t *b, size_t used)
{
	struct rd r = rd_from(a, used);

	rd_skip(&r, 4);
	size_t usa_at = rd_le16(&r), usa_end = usa_at + 2u * rd_le16(&r);
	return rd_ok(&r) && usa_end <= used && memcmp(a, b, usa_at) == 0 &&
	       memcmp(a + usa_end, b + usa_end, used - usa_end) == 0;
}

static int
compare_mirror(const struct ntfs *v, const struct ntfs_stream *mirror,
    struct ntfs_record *m, uint8_t *copy, struct err *e)
{
	uint64_t n = mirror->bytes / v->record_bytes;

	if (n < 4 || mirror->nruns == 0 || mirror->runs[0].lcn != v->mirror_lcn)
		return err_set(e, ERR_FORMAT, "it is not where the boot sector says");
	for (uint64_t i = 0; i < n && i < MIRROR_RECORDS_MAX; i++) {
		if (ntfs_record_read(v, i, m, e) != 0 ||
		    ntfs_stream_read(v, mirror, copy, v->record_bytes,
			i * v->record_bytes, e) != 0 ||
		    ntfs_fix_up(copy, v->record_bytes, "FILE", e) != 0)
			return -1;
		if (!same_record(m->bytes, copy, m->used_bytes))
			return err_set(
			    e, ERR_FORMAT, "record %" PRIu64 " differs from $MFT's", i);
	}
	return 0;
}

static int
check_mirror(const struct ntfs *v, struct ntfs_record *m, struct err *e)
{
	struct ntfs_stream mirror;
	uint8_t *copy = malloc(NTFS_RECORD_MAX);

	if (copy == NULL)
		return err_nomem(e, "a record");
	int rc = ntfs_record_read(v, NTFS_MIRROR, m, e);
	if (rc == 0) {
		rc = ntfs_stream_open(v, m, NTFS_AT_DATA, "", &mirror, e);
		if (rc >= 0)
			rc = rc == 1 ? compare_mirror(v, &mirror, m, copy, e)
			             : err_set(e, ERR_FORMAT, "it is missing");
		ntfs_stream_close(&mirror);
		if (rc < 0)
			err_ctx(e, "$MFTMirr");
	}
	free(copy);
	return rc;
}

int
ntfs_check_clean(const struct ntfs *v, struct err *e)
{
	struct ntfs_record *m = malloc(sizeof *m);
	int rc = m == NULL ? err_nomem(e, "a record") : 0;

	if (rc == 0)
		rc = check_volume(v, m, e);
	if (rc == 0)
		rc = check_log(v, m, e);
	if (rc == 0)
		rc = check_mirror(v, m, e);
	free(m);
	return rc;
}

int
ntfs_has_shadows(const struct ntfs *v, bool *has, struct err *e)
{
	static const uint8_t id[16] = { 0x6b, 0x87, 0x08, 0x38, 0x76, 0xc1, 0x48, 0x4e,
		0xb7, 0xae, 0x04, 0x04, 0x6e, 0x6c, 0xc7, 0x52 };
	uint8_t header[SHADOWS_BYTES];

	*has = false;
	if (v->sectors * SECTOR_BYTES < SHADOWS_AT + sizeof header)
		return 0;
	if (ntfs_read(v, header, sizeof header, SHADOWS_AT, e) != 0)
		return -1;
	struct rd catalog = rd_from(header + SHADOWS_CATALOG_AT, 8);
	*has = memcmp(header, id, sizeof id) == 0 && rd_le64(&catalog) != 0;
	return 0;
}
