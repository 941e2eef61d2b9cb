/* inuse_places.c: finds all block devices and files that share bytes with a given one.
 *
 * Called by inuse.c alone, in its caller's thread.  The list of places grows while it
 * is gone through: each place adds its partitions, what holds it, and the loop
 * devices on it.  Each place is in the list once, so the search ends.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/disk/inuse_impl.h"

/* What a callback of inuse_entries() needs. */
struct finder {
	struct inuse_places *places;
	const struct inuse_query *q;
	size_t at;                 /* the place that is being gone through */
	char dir[INUSE_PATH_BYTES]; /* the folder whose entries are given out */
	struct err *e;
};

bool
inuse_line(const char *root, char *buf, size_t cap, const char *fmt, ...)
{
	char rel[INUSE_PATH_BYTES], path[INUSE_PATH_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rel, sizeof rel, fmt, ap);
	va_end(ap);
	snprintf(path, sizeof path, "%.2000s/%.2000s", root, rel);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	bool ok = fgets(buf, (int)cap, f) != NULL;
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

int
inuse_entries(const char *root, const char *dir,
    int (*each)(void *arg, const char *name), void *arg)
{
	char path[INUSE_PATH_BYTES];
	struct dirent *ent;
	int rc = 0;

	snprintf(path, sizeof path, "%.2000s/%.2000s", root, dir);
	DIR *d = opendir(path);
	if (d == NULL)
		return 0;
	while (rc == 0 && (ent = readdir(d)) != NULL)
		if (ent->d_name[0] != '.')
			rc = each(arg, ent->d_name);
	closedir(d);
	return rc;
}

/* Read a device number from the file of sysfs that the arguments name. */
static bool __attribute__((format(printf, 3, 4)))
read_number(const char *root, dev_t *dev, const char *fmt, ...)
{
	char rel[INUSE_PATH_BYTES], line[64];
	unsigned maj, min;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rel, sizeof rel, fmt, ap);
	va_end(ap);
	if (!inuse_line(root, line, sizeof line, "%.2000s", rel) ||
	    sscanf(line, "%u:%u", &maj, &min) != 2)
		return false;
	*dev = makedev(maj, min);
	return true;
}

/* What the kernel calls a device: "sdb1".  "" when sysfs does not know it. */
static void
kernel_name(const char *root, dev_t dev, char *buf, size_t cap)
{
	char path[INUSE_PATH_BYTES], link[PATH_MAX];

	snprintf(path, sizeof path, "%.2000s/sys/dev/block/%u:%u", root, major(dev),
	    minor(dev));
	ssize_t len = readlink(path, link, sizeof link - 1);
	link[len > 0 ? len : 0] = '\0';
	const char *base = strrchr(link, '/');
	snprintf(buf, cap, "%.150s", base != NULL ? base + 1 : link);
}

void
inuse_node_name(const char *root, dev_t dev, char *buf, size_t cap)
{
	char name[200];

	kernel_name(root, dev, name, sizeof name);
	if (name[0] != '\0')
		snprintf(buf, cap, "/dev/%.150s", name);
	else
		snprintf(buf, cap, "device %u:%u", major(dev), minor(dev));
	for (char *p = buf; (p = strchr(p, '!')) != NULL;)
		*p = '/'; /* how sysfs spells cciss/c0d0 */
}

/* "/dev/sdb1", "/dev/dm-0 (vg-home)". */
static void
name_device(const char *root, dev_t dev, char *buf, size_t cap)
{
	char dm[64];

	inuse_node_name(root, dev, buf, cap);
	size_t n = strlen(buf);
	if (inuse_line(root, dm, sizeof dm, "sys/dev/block/%u:%u/dm/name", major(dev),
		minor(dev)))
		snprintf(buf + n, cap - n, " (%s)", dm);
}

struct inuse_place *
inuse_place_of_device(struct inuse_places *s, dev_t dev)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].is_device && !s->v[i].aside && s->v[i].dev == dev)
			return &s->v[i];
	return NULL;
}

struct inuse_place *
inuse_place_of(struct inuse_places *s, const struct stat *st)
{
	if (S_ISBLK(st->st_mode))
		return inuse_place_of_device(s, st->st_rdev);
	for (size_t i = 0; i < s->n && S_ISREG(st->st_mode); i++)
		if (!s->v[i].is_device && s->v[i].dev == st->st_dev &&
		    s->v[i].ino == st->st_ino)
			return &s->v[i];
	return NULL;
}

static bool
stat_below(const char *root, const char *path, struct stat *st)
{
	char full[INUSE_PATH_BYTES];

	snprintf(full, sizeof full, "%.2000s%.2000s", root, path);
	return path[0] == '/' && stat(full, st) == 0;
}

struct inuse_place *
inuse_place_of_path(struct inuse_places *s, const char *root, const char *path)
{
	struct stat st;

	return stat_below(root, path, &st) ? inuse_place_of(s, &st) : NULL;
}

