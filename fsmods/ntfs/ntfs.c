/* ntfs.c: NTFS, which libntfs-3g reads in a confined child (ntfs_impl.h). fsmods.c calls
 * its probe in the first thread of imagezip, and relay.c its scan, in a confined child
 * process.
 *
 * Skipped: clusters that $Bitmap calls free, the data of pagefile.sys and swapfile.sys,
 * bad clusters, and hiberfil.sys, of which the first 4 KiB become zeros, so that Windows
 * does not resume from it. What lies behind the last whole cluster is kept: the backup
 * boot sector is there.
 * Shadow copies are not preserved; the user is warned.
 * Stored completely: a volume that is dirty (ntfs_state.c) or hibernated, which is also
 * reported, and one whose $Bitmap calls free what its own files occupy.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"
#include "fsmods/fsmod.h"
#include "fsmods/ntfs/ntfs_impl.h"

enum {
	BITMAP_PIECE_BYTES = 1 << 20,
	HIBER_HEADER_BYTES = 4096,
	HIBER_HEADER_SECTORS = HIBER_HEADER_BYTES / SECTOR_BYTES,
};

/* Everything that is found, collected before any of it goes to the sink. */
struct findings {
	struct rangeset free, own, skip; /* clusters */
	struct rangeset zero;            /* sectors */
};

/* NTFS's own streams: $Bitmap must not call any of their clusters free. */
static const struct own_stream {
	unsigned record;
	ATTR_TYPES type;
	const char *name;
} own_streams[] = {
	{ FILE_MFT, AT_DATA, "" },
	{ FILE_MFT, AT_BITMAP, "" },
	{ FILE_MFTMirr, AT_DATA, "" },
	{ FILE_LogFile, AT_DATA, "" },
	{ FILE_AttrDef, AT_DATA, "" },
	{ FILE_root, AT_INDEX_ALLOCATION, "$I30" },
	{ FILE_Bitmap, AT_DATA, "" },
	{ FILE_Boot, AT_DATA, "" },
	{ FILE_Secure, AT_DATA, "$SDS" },
	{ FILE_Secure, AT_INDEX_ALLOCATION, "$SDH" },
	{ FILE_Secure, AT_INDEX_ALLOCATION, "$SII" },
	{ FILE_UpCase, AT_DATA, "" },
};

/* Add the clusters of a stream of one of NTFS's own files, if it has this stream. */
static int
add_clusters(struct nt *v, unsigned record, ATTR_TYPES type, const char *name,
    struct rangeset *set, struct err *e)
{
	struct nt_stream s;
	ntfs_inode *ni;

	if (nt_file(v, record, &ni, e) != 0)
		return -1;
	int rc = nt_stream_open(v, ni, type, name, &s, e);
	if (rc == 1)
		rc = nt_stream_clusters(&s, set, e);
	nt_stream_close(&s);
	ntfs_inode_close(ni);
	return rc;
}

static int
find_own(struct nt *v, struct findings *f, struct err *e)
{
	for (size_t i = 0; i < sizeof own_streams / sizeof own_streams[0]; i++) {
		const struct own_stream *o = &own_streams[i];
		if (add_clusters(v, o->record, o->type, o->name, &f->own, e) != 0)
			return -1;
	}
	return 0;
}

/* Add the runs of clear bits of one piece; `first` is the cluster of its first bit. */
static int
add_clear_bits(const uint8_t *bits, uint64_t first, uint64_t n,
    struct rangeset *free_clusters, struct err *e)
{
	uint64_t start = 0, i = 0;
	bool in_run = false;

	while (i < n) {
		uint8_t byte = bits[i / 8];
		if (i % 8 == 0 && n - i >= 8 && byte == (in_run ? 0x00 : 0xff)) {
			i += 8;
			continue;
		}
		bool clear = !(byte >> i % 8 & 1);
		if (clear && !in_run)
			start = i;
		if (!clear && in_run &&
		    rangeset_add(free_clusters,
			(struct range){ first + start, i - start }, e) != 0)
			return -1;
		in_run = clear;
		i++;
	}
	return in_run ? rangeset_add(free_clusters,
			    (struct range){ first + start, n - start }, e)
	              : 0;
}

static int
read_bitmap(struct nt *v, const struct nt_stream *s, struct findings *f, struct err *e)
{
	uint64_t clusters = v->boot.clusters, bytes = (clusters + 7) / 8;
	uint8_t *piece = malloc(BITMAP_PIECE_BYTES);
	int rc = piece == NULL ? err_nomem(e, "$Bitmap") : 0;

	for (uint64_t at = 0; rc == 0 && at < bytes; at += BITMAP_PIECE_BYTES) {
		size_t n = bytes - at < BITMAP_PIECE_BYTES ? (size_t)(bytes - at)
		                                           : BITMAP_PIECE_BYTES;
		uint64_t left = clusters - at * 8;
		rc = nt_stream_read(v, s, piece, n, at, e);
		if (rc == 0)
			rc = add_clear_bits(
			    piece, at * 8, left < n * 8 ? left : n * 8, &f->free, e);
	}
	free(piece);
	return rc < 0 && e->kind != ERR_NOMEM ? err_ctx(e, "$Bitmap") : rc;
}

