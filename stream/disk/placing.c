/* placing.c: makes the plan of a streaming disk, and writes what it changes (placing.h).
 * streamed_open.c and clear.c call this in one thread. */
#include "stream/disk/placing.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/target/areas.h"
#include "common/target/by_plan.h"
#include "stream/disk/streamed_impl.h"

enum {
	ALIGN_SECTORS = 8, /* the sector table consists of frames of 4 KiB */
	END_SECTORS = 64,  /* at the end of a disk, as room.c has it */
};

/* The plan. */

/* Leave room for the sector table behind the partitions. */
static void
leave_room(struct placing *p, uint64_t disk_sectors)
{
	struct fitplan *plan = &p->plan;
	uint64_t end = plan->table_end > END_SECTORS ? plan->table_end : END_SECTORS;
	uint64_t need = end + table_bytes(disk_sectors) / SECTOR_BYTES;

	p->table_at = disk_sectors > need ? (disk_sectors - need) / ALIGN_SECTORS * ALIGN_SECTORS : 0;
	if (p->table_at >= plan->end)
		return;
	plan->table_end = plan->sectors - p->table_at;
	plan->end = p->table_at / plan->unit * plan->unit;
}

/* Add a map, or lengthen the last one, if this one goes on where it ends. */
static int
add_map(struct maps *m, struct map add, struct err *e)
{
	struct map *last = m->n > 0 ? &m->map[m->n - 1] : NULL;

	if (last == NULL || range_end(last->from) != add.from.off ||
	    last->to + last->from.len != add.to)
		return maps_add(m, add.from, add.to, e);
	last->from.len += add.from.len;
	return 0;
}

static int
make_maps(struct placing *p, struct err *e)
{
	struct maps all = { .n = 0 };

	if (by_plan_maps(&p->plan, &all, e) != 0)
		return -1;
	for (unsigned i = 0; i < all.n; i++)
		if (add_map(&p->maps, all.map[i], e) != 0)
			return -1;
	if (p->maps.n > TABLE_MAPS_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "the partitions lie in %u pieces, and a sector table has room for %d",
		    p->maps.n, TABLE_MAPS_MAX);
	return 0;
}

static int
make_plan(struct placing *p, struct export *source, struct disk *disk, bool room, struct err *e)
{
	const struct fitplan_source s = { .table = &p->table,
		.reach = export_reach(source),
		.sectors = export_sectors(source) };
	uint64_t sectors = disk_size_bytes(disk) / SECTOR_BYTES;

	if (s.reach == NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: does not say which filesystems its disk has, so nothing can be planned",
		    export_name(source));
	if (fitplan_begin(&p->plan, &s, sectors,
		disk_kind(disk) == DISK_BLOCK ? disk_sector_bytes(disk) : p->table.sector_bytes,
		e) != 0)
		return -1;
	if (room)
		leave_room(p, sectors);
	return fitplan_make(&p->plan, e) == 0 ? make_maps(p, e) : -1;
}

int
placing_make(struct placing **out, struct export *source, struct disk *disk, bool room,
    struct err *e)
{
	struct placing *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "a plan");
	int there = room_partitions(&p->table, source, e);
	if (there == 0)
		err_set(e, ERR_UNSUPPORTED,
		    "%s: has no partition table that could be read, so nothing can be planned",
		    export_name(source));
	if (there > 0 && make_plan(p, source, disk, room, e) == 0) {
		*out = p;
		return 0;
	}
	placing_free(p);
	return -1;
}

void
placing_free(struct placing *p)
{
	if (p != NULL)
		ptable_free(&p->table);
	free(p);
}

static const struct fitplan_part *
find_part(const struct placing *p, unsigned number)
{
	for (unsigned i = 0; i < p->plan.n; i++)
		if (p->plan.parts[i].number == number)
			return &p->plan.parts[i];
	return NULL;
}

void
placing_reach(const struct placing *p, const struct reach *images, struct reach *out)
{
	*out = *images;
	for (size_t i = 0; i < out->n; i++) {
		const struct fitplan_part *a = find_part(p, out->parts[i].number);
		if (a != NULL)
			out->parts[i].sectors = a->is;
	}
}

void
placing_areas(const struct placing *p, struct areas *areas)
{
	for (size_t i = 0; i < areas->n; i++) {
		struct area *area = &areas->a[i];
		const struct fitplan_part *a = find_part(p, area->number);
		uint64_t to;
		if (a != NULL)
			area->sectors = a->is;
		else if (maps_whole(&p->maps, area->sectors, &to)) /* inside a partition */
			area->sectors.off = to;
	}
}

/* What the plan changes. */

static bool
left_out(void *arg, unsigned number)
{
	const struct streamed *d = arg;
	const struct partition *p = ptable_find(&d->placing->table, number);

	return p == NULL || !rangeset_touches(export_stored(d->source), p->sectors);
}

static void
warn(void *arg, const char *sentence)
{
	streamed_tell(arg, "warning: %s", sentence);
}

static struct by_plan
by_plan_of(const struct placing *p, struct streamed *d)
{
	return (struct by_plan){
		.plan = &p->plan, .table = &p->table, .left_out = left_out, .warn = warn, .arg = d
	};
}

static int
try_table(const struct by_plan *b, struct disk *disk, struct disk *image, struct err *e)
{
	struct disk *trial;
	struct err ignored;

	if (by_plan_trial(&trial, disk, e) != 0)
		return -1;
	int rc = by_plan_table(b, trial, image, NULL, e);
	disk_close(trial, &ignored);
	return rc;
}

static void
tell_part(struct streamed *d, const struct fitplan_part *a, bool stays)
{
	char is[32], was[32];
	uint64_t sectors = stays ? a->was.len : a->is.len;

	if (fitplan_moves(a) || sectors != a->was.len)
		streamed_tell(d,
		    "%s: partition %u is at sectors %" PRIu64 " to %" PRIu64
		    ", and has %s instead of %s",
		    d->cfg.disk, a->number, a->is.off, a->is.off + sectors - 1,
		    human_bytes(sectors * SECTOR_BYTES, is, sizeof is),
		    human_bytes(a->was.len * SECTOR_BYTES, was, sizeof was));
}

static int
check(struct placing *p, struct streamed *d, struct disk *image, struct err *e)
{
	const struct by_plan b = by_plan_of(p, d);

	if (by_plan_awake(&b, image, e) != 0)
		return -1;
	if (try_table(&b, d->disk, image, e) != 0)
		return -1;
	by_plan_stays(&b, image, true, p->stays);
	for (unsigned i = 0; i < p->plan.n; i++)
		tell_part(d, &p->plan.parts[i], p->stays[i]);
	return 0;
}

int
placing_check(struct placing *p, struct streamed *d, struct err *e)
{
	struct disk *image;
	struct err ignored;

	if (export_as_disk(&image, d->source, e) != 0)
		return -1;
	int rc = check(p, d, image, e);
	disk_close(image, &ignored);
	return rc == 0 ? 0 : err_ctx(e, "%s: fit", d->cfg.disk);
}

int
placing_write(const struct placing *p, struct streamed *d, struct err *e)
{
	const struct by_plan b = by_plan_of(p, d);
	struct disk *view, *image;
	struct err ignored;

	if (streamed_as_disk(&view, d, e) != 0)
		return -1;
	int rc = export_as_disk(&image, d->source, e);
	if (rc == 0) {
		rc = by_plan_adapt(&b, view, e);
		if (rc == 0)
			rc = by_plan_table(&b, view, image, p->stays, e);
		disk_close(image, &ignored);
	}
	disk_close(view, &ignored);
	return rc;
}