/* sysfs has a folder for each btrfs that is mounted, with a link to each device. */
struct btrfs_search {
	const char *root;
	const char *a, *b; /* names of two devices */
};

static int
has_both(void *arg, const char *uuid)
{
	const struct btrfs_search *x = arg;
	char path[INUSE_PATH_BYTES];
	const char *const names[] = { x->a, x->b };

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%.2000s/sys/fs/btrfs/%.200s/devices/%.200s",
		    x->root, uuid, names[i]);
		if (access(path, F_OK) != 0)
			return 0;
	}
	return 1;
}

struct inuse_place *
inuse_place_of_btrfs(struct inuse_places *s, const char *root, const char *path)
{
	char a[INUSE_NAME_BYTES], b[INUSE_NAME_BYTES];
	struct btrfs_search x = { .root = root, .a = a, .b = b };
	struct stat st;

	if (!stat_below(root, path, &st) || !S_ISBLK(st.st_mode))
		return NULL;
	kernel_name(root, st.st_rdev, a, sizeof a);
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].is_device || s->v[i].aside)
			continue;
		kernel_name(root, s->v[i].dev, b, sizeof b);
		if (a[0] != '\0' && b[0] != '\0' &&
		    inuse_entries(root, "sys/fs/btrfs", has_both, &x) != 0)
			return &s->v[i];
	}
	return NULL;
}

/* Add a place, unless it is in the list already. */
static int
add(struct finder *f, const struct inuse_place *p)
{
	struct inuse_places *s = f->places;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].is_device == p->is_device && s->v[i].dev == p->dev &&
		    s->v[i].ino == p->ino)
			return 0;
	if (s->n == s->cap) {
		size_t cap = s->cap != 0 ? 2 * s->cap : 16;
		struct inuse_place *v = reallocarray(s->v, cap, sizeof *v);
		if (v == NULL)
			return err_nomem(f->e, f->q->path);
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = *p;
	return 0;
}

/* Add a device; p says what else is known of it. */
static int
add_device(struct finder *f, dev_t dev, struct inuse_place p)
{
	p.is_device = true;
	p.dev = dev;
	name_device(f->q->root, dev, p.name, sizeof p.name);
	return add(f, &p);
}

static int
add_stat(struct finder *f, const struct stat *st, const char *name, bool mapped)
{
	struct inuse_place p = { .mapped = mapped };

	if (S_ISBLK(st->st_mode))
		return add_device(f, st->st_rdev, p);
	p.dev = st->st_dev;
	p.ino = st->st_ino;
	snprintf(p.name, sizeof p.name, "%s", name);
	return S_ISREG(st->st_mode) ? add(f, &p) : 0;
}

/* Are any of these sectors of the current place wanted? */
static bool
wanted(const struct finder *f, struct range sectors)
{
	const struct inuse_place *p = &f->places->v[f->at];
	uint64_t end = UINT64_MAX - p->base;

	if (!p->mapped || f->q->wants == NULL)
		return true;
	if (sectors.off >= end)
		return false;
	uint64_t most = end - sectors.off;
	return f->q->wants(
	    f->q->arg, (struct range){ p->base + sectors.off,
			   sectors.len < most ? sectors.len : most });
}

/* A new place that begins at this sector of the current place. */
static struct inuse_place
part_at(const struct finder *f, uint64_t sector)
{
	const struct inuse_place *p = &f->places->v[f->at];

	return (struct inuse_place){ .mapped = p->mapped, .base = p->base + sector };
}

/* Read a number from a file of sysfs; `none` when there is no such file. */
static uint64_t
read_uint(const struct finder *f, const char *entry, const char *file, uint64_t none)
{
	char line[64];
	uint64_t n;

	if (!inuse_line(f->q->root, line, sizeof line, "%.1000s/%.200s/%s", f->dir,
		entry, file) ||
	    sscanf(line, "%" SCNu64, &n) != 1)
		return none;
	return n;
}

static int
add_partition(void *arg, const char *entry)
{
	struct finder *f = arg;
	char line[64];
	dev_t dev;

	if (!inuse_line(f->q->root, line, sizeof line, "%.1000s/%.200s/partition",
		f->dir, entry) ||
	    !read_number(f->q->root, &dev, "%.1000s/%.200s/dev", f->dir, entry))
		return 0;
	struct range sectors = { read_uint(f, entry, "start", 0),
		read_uint(f, entry, "size", UINT64_MAX) };
	struct inuse_place p = part_at(f, sectors.off);
	p.aside = !wanted(f, sectors);
	return add_device(f, dev, p);
}

/* Note it if md is writing to the members of an array, to make them alike. */
static void
look_at_array(struct finder *f, const char *holder)
{
	static const char *const writes[] = { "resync", "recover", "repair", "reshape" };
	char action[32];

	if (!inuse_line(f->q->root, action, sizeof action,
		"sys/block/%.200s/md/sync_action", holder))
		return;
	for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++)
		if (strcmp(action, writes[i]) == 0)
			snprintf(f->places->rebuilt, sizeof f->places->rebuilt,
			    "%s is a member of %s, which is being rebuilt (%s)",
			    f->places->v[f->at].name, holder, action);
}

