/* inuse_area.c: inuse.h for some sectors of a disk, whose other partitions may be in use.
 *
 * Called by hold.c, and for names by growfs, in the thread of their caller.  Nothing is changed, and no lock is
 * kept.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/disk/inuse_impl.h"

/* The kernel writes pages of 4 KiB, so sectors that share a page with the area are
 * disturbed, too. */
static struct range
whole_pages(struct range area)
{
	enum { PAGE_SECTORS = 4096 / SECTOR_BYTES };
	uint64_t from = area.off / PAGE_SECTORS * PAGE_SECTORS;
	uint64_t to =
	    (range_end(area) + PAGE_SECTORS - 1) / PAGE_SECTORS * PAGE_SECTORS;

	return (struct range){ from, to - from };
}

static bool
overlaps(const void *arg, struct range sectors)
{
	const struct range *area = arg;

	return range_clip(sectors, area->off, range_end(*area)).len != 0;
}

int
inuse_check_area(const struct inuse_query *query, struct range area, struct err *e)
{
	struct range pages = whole_pages(area);
	struct inuse_query q = *query;

	q.wants = overlaps;
	q.arg = &pages;
	return inuse_check(&q, e);
}

/* What inuse_partitions() looks for, and has found. */
struct found {
	const char *root;
	char dir[64]; /* of the disk in sysfs */
	struct range area;
	char (*names)[INUSE_NAME_CAP];
	unsigned n, most;
};

static bool
read_number(const struct found *f, const char *entry, const char *file, uint64_t *n)
{
	char line[64];

	return inuse_line(f->root, line, sizeof line, "%s/%.200s/%s", f->dir, entry,
		   file) &&
	       sscanf(line, "%" SCNu64, n) == 1;
}

static int
note_partition(void *arg, const char *entry)
{
	struct found *f = arg;
	struct range r;

	if (!read_number(f, entry, "start", &r.off) ||
	    !read_number(f, entry, "size", &r.len) || !range_within(r, UINT64_MAX) ||
	    !overlaps(&f->area, r) || f->n == f->most)
		return 0;
	char *name = f->names[f->n++];
	snprintf(name, INUSE_NAME_CAP, "/dev/%.200s", entry);
	for (char *p = name; (p = strchr(p, '!')) != NULL;)
		*p = '/'; /* how sysfs spells cciss/c0d0 */
	return 0;
}

unsigned
inuse_partitions(const char *root, const struct stat *st, struct range area,
    char names[][INUSE_NAME_CAP], unsigned most)
{
	struct found f = { .root = root, .area = area, .names = names, .most = most };

	snprintf(f.dir, sizeof f.dir, "sys/dev/block/%u:%u", major(st->st_rdev),
	    minor(st->st_rdev));
	if (S_ISBLK(st->st_mode))
		inuse_entries(root, f.dir, note_partition, &f);
	return f.n;
}
