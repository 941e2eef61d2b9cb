/* lvm2_map.c: maps the sectors of a logical volume to sectors of the disk, and opens the
 * volume as a disk of its own. lvm2.c calls this, in the thread that scans. */
#include "fsmods/lvm2/lvm2_map.h"

#include <stdlib.h>

void
lvm_map_free(struct lvm_map *m)
{
	free(m->segments);
	free(m->areas);
	*m = (struct lvm_map){ 0 };
}

static int
grow(void **array, size_t *cap, size_t n, size_t each, struct err *e)
{
	if (n < *cap)
		return 0;
	size_t want = *cap < 4 ? 4 : *cap * 2;
	void *p = reallocarray(*array, want, each);
	if (p == NULL)
		return err_nomem(e, "a logical volume");
	*array = p;
	*cap = want;
	return 0;
}

int
lvm_map_segment(struct lvm_map *m, uint64_t sectors, uint64_t stripe, struct err *e)
{
	void *array = m->segments;

	if (grow(&array, &m->segments_cap, m->nsegments, sizeof *m->segments, e) != 0)
		return -1;
	m->segments = array;
	m->segments[m->nsegments++] = (struct lvm_segment){
		.lv = { m->sectors, sectors }, .stripe = stripe, .first_area = m->nareas
	};
	m->sectors += sectors;
	return 0;
}

int
lvm_map_area(struct lvm_map *m, uint64_t start, struct err *e)
{
	void *array = m->areas;

	if (grow(&array, &m->areas_cap, m->nareas, sizeof *m->areas, e) != 0)
		return -1;
	m->areas = array;
	m->areas[m->nareas++] = start;
	m->segments[m->nsegments - 1].nareas++;
	return 0;
}

/* The segment of a sector of the LV, which must exist. */
static const struct lvm_segment *
segment_at(const struct lvm_map *m, uint64_t sector)
{
	size_t lo = 0, hi = m->nsegments;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->segments[mid].lv.off <= sector)
			lo = mid;
		else
			hi = mid;
	}
	return &m->segments[lo];
}

/* Read no further than the end of a stripe: *len bytes at most, and says how many. */
static int
read_piece(const struct lvm_map *m, void *buf, size_t *len, uint64_t off, struct err *e)
{
	const struct lvm_segment *s = segment_at(m, off / SECTOR_BYTES);
	uint64_t at = off - s->lv.off * SECTOR_BYTES, stripe = s->stripe * SECTOR_BYTES;
	uint64_t number = at / stripe, into = at % stripe;
	uint64_t left = stripe - into, rest = s->lv.len * SECTOR_BYTES - at;

	left = rest < left ? rest : left;
	if (left < *len)
		*len = (size_t)left;
	uint64_t area = m->base + m->areas[s->first_area + number % s->nareas];
	uint64_t from = area * SECTOR_BYTES + number / s->nareas * stripe + into;
	return disk_read(m->disk, buf, *len, from, e);
}

static int
map_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	for (size_t at = 0, n; at < len; at += n) {
		n = len - at;
		if (read_piece(ctx, (uint8_t *)buf + at, &n, off + at, e) != 0)
			return -1;
	}
	return 0;
}

int
lvm_map_open(struct lvm_map *m, const char *name, struct disk **d, struct err *e)
{
	/* A child of fork() can read the volume if it can read the disk. */
	const struct disk_ops ops = {
		.read = map_read, .one_process = !disk_child_reads(m->disk)
	};

	return disk_open_ops(d, name, DISK_FILE, m->sectors * SECTOR_BYTES, &ops, m, e);
}

/* How many of the first x sectors of a segment are in its k-th area? */
static uint64_t
in_area(const struct lvm_segment *s, uint64_t x, size_t k)
{
	uint64_t row = s->stripe * s->nareas, rest = x % row, before = k * s->stripe;
	uint64_t last = rest <= before ? 0 : rest - before;

	return x / row * s->stripe + (last < s->stripe ? last : s->stripe);
}

int
lvm_map_each(const struct lvm_map *m, struct range lv,
    int (*fn)(void *arg, struct range pv, struct err *), void *arg, struct err *e)
{
	while (lv.len > 0) {
		const struct lvm_segment *s = segment_at(m, lv.off);
		struct range part = range_clip(lv, s->lv.off, range_end(s->lv));
		for (size_t k = 0; k < s->nareas; k++) {
			uint64_t lo = in_area(s, part.off - s->lv.off, k);
			uint64_t hi = in_area(s, range_end(part) - s->lv.off, k);
			if (hi > lo &&
			    fn(arg,
				(struct range){
				    m->areas[s->first_area + k] + lo, hi - lo },
				e) != 0)
				return -1;
		}
		lv.off += part.len;
		lv.len -= part.len;
	}
	return 0;
}
