#include "common/ndz/lost.h"

#include <assert.h>
#include <stdlib.h>

enum { FLAG_MERGED = 1 };

/* How many ranges there are when gaps of up to `gap` sectors do not count, and
 * into out (NULL: nowhere) which. */
static size_t
merge(struct rangeset *s, uint64_t gap, struct range *out)
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
lost_make(struct lost *l, struct rangeset *s, size_t bytes, struct err *e)
{
	size_t fit = (bytes - LOST_HEAD_BYTES) / LOST_RANGE_BYTES;
	uint64_t gap = 0;

	*l = (struct lost){ .sectors = rangeset_total(s) };
	if (rangeset_count(s) == 0)
		return 0;
	assert(bytes >= LOST_HEAD_BYTES + LOST_RANGES_MIN * LOST_RANGE_BYTES);
	while (merge(s, gap, NULL) > fit)
		gap = gap * 2 + 1;
	l->merged = gap != 0;
	l->ranges = calloc(merge(s, gap, NULL), sizeof *l->ranges);
	if (l->ranges == NULL)
		return err_nomem(e, "the list of lost sectors");
	l->nranges = merge(s, gap, l->ranges);
	return 0;
}

void
lost_free(struct lost *l)
{
	free(l->ranges);
	*l = (struct lost){ 0 };
}

/* Ascending, apart, none empty or out of the world, and as many as the count says. */
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