static int
find_free(struct nt *v, struct findings *f, struct err *e)
{
	struct nt_stream s;
	ntfs_inode *ni;

	if (nt_file(v, FILE_Bitmap, &ni, e) != 0)
		return -1;
	int rc = nt_stream_open(v, ni, AT_DATA, "", &s, e);
	if (rc >= 0)
		rc = rc == 1 ? read_bitmap(v, &s, f, e)
		             : err_set(e, ERR_FORMAT, "there is no $Bitmap");
	nt_stream_close(&s);
	ntfs_inode_close(ni);
	return rc;
}

/* Fails unless hiberfil.sys begins with zeros or "wake": such a file belongs to a system
 * that runs or was shut down. With any other header somebody may want to resume. */
static int
check_hibernation(struct nt *v, const struct nt_stream *s, struct err *e)
{
	uint8_t head[HIBER_HEADER_BYTES] = { 0 };

	nt_ask(v);
	if (ntfs_attr_pread(s->attr, 0, sizeof head, head) < 0)
		return nt_fail(v, e, "hiberfil.sys");
	if (is_zero(head, sizeof head) || memcmp(head, "wake", 4) == 0 ||
	    memcmp(head, "WAKE", 4) == 0)
		return 0;
	return err_set(
	    e, ERR_REFUSED, "Windows is hibernated, or was shut down for a fast start");
}

/* Skip all of hiberfil.sys; the sectors of its header become zeros. */
static int
add_hiberfil(const struct nt *v, const struct nt_stream *s, struct findings *f,
    struct err *e)
{
	uint64_t each = v->boot.cluster_bytes / SECTOR_BYTES;

	for (size_t i = 0; i < s->nruns && s->runs[i].vcn * each < HIBER_HEADER_SECTORS;
	     i++) {
		const struct nt_run *r = &s->runs[i];
		uint64_t left = HIBER_HEADER_SECTORS - r->vcn * each;
		uint64_t n = r->len < left / each + 1 ? r->len * each : left;
		if (r->lcn != NT_HOLE &&
		    rangeset_add(&f->zero,
			(struct range){ r->lcn * each, n < left ? n : left }, e) != 0)
			return -1;
	}
	return nt_stream_clusters(s, &f->skip, e);
}

/* Skip the data of one of the special files, which is useless on another machine. */
static int
add_special(struct nt *v, enum nt_special which, ntfs_inode *ni, struct findings *f,
    struct err *e)
{
	struct nt_stream s;
	int rc = nt_stream_open(v, ni, AT_DATA, "", &s, e);

	if (rc == 1) {
		rc = which == NT_HIBERFIL ? check_hibernation(v, &s, e) : 0;
		if (rc == 0 && le16_to_cpu(ni->mrec->link_count) == 1 &&
		    nt_stream_plain(&s))
			rc = which == NT_HIBERFIL
			         ? add_hiberfil(v, &s, f, e)
			         : nt_stream_clusters(&s, &f->skip, e);
	}
	nt_stream_close(&s);
	return rc;
}

