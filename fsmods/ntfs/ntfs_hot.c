/* ntfs_hot.c: names the sectors of NTFS that every use changes. ntfs_scan() calls this in the
 * child, which has one thread.
 *
 * A file that changes gets new times in its record of the MFT, so as much of the MFT as there is
 * room for comes last. $Volume is record 3 of it. */
#include "fsmods/ntfs/ntfs_impl.h" /* first: the library's headers need it */

#include "fsmods/fsmod.h"

/* The first bytes of these streams. */
static const struct hot_stream {
	unsigned record;
	ATTR_TYPES type;
	const char *name;
	uint64_t bytes;
} streams[] = {
	{ FILE_LogFile, AT_DATA, "", 8 << 10 }, /* both restart pages */
	{ FILE_MFT, AT_DATA, "", 64 << 10 },
	{ FILE_MFT, AT_BITMAP, "", 64 << 10 },
	{ FILE_root, AT_INDEX_ALLOCATION, "$I30", 256 << 10 },
	{ FILE_Bitmap, AT_DATA, "", 256 << 10 },
	{ FILE_MFT, AT_DATA, "", (uint64_t)FS_HOT_SECTORS * SECTOR_BYTES },
};

static int
hot_runs(const struct nt *v, const struct nt_stream *s, uint64_t bytes,
    struct skip_sink *sink, struct err *e)
{
	uint64_t each = v->boot.cluster_bytes / SECTOR_BYTES, left = bytes / SECTOR_BYTES;

	for (size_t i = 0; i < s->nruns && left > 0; i++) {
		const struct nt_run *r = &s->runs[i];
		uint64_t n = r->len < left / each + 1 ? r->len * each : left;
		n = n < left ? n : left;
		left -= n;
		if (r->lcn != NT_HOLE &&
		    skip_hot(sink, (struct range){ r->lcn * each, n }, e) != 0)
			return -1;
	}
	return 0;
}

static int
hot_stream(
    struct nt *v, const struct hot_stream *h, struct skip_sink *sink, struct err *e)
{
	struct nt_stream s;
	ntfs_inode *ni;

	if (nt_file(v, h->record, &ni, e) != 0)
		return -1;
	int rc = nt_stream_open(v, ni, h->type, h->name, &s, e);
	if (rc == 1)
		rc = hot_runs(v, &s, h->bytes, sink, e);
	nt_stream_close(&s);
	ntfs_inode_close(ni);
	return rc;
}

int
nt_hot(struct nt *v, struct skip_sink *sink, struct err *e)
{
	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
		if (hot_stream(v, &streams[i], sink, e) != 0)
			return -1;
	return 0;
}