static int
add_holder(void *arg, const char *holder)
{
	struct finder *f = arg;
	char name[INUSE_NAME_BYTES];
	dev_t dev;
	bool known = read_number(f->q->root, &dev, "sys/block/%.200s/dev", holder);

	snprintf(name, sizeof name, "/dev/%.200s", holder);
	if (known)
		name_device(f->q->root, dev, name, sizeof name);
	f->places->v[f->at].seen = true;
	if (f->places->held[0] == '\0')
		snprintf(f->places->held, sizeof f->places->held, "%s is held by %s",
		    f->places->v[f->at].name, name);
	look_at_array(f, holder);
	return known ? add_device(f, dev, (struct inuse_place){ 0 }) : 0;
}

/* Add the disk that a partition is on, with what holds the disk, but not its other
 * partitions. */
static int
add_disk_of_partition(struct finder *f, dev_t dev)
{
	char line[64];
	dev_t disk;

	if (!inuse_line(f->q->root, line, sizeof line, "sys/dev/block/%u:%u/partition",
		major(dev), minor(dev)) ||
	    !read_number(f->q->root, &disk, "sys/dev/block/%u:%u/../dev", major(dev),
		minor(dev)))
		return 0;
	return add_device(f, disk, (struct inuse_place){ .outer = true });
}

/* Add the file or device behind a loop device. */
static int
add_backing(struct finder *f, dev_t dev)
{
	char path[INUSE_PATH_BYTES];
	struct stat st;

	if (!inuse_line(f->q->root, path, sizeof path,
		"sys/dev/block/%u:%u/loop/backing_file", major(dev), minor(dev)) ||
	    !stat_below(f->q->root, path, &st))
		return 0;
	return add_stat(f, &st, path, false);
}

static int
expand_device(struct finder *f)
{
	const struct inuse_place p = f->places->v[f->at];

	snprintf(f->dir, sizeof f->dir, "sys/dev/block/%u:%u", major(p.dev),
	    minor(p.dev));
	if (!p.outer && inuse_entries(f->q->root, f->dir, add_partition, f) != 0)
		return -1;
	strcat(f->dir, "/holders");
	if (inuse_entries(f->q->root, f->dir, add_holder, f) != 0)
		return -1;
	return add_disk_of_partition(f, p.dev) != 0 ? -1 : add_backing(f, p.dev);
}

/* Add a loop device on the current place. */
static int
add_loop(void *arg, const char *entry)
{
	struct finder *f = arg;
	char backing[INUSE_PATH_BYTES];
	struct stat st;
	dev_t dev;

	if (strncmp(entry, "loop", 4) != 0 ||
	    !inuse_line(f->q->root, backing, sizeof backing,
		"%.1000s/%.200s/loop/backing_file", f->dir, entry) ||
	    !stat_below(f->q->root, backing, &st) ||
	    inuse_place_of(f->places, &st) != &f->places->v[f->at] ||
	    !read_number(f->q->root, &dev, "%.1000s/%.200s/dev", f->dir, entry))
		return 0;
	uint64_t from = read_uint(f, entry, "loop/offset", 0);
	uint64_t bytes = read_uint(f, entry, "loop/sizelimit", 0);
	struct range sectors = { from / SECTOR_BYTES,
		bytes != 0 ? (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES
			   : UINT64_MAX / SECTOR_BYTES };
	return wanted(f, sectors) ? add_device(f, dev, part_at(f, sectors.off)) : 0;
}

static int
expand(struct finder *f)
{
	if (f->places->v[f->at].aside)
		return 0;
	if (f->places->v[f->at].is_device && expand_device(f) != 0)
		return -1;
	snprintf(f->dir, sizeof f->dir, "sys/block");
	return inuse_entries(f->q->root, f->dir, add_loop, f);
}

int
inuse_places_find(struct inuse_places *s, const struct inuse_query *q, struct err *e)
{
	struct finder f = { .places = s, .q = q, .e = e };

	*s = (struct inuse_places){ 0 };
	if (add_stat(&f, &q->st, q->path, true) != 0)
		return -1;
	for (f.at = 0; f.at < s->n; f.at++)
		if (expand(&f) != 0)
			return -1;
	return 0;
}

void
inuse_places_free(struct inuse_places *s)
{
	free(s->v);
	*s = (struct inuse_places){ 0 };
}

bool
inuse_is_partition(const char *root, const struct stat *st)
{
	char line[64];

	return S_ISBLK(st->st_mode) &&
	       inuse_line(root, line, sizeof line, "sys/dev/block/%u:%u/partition",
		   major(st->st_rdev), minor(st->st_rdev));
}