static int
find_special(struct nt *v, struct findings *f, struct err *e)
{
	struct nt_found found[NT_SPECIALS];
	ntfs_inode *ni;

	if (nt_root_find(v, found, e) != 0)
		return -1;
	for (unsigned i = 0; i < NT_SPECIALS; i++) {
		if (found[i].n == 0)
			continue;
		if (found[i].n > 1)
			return err_set(e, ERR_FORMAT,
			    "two files have the name of one of Windows's own");
		if (nt_file(v, found[i].ref, &ni, e) != 0)
			return -1;
		int rc = add_special(v, i, ni, f, e);
		ntfs_inode_close(ni);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Fails when a cluster of a is in b. */
static int
check_disjoint(const struct rangeset *a, const struct rangeset *b, const char *what,
    struct err *e)
{
	struct rangeset both;

	rangeset_init(&both);
	int rc = rangeset_union(&both, a, e);
	if (rc == 0)
		rc = rangeset_intersect(&both, b, e);
	if (rc == 0 && rangeset_count(&both) > 0)
		rc = err_set(e, ERR_FORMAT, "cluster %" PRIu64 " is %s",
		    rangeset_get(&both, 0).off, what);
	rangeset_free(&both);
	return rc;
}

static int
find_all(struct nt *v, struct findings *f, struct err *e)
{
	if (find_own(v, f, e) != 0 ||
	    add_clusters(v, FILE_BadClus, AT_DATA, "$Bad", &f->skip, e) != 0 ||
	    find_special(v, f, e) != 0 || find_free(v, f, e) != 0)
		return -1;
	rangeset_seal(&f->free);
	rangeset_seal(&f->own);
	rangeset_seal(&f->skip);
	rangeset_seal(&f->zero);
	if (check_disjoint(&f->own, &f->free, "metadata and, says $Bitmap, free", e) !=
		0 ||
	    check_disjoint(&f->skip, &f->free, "a file's and, says $Bitmap, free", e) !=
		0)
		return -1;
	return check_disjoint(&f->skip, &f->own, "a file's and metadata", e);
}

static struct range
sectors_of(const struct nt *v, struct range clusters)
{
	uint64_t each = v->boot.cluster_bytes / SECTOR_BYTES;

	return (struct range){ clusters.off * each, clusters.len * each };
}

/* Report everything. Free and skipped clusters lie side by side, so they make fewer
 * ranges in one set. */
static int
report(const struct nt *v, struct findings *f, struct skip_sink *sink, struct err *e)
{
	if (rangeset_union(&f->free, &f->skip, e) != 0)
		return -1;
	for (size_t i = 0; i < rangeset_count(&f->free); i++)
		if (skip_add(sink, sectors_of(v, rangeset_get(&f->free, i)), e) != 0)
			return -1;
	for (size_t i = 0; i < rangeset_count(&f->zero); i++)
		if (skip_zero(sink, rangeset_get(&f->zero, i), e) != 0)
			return -1;
	return 0;
}

/* Report the end of the volume, behind its backup boot sector, if that is where it should
 * be. */
static int
find_end(const struct nt *v, struct skip_sink *sink, struct err *e)
{
	uint8_t boot[SECTOR_BYTES];

	if (v->boot.sectors >= v->part.len)
		return 0;
	if (disk_read(v->disk, boot, sizeof boot,
		(v->part.off + v->boot.sectors) * SECTOR_BYTES, e) != 0)
		return -1;
	/* A sector of the volume has 4 KiB at most. */
	if (memcmp(boot + 3, "NTFS    ", 8) == 0)
		skip_fs_end(sink, v->boot.sectors + 4096 / SECTOR_BYTES);
	return 0;
}

/* Warn of shadow copies. Windows makes them from free clusters, too, and they are not
 * files; to preserve them, every capture of a Windows disk would have to store all of it. */
static int
warn_of_shadows(const struct nt *v, struct skip_sink *sink, struct err *e)
{
	bool has;

	if (nt_has_shadows(v, &has, e) != 0)
		return -1;
	if (has)
		skip_warn(sink,
		    "has shadow copies (restore points), which need clusters that are "
		    "free and not stored, so they will be damaged on the target");
	return 0;
}

/* Report a hibernated Windows, whatever else is wrong with the volume. */
static void
note_suspended(struct nt *v, struct skip_sink *sink)
{
	struct nt_found found[NT_SPECIALS];
	struct nt_stream s;
	ntfs_inode *ni;
	struct err why;

	if (nt_root_find(v, found, &why) != 0 || found[NT_HIBERFIL].n != 1 ||
	    nt_file(v, found[NT_HIBERFIL].ref, &ni, &why) != 0)
		return;
	if (nt_stream_open(v, ni, AT_DATA, "", &s, &why) == 1 &&
	    check_hibernation(v, &s, &why) != 0 && why.kind == ERR_REFUSED)
		skip_suspended(sink);
	nt_stream_close(&s);
	ntfs_inode_close(ni);
}

static int
ntfs_probe(struct disk *d, struct range part, struct err *e)
{
	struct nt_boot b;

	return nt_boot(&b, d, part, e);
}

/* Check an open volume, collect what may be skipped, and report it. */
static int
scan_open(struct nt *v, struct skip_sink *sink, struct err *e)
{
	struct findings f;

	memset(&f, 0, sizeof f);
	note_suspended(v, sink);
	int rc = nt_check_clean(v, e);
	if (rc == 0)
		rc = find_all(v, &f, e);
	if (rc == 0)
		rc = nt_check_calm(v, e);
	if (rc == 0)
		rc = report(v, &f, sink, e);
	if (rc == 0)
		rc = nt_hot(v, sink, e);
	if (rc == 0)
		rc = find_end(v, sink, e);
	if (rc == 0)
		rc = warn_of_shadows(v, sink, e);
	rangeset_free(&f.free);
	rangeset_free(&f.own);
	rangeset_free(&f.skip);
	rangeset_free(&f.zero);
	return rc;
}

static int
ntfs_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	struct nt v = { .disk = d, .part = part };
	int rc = nt_boot(&v.boot, d, part, e);

	if (rc != 1)
		return rc < 0 ? -1 : err_set(e, ERR_FORMAT, "not NTFS");
	rc = nt_open(&v, e);
	if (rc == 0)
		rc = scan_open(&v, sink, e);
	nt_close(&v);
	return rc;
}

const struct fsmod fsmod_ntfs = {
	.name = "ntfs",
	.title = "NTFS",
	.confined = true,
	.probe = ntfs_probe,
	.scan = ntfs_scan,
};
