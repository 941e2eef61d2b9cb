/* ntfs_stream.c: streams of NTFS: run lists, and reading what they lead to. */
#include <stdlib.h>
#include <string.h>

#include "fsmods/ntfs/ntfs_attr.h"

#define VCN_MAX (UINT64_C(1) << 52) /* of a stream, holes and all */

int
ntfs_stream_append(const struct ntfs *v, struct ntfs_stream *s, uint64_t lcn,
    uint64_t len, struct err *e)
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
runs_decode(const struct ntfs *v, const struct ntfs_attr *a, struct ntfs_stream *s,
    struct err *e)
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
		if (ntfs_stream_append(
			v, s, lcn_bytes == 0 ? NTFS_HOLE : lcn, (uint64_t)len, e) != 0)
			return -1;
	}
	if (!rd_ok(&r) || s->clusters != a->last_vcn + 1)
		return err_set(
		    e, ERR_FORMAT, "a run list does not end where it should");
	return 0;
}

/* One attribute, or one part of it, into the stream. */
int
ntfs_stream_add(const struct ntfs *v, const struct ntfs_attr *a, struct ntfs_stream *s,
    struct err *e)
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
