/* ntfs_stream.c: opens attributes of NTFS as streams, which say where their data is, and
 * reads them. ntfs.c and ntfs_state.c call this, in the child, which has one thread.
 *
 * The library decodes each part of a run list. The parts are put together here, because
 * the library would take a time that grows with the square of their number, and a
 * pagefile can have thousands.
 */
#include "fsmods/ntfs/ntfs_impl.h" /* first: the library's headers need it */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <ntfs-3g/runlist.h>

#define VCN_MAX (UINT64_C(1) << 52) /* of a stream, holes and all */
enum { NAME_MAX_CHARS = 8 };

/* Append a run of clusters to a stream. */
static int
append(const struct nt *v, struct nt_stream *s, uint64_t lcn, uint64_t len, struct err *e)
{
	if (len == 0 || len > VCN_MAX || s->clusters > VCN_MAX - len)
		return err_set(e, ERR_FORMAT, "impossible length in a run list");
	if (lcn != NT_HOLE) {
		if (!range_within((struct range){ lcn, len }, v->boot.clusters))
			return err_set(e, ERR_FORMAT, "a run list leaves the volume");
		s->allocated += len;
		if (s->allocated > v->boot.clusters)
			return err_set(e, ERR_FORMAT,
			    "a run list has more clusters than the volume");
	}
	if (s->nruns == s->cap) {
		size_t cap = s->cap < 4 ? 4 : s->cap * 2;
		struct nt_run *runs = reallocarray(s->runs, cap, sizeof *runs);
		if (runs == NULL)
			return err_nomem(e, "a run list");
		s->runs = runs;
		s->cap = cap;
	}
	s->runs[s->nruns++] = (struct nt_run){ s->clusters, lcn, len };
	s->clusters += len;
	return 0;
}

/* Append one part as the library decodes it: an element of length 0 ends the part, and
 * elements with negative places other than LCN_HOLE stand for other parts. */
static int
append_part(const struct nt *v, const runlist_element *rl, struct nt_stream *s,
    struct err *e)
{
	for (; rl->length != 0; rl++) {
		if (rl->lcn < 0 && rl->lcn != LCN_HOLE)
			continue;
		if (rl->length < 0 || rl->vcn < 0 || (uint64_t)rl->vcn != s->clusters)
			return err_set(e, ERR_FORMAT, "a run list is out of order");
		if (append(v, s, rl->lcn == LCN_HOLE ? NT_HOLE : (uint64_t)rl->lcn,
			(uint64_t)rl->length, e) != 0)
			return -1;
	}
	return 0;
}

static int
decode_part(struct nt *v, const ATTR_RECORD *a, struct nt_stream *s, struct err *e)
{
	nt_ask(v);
	runlist_element *rl = ntfs_mapping_pairs_decompress(v->vol, a, NULL);
	if (rl == NULL)
		return nt_fail(v, e, "a run list");
	int rc = append_part(v, rl, s, e);
	free(rl);
	if (rc == 0 && s->clusters != (uint64_t)sle64_to_cpu(a->highest_vcn) + 1)
		rc = err_set(
		    e, ERR_FORMAT, "a run list does not end where it should");
	return rc;
}

/* Decode all parts; each must begin where the part before it ends. The first part says
 * how many clusters there are in all. */
static int
decode_parts(struct nt *v, ntfs_attr_search_ctx *ctx, struct nt_stream *s, struct err *e)
{
	const ntfs_attr *na = s->attr;
	uint64_t clusters = (uint64_t)na->allocated_size / v->boot.cluster_bytes;

	do {
		uint64_t before = s->clusters;
		nt_ask(v);
		if (ntfs_attr_lookup(na->type, na->name, na->name_len, CASE_SENSITIVE,
			(VCN)before, NULL, 0, ctx) != 0)
			return nt_fail(v, e, "a part of a run list");
		if (!ctx->attr->non_resident ||
		    (uint64_t)sle64_to_cpu(ctx->attr->lowest_vcn) != before)
			return err_set(e, ERR_FORMAT, "a run list is out of order");
		if (clusters == 0)
			return 0;
		if (decode_part(v, ctx->attr, s, e) != 0)
			return -1;
		if (s->clusters <= before)
			return err_set(e, ERR_FORMAT, "a run list does not end");
	} while (s->clusters < clusters);
	return s->clusters == clusters
	           ? 0
	           : err_set(e, ERR_FORMAT, "a run list is longer than the stream");
}

