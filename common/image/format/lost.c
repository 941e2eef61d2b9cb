/* lost.c: the record of lost sectors: made of a set of ranges, written, read, and told.
 * packer.c makes it for a capture, installers for an installation of one partition; each
 * list belongs to one thread at a time. */
#include "common/image/format/lost.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/disk/range_json.h"

enum { FLAG_MERGED = 1 };

/* How many ranges the set has when gaps of up to `gap` sectors do not count; the ranges go
 * into out, unless that is NULL. */
static size_t
merge(const struct rangeset *s, uint64_t gap, struct range *out)
{
	struct range last = rangeset_get(s, 0);
	size_t n = 0;

	for (size_t i = 1; i < rangeset_count(s); i++) {
		struct range r = rangeset_get(s, i);
		if (r.off - range_end(last) <= gap) {
			last.len = range_end(r) - last.off;
			continue;
		}
		if (out != NULL)
			out[n] = last;
		n++;
		last = r;
	}
	if (out != NULL)
		out[n] = last;
	return n + 1;
}

int
lost_make(struct lost *l, const struct lostset *lost, size_t bytes, struct err *e)
{
	const struct rangeset *s = &lost->set;
	size_t fit = (bytes - LOST_HEAD_BYTES) / LOST_RANGE_BYTES;
	uint64_t gap = 0;

	*l = (struct lost){ .sectors = lost->sectors };
	if (rangeset_count(s) == 0)
		return 0;
	assert(bytes >= LOST_HEAD_BYTES + LOST_RANGES_MIN * LOST_RANGE_BYTES);
	while (merge(s, gap, NULL) > fit)
		gap = gap * 2 + 1;
	l->merged = gap != 0 || lost->sectors < rangeset_total(s);
	l->ranges = calloc(merge(s, gap, NULL), sizeof *l->ranges);
	if (l->ranges == NULL)
		return err_nomem(e, "the list of lost sectors");
	l->nranges = merge(s, gap, l->ranges);
	return 0;
}

void
lostset_init(struct lostset *s)
{
	rangeset_init(&s->set);
	s->sectors = 0;
}

void
lostset_free(struct lostset *s)
{
	rangeset_free(&s->set);
	s->sectors = 0;
}

int
lost_ranges(const struct lost *l, struct rangeset *set, struct err *e)
{
	for (size_t i = 0; i < l->nranges; i++)
		if (rangeset_add(set, l->ranges[i], e) != 0)
			return -1;
	return 0;
}

/* A merged list does not say which of its sectors were lost, so its count is added, or the
 * size of the part when that is smaller. */
int
lostset_add(
    struct lostset *s, const struct lost *l, const struct rangeset *within, struct err *e)
{
	struct rangeset part;

	rangeset_init(&part);
	int rc = lost_ranges(l, &part, e);
	if (rc == 0)
		rc = rangeset_intersect(&part, within, e);
	uint64_t n = rc == 0 ? rangeset_total(&part) : 0;
	if (rc == 0)
		rc = rangeset_union(&s->set, &part, e);
	s->sectors += n < l->sectors ? n : l->sectors;
	rangeset_free(&part);
	return rc;
}

const char *
lost_text(const struct lost *l, char *buf, size_t cap)
{
	enum { ROOM_BYTES = 80 }; /* for one range, and the count of those that are left out */
	size_t n = (size_t)snprintf(buf, cap,
	    "%" PRIu64 " sectors could not be read when the image was made, and are "
	    "zeros%s:",
	    l->sectors, l->merged ? ", and all of them are among" : "");

	for (size_t i = 0; i < l->nranges && n < cap; i++) {
		if (cap - n < ROOM_BYTES) {
			snprintf(buf + n, cap - n, " and %zu more", l->nranges - i);
			break;
		}
		n += (size_t)snprintf(buf + n, cap - n, "%s %" PRIu64 "-%" PRIu64,
		    i > 0 ? "," : "", l->ranges[i].off, range_end(l->ranges[i]) - 1);
	}
	return buf;
}

void
lost_json(const struct lost *l, struct json *j)
{
	json_uint(j, "lost_sectors", l->sectors);
	json_bool(j, "lost_ranges_merged", l->merged);
	json_ranges(j, "lost_ranges", l->ranges, l->nranges);
}

void
lost_free(struct lost *l)
{
	free(l->ranges);
	*l = (struct lost){ 0 };
}

/* Ranges must ascend and be apart, none may be empty or reach beyond the largest sector,
 * and their number of sectors must agree with the count. */
static bool
is_possible(const struct lost *l)
{
	uint64_t end = 0, sum = 0;

	for (size_t i = 0; i < l->nranges; i++) {
		struct range r = l->ranges[i];
		if (r.len == 0 || !range_within(r, UINT64_MAX / SECTOR_BYTES) ||
		    (i > 0 && r.off <= end))
			return false;
		end = range_end(r);
		sum += r.len;
	}
	return l->merged ? l->sectors > 0 && l->sectors <= sum : l->sectors == sum;
}

int
lost_get(struct lost *l, struct rd *r, struct err *e)
{
	if (l->ranges != NULL)
		return err_set(e, ERR_FORMAT, "two lists of lost sectors");
	uint64_t sectors = rd_le64(r);
	uint32_t n = rd_le32(r), flags = rd_le32(r);
	if (n == 0 || !rd_can_hold(r, n, LOST_RANGE_BYTES))
		return err_set(
		    e, ERR_FORMAT, "the list of lost sectors cannot hold %u ranges", n);
	*l = (struct lost){ .sectors = sectors,
		.merged = (flags & FLAG_MERGED) != 0,
		.nranges = n,
		.ranges = calloc(n, sizeof *l->ranges) };
	if (l->ranges == NULL)
		return err_nomem(e, "the list of lost sectors");
	for (size_t i = 0; i < n; i++) {
		l->ranges[i].off = rd_le64(r);
		l->ranges[i].len = rd_le64(r);
	}
	return is_possible(l)
	           ? 0
	           : err_set(e, ERR_FORMAT, "the list of lost sectors is damaged");
}

void
lost_put(const struct lost *l, struct wr *w)
{
	wr_le64(w, l->sectors);
	wr_le32(w, (uint32_t)l->nranges);
	wr_le32(w, l->merged ? FLAG_MERGED : 0);
	for (size_t i = 0; i < l->nranges; i++) {
		wr_le64(w, l->ranges[i].off);
		wr_le64(w, l->ranges[i].len);
	}
}