static int
check_sizes(const struct nt *v, const struct nt_stream *s, struct err *e)
{
	const ntfs_attr *na = s->attr;

	if (na->data_size < 0 || na->initialized_size < 0 || na->allocated_size < 0 ||
	    (uint64_t)na->data_size > VCN_MAX * 512 ||
	    na->initialized_size > na->data_size ||
	    (uint64_t)na->allocated_size % v->boot.cluster_bytes != 0 ||
	    na->data_size > na->allocated_size)
		return err_set(e, ERR_FORMAT, "impossible sizes of a stream");
	return 0;
}

static int
map(struct nt *v, struct nt_stream *s, struct err *e)
{
	if (!NAttrNonResident(s->attr))
		return 0;
	if (check_sizes(v, s, e) != 0)
		return -1;
	ntfs_attr_search_ctx *ctx = ntfs_attr_get_search_ctx(s->attr->ni, NULL);
	if (ctx == NULL)
		return err_nomem(e, "a run list");
	int rc = decode_parts(v, ctx, s, e);
	ntfs_attr_put_search_ctx(ctx);
	return rc;
}

/* Open the attribute: 1, 0 there is none, -1. Asked for an attribute without a name, the
 * library takes the first attribute of the type, whatever its name. */
static int
open_attr(struct nt *v, ntfs_inode *ni, ATTR_TYPES type, const char *name,
    struct nt_stream *s, struct err *e)
{
	ntfschar utf16[NAME_MAX_CHARS];
	u32 n = 0;

	for (; name[n] != '\0' && n < NAME_MAX_CHARS; n++)
		utf16[n] = cpu_to_le16((uint8_t)name[n]);
	nt_ask(v);
	s->attr = ntfs_attr_open(ni, type, n > 0 ? utf16 : AT_UNNAMED, n);
	if (s->attr == NULL)
		return errno == ENOENT ? 0 : nt_fail(v, e, "an attribute");
	return s->attr->name_len == n;
}

int
nt_stream_open(struct nt *v, ntfs_inode *ni, ATTR_TYPES type, const char *name,
    struct nt_stream *s, struct err *e)
{
	*s = (struct nt_stream){ 0 };
	int rc = open_attr(v, ni, type, name, s, e);
	if (rc == 1 && map(v, s, e) != 0)
		rc = -1;
	return rc < 0 ? err_ctx(e, "record %" PRIu64, (uint64_t)ni->mft_no) : rc;
}

void
nt_stream_close(struct nt_stream *s)
{
	if (s->attr != NULL)
		ntfs_attr_close(s->attr);
	free(s->runs);
	*s = (struct nt_stream){ 0 };
}

bool
nt_stream_plain(const struct nt_stream *s)
{
	return (s->attr->data_flags &
		   (ATTR_COMPRESSION_MASK | ATTR_IS_ENCRYPTED | ATTR_IS_SPARSE)) == 0;
}

/* The library reads holes, and what was never written, as zeros. */
static bool
all_there(const struct nt *v, const struct nt_stream *s, uint64_t end)
{
	if ((uint64_t)s->attr->initialized_size < end)
		return false;
	for (size_t i = 0; i < s->nruns; i++)
		if (s->runs[i].lcn == NT_HOLE &&
		    s->runs[i].vcn < end / v->boot.cluster_bytes + 1)
			return false;
	return true;
}

int
nt_stream_read(struct nt *v, const struct nt_stream *s, void *buf, size_t len,
    uint64_t off, struct err *e)
{
	if (!range_within((struct range){ off, len }, (uint64_t)s->attr->data_size))
		return err_set(e, ERR_FORMAT, "a stream is too short");
	if (!nt_stream_plain(s) || !all_there(v, s, off + len))
		return err_set(e, ERR_UNSUPPORTED,
		    "metadata is compressed, encrypted, sparse or not written");
	nt_ask(v);
	s64 n = ntfs_attr_pread(s->attr, (s64)off, (s64)len, buf);
	return n == (s64)len ? 0 : nt_fail(v, e, "reading a stream");
}

int
nt_stream_clusters(const struct nt_stream *s, struct rangeset *clusters, struct err *e)
{
	for (size_t i = 0; i < s->nruns; i++) {
		const struct nt_run *r = &s->runs[i];
		if (r->lcn != NT_HOLE &&
		    rangeset_add(clusters, (struct range){ r->lcn, r->len }, e) != 0)
			return -1;
	}
	return 0;
}
