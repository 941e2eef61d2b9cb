/* rehearsal.c: a view of a target that drops every write, for an installation that is
 * rehearsed, and what such an installation has found. install_sink.c and install_end.c call
 * this in the thread that feeds chunks; the installation's threads write to the view, and
 * read nothing there. */
#include "imageunzip/install/rehearsal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "imageunzip/install/fit.h"
#include "imageunzip/install/install_impl.h"

struct rehearsal {
	struct install *in; /* borrowed */
	struct disk *real; /* the target; NULL: a pipe, or a file that is to be made */
	bool fresh;
	struct rehearsal_source source;
	struct rehearsal_found *found; /* the caller's */
};

/* A stretch of the disk in a place: up to `stop`, the image stores all of it, from sector
 * *from on, or nothing (MAPS_NOWHERE). */
static uint64_t
stretch_of_place(struct place *p, uint64_t sector, uint64_t stop, uint64_t *from)
{
	const struct target *t = &p->target;
	struct rangeset *s = &p->free_space.stored;
	uint64_t at = sector - t->slice.off, len = stop - sector;

	rangeset_seal(s); /* the disk is read between chunks, too */
	size_t i = rangeset_find(s, at);
	if (i == rangeset_count(s))
		return stop;
	struct range stored = range_clip(rangeset_get(s, i), at, at + len);
	if (stored.len == 0)
		return stop;
	return sector + (stored.off > at ? stored.off - at : maps_back(t->maps, stored, from));
}

/* The end, not behind `stop`, of the stretch of the disk that begins at `sector`. */
static uint64_t
stretch(struct rehearsal *r, uint64_t sector, uint64_t stop, uint64_t *from)
{
	*from = MAPS_NOWHERE;
	for (unsigned i = 0; r->in != NULL && i < r->in->n; i++) {
		struct place *p = &r->in->place[i];
		struct range slice = p->target.slice;
		uint64_t end = slice.len != 0 ? range_end(slice) : UINT64_MAX;
		if (sector >= slice.off && sector < end)
			return stretch_of_place(p, sector, end < stop ? end : stop, from);
		if (sector < slice.off && slice.off < stop)
			stop = slice.off;
	}
	return stop;
}

static int
read_target(
    struct rehearsal *r, uint64_t sector, uint64_t n, uint8_t *buf, struct err *e)
{
	size_t bytes = (size_t)n * SECTOR_BYTES;
	ssize_t had = 0;

	/* A file that is replaced begins as holes, which read as zeros. */
	if (!r->fresh && r->real != NULL)
		had = disk_read_upto(r->real, buf, bytes, sector * SECTOR_BYTES, e);
	if (had < 0)
		return -1;
	memset(buf + had, 0, bytes - (size_t)had);
	return 0;
}

static int
read_sectors(
    struct rehearsal *r, uint64_t sector, uint64_t n, uint8_t *buf, struct err *e)
{
	uint64_t stop = sector + n;
	int rc = 0;

	for (uint64_t end; rc == 0 && sector < stop; sector = end) {
		uint64_t from;
		end = stretch(r, sector, stop, &from);
		struct range at = { from, end - sector };
		rc = from != MAPS_NOWHERE ? r->source.read(r->source.arg, at, buf, e)
		                          : read_target(r, sector, at.len, buf, e);
		buf += (end - sector) * SECTOR_BYTES;
	}
	return rc;
}

/* Read whole sectors into a buffer, and give out the bytes that were asked for. */
static ssize_t
rehearsal_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct rehearsal *r = ctx;
	uint64_t first = off / SECTOR_BYTES,
		 n = (off + len + SECTOR_BYTES - 1) / SECTOR_BYTES - first;
	uint8_t *all = malloc((size_t)n * SECTOR_BYTES);
	struct err why;

	if (all == NULL || read_sectors(r, first, n, all, &why) != 0) {
		errno = all == NULL ? ENOMEM : EIO;
		free(all);
		return -1;
	}
	memcpy(buf, all + off % SECTOR_BYTES, len);
	free(all);
	return (ssize_t)len;
}

static ssize_t
write_nothing(void *ctx, const void *buf, size_t len, uint64_t off)
{
	(void)ctx, (void)buf, (void)off;
	return (ssize_t)len;
}

static int
clear_nothing(void *ctx, uint64_t off, uint64_t len)
{
	(void)ctx, (void)off, (void)len;
	return 0;
}

static int
view_close(void *ctx)
{
	struct rehearsal *r = ctx;
	struct err none;

	disk_close(r->real, &none);
	free(r);
	return 0;
}

/* Can a file be made in the folder of this path? */
static int
check_folder(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash == NULL   ? strdup(".")
	               : slash == path ? strdup("/")
	                               : strndup(path, (size_t)(slash - path));

	if (folder == NULL)
		return err_nomem(e, path);
	int rc = access(folder, W_OK | X_OK) == 0 ? 0 : err_os(e, "%s", path);
	free(folder);
	return rc;
}

/* Open an existing target as for the installation, which shows whether it may be written.
 * A pipe is not opened, because its reader would notice, and a missing file is not made. */
static int
open_real(struct rehearsal *r, const struct install_config *cfg, const char *path,
    bool whole, struct err *e)
{
	struct stat st;

	if (strcmp(path, "-") == 0)
		return 0;
	bool there = stat(path, &st) == 0;
	if (there && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return access(path, W_OK) == 0 ? 0 : err_os(e, "%s", path);
	if (!there && errno == ENOENT && whole && strncmp(path, "/dev/", 5) != 0)
		return check_folder(path, e);
	return disk_open(&r->real, path,
	    DISK_READ | DISK_WRITE | (cfg->force ? DISK_FORCE : 0), e);
}

static enum disk_kind
kind_of(const struct rehearsal *r, const char *path)
{
	struct stat st;

	if (r->real != NULL)
		return disk_kind(r->real);
	return strcmp(path, "-") == 0 || stat(path, &st) == 0 ? DISK_STREAM : DISK_FILE;
}

/* Open the view, which frees the rehearsal when it is closed. */
static int
open_view(struct rehearsal *r, struct disk **d, const char *path, bool whole, struct err *e)
{
	static const struct disk_ops ops = { .pread = rehearsal_pread,
		.pwrite = write_nothing,
		.zero = clear_nothing,
		.discard = clear_nothing,
		.close = view_close };
	enum disk_kind kind = kind_of(r, path);
	uint64_t bytes = kind == DISK_STREAM || kind == DISK_NULL ? UINT64_MAX
	                 : r->real != NULL ? disk_size_bytes(r->real)
	                                   : 0;

	r->fresh = whole && kind == DISK_FILE;
	if (r->fresh)
		bytes = r->source.sectors * SECTOR_BYTES;
	if (disk_open_ops(d, path, kind, bytes, &ops, r, e) != 0)
		return -1;
	if (r->real != NULL)
		disk_set_sector_bytes(*d, disk_sector_bytes(r->real));
	return 0;
}

int
rehearsal_open(struct install **out, const struct install_config *cfg,
    const char *target, const struct rehearsal_source *source,
    struct rehearsal_found *found, struct err *e)
{
	struct rehearsal *r = calloc(1, sizeof *r);
	struct install_config dry = *cfg;
	bool whole = install_makes_file(cfg, target);
	struct disk *d;

	if (r == NULL)
		return err_nomem(e, "a rehearsal");
	r->source = *source;
	r->found = found;
	dry.dry = true;
	dry.state = NULL;
	dry.skip_same = dry.read_back = false;
	if (open_real(r, &dry, target, whole, e) != 0 ||
	    open_view(r, &d, target, whole, e) != 0) {
		view_close(r);
		return -1;
	}
	uint64_t held = r->fresh && r->real != NULL ? disk_size_bytes(r->real) : 0;
	if (install_open_disk(out, &dry, d, r->fresh, e) != 0)
		return -1;
	r->in = *out;
	(*out)->rehearsal = r;
	(*out)->held_bytes = held;
	return 0;
}

/* Count what is stored in no area; areas may share sectors. */
static int
stored_outside(uint64_t *sectors, const struct areas *areas,
    const struct rangeset *stored, struct err *e)
{
	struct rangeset rest, inside;
	int rc = 0;

	rangeset_init(&rest);
	rangeset_init(&inside);
	for (size_t i = 0; rc == 0 && i < areas->n; i++)
		rc = rangeset_add(&inside, areas->a[i].sectors, e);
	rangeset_seal(&inside);
	if (rc == 0)
		rc = rangeset_union(&rest, stored, e);
	if (rc == 0)
		rc = rangeset_minus(&rest, &inside, e);
	*sectors = rangeset_total(&rest);
	rangeset_free(&rest);
	rangeset_free(&inside);
	return rc;
}

/* Add the partitions of one place. */
static int
list_parts(struct rehearsal_found *f, const struct target *t, const struct areas *areas,
    const struct rangeset *stored, struct err *e)
{
	struct rehearsal_part *more =
	    reallocarray(f->parts, f->nparts + areas->n + 1, sizeof *f->parts);
	uint64_t outside = 0;

	if (more == NULL)
		return err_nomem(e, "list of partitions");
	f->parts = more;
	for (size_t i = 0; i < areas->n; i++) {
		const struct area *a = &areas->a[i];
		f->parts[f->nparts++] = (struct rehearsal_part){
			.number = a->inside || a->number != 0 ? a->number : t->number,
			.inside = a->inside,
			.left_out = !a->some,
			.sectors = a->sectors,
			.stored = rangeset_total_in(stored, a->sectors) };
	}
	int rc = stored_outside(&outside, areas, stored, e);
	f->outside += outside;
	return rc;
}

/* Find the partitions of a place as they will be after the installation; `d` is the disk. */
static int
find_areas(
    struct place *p, struct disk *d, struct rehearsal_found *f, struct err *e)
{
	const struct target *t = &p->target;
	struct rangeset stored;
	struct areas areas;

	areas_init(&areas);
	rangeset_init(&stored);
	int rc = t->fit != NULL
	             ? fit_areas(t->fit, &p->free_space, &areas, e)
	             : free_space_areas(&p->free_space, t, d, p->in->sector_bytes, NULL, &areas, e);
	f->table = rc == 1;
	if (rc >= 0)
		rc = rangeset_add_shifted(&stored, &p->free_space.stored, t->slice.off, e);
	rangeset_seal(&stored);
	f->stored += rangeset_total(&stored);
	if (rc == 0)
		rc = list_parts(f, t, &areas, &stored, e);
	areas_free(&areas);
	rangeset_free(&stored);
	return rc;
}

static int
find_parts(struct rehearsal *r, struct rehearsal_found *f, struct err *e)
{
	static const struct disk_ops ops = { .pread = rehearsal_pread };
	struct disk *target = r->in->disk, *d;
	uint64_t bytes = disk_size_bytes(target);
	struct err none;
	int rc = 0;

	if (bytes == UINT64_MAX)
		bytes = r->source.sectors * SECTOR_BYTES;
	enum disk_kind kind = disk_kind(target) == DISK_BLOCK ? DISK_BLOCK : DISK_FILE;
	if (disk_open_ops(&d, disk_name(target), kind, bytes, &ops, r, e) != 0)
		return -1;
	disk_set_sector_bytes(d, disk_sector_bytes(target));
	for (unsigned i = 0; rc == 0 && i < r->in->n; i++)
		rc = find_areas(&r->in->place[i], d, f, e);
	disk_close(d, &none);
	return rc;
}

/* With --only, all partitions together. */
static uint64_t
room_bytes(const struct install *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->n; i++) {
		uint64_t room = in->place[i].target.room;
		if (room == UINT64_MAX)
			return UINT64_MAX;
		sum += room * SECTOR_BYTES;
	}
	return sum;
}

static void
begin_found(const struct rehearsal *r)
{
	const struct install *in = r->in;

	*r->found = (struct rehearsal_found){ .kind = disk_kind(in->disk),
		.fresh = r->fresh,
		.replaces = in->held_bytes > 0,
		.chunks = in->place->resume.expected,
		.needed = r->source.needed,
		.target_bytes = room_bytes(in) };
}

/* The partitions are found by the image's own table, in the first MiB, which chunk 0 has. */
static int
list_image(struct rehearsal *r, const struct chunk *c, const void *chunk0, struct err *e)
{
	const struct target *t = &r->in->place->target;
	struct rehearsal_found *f = r->found;
	struct rangeset none;
	struct areas areas;

	areas_init(&areas);
	rangeset_init(&none);
	uint64_t bytes = f->target_bytes != UINT64_MAX ? f->target_bytes
	                                               : c->h.lastsect * SECTOR_BYTES;
	int rc = areas_of_image(&areas, c, chunk0, t->slice.len == 0, bytes, e);
	f->table = rc == 1;
	for (size_t i = 0; i < areas.n; i++)
		areas.a[i].sectors.off += t->slice.off;
	if (rc >= 0)
		rc = list_parts(f, t, &areas, &none, e);
	areas_free(&areas);
	return rc;
}

/* The partitions of --only, as far as they are known. */
static int
list_places(struct rehearsal *r, struct err *e)
{
	const struct install *in = r->in;
	struct rehearsal_found *f = r->found;

	f->table = in->known;
	f->parts = calloc(in->n, sizeof *f->parts);
	if (f->parts == NULL)
		return err_nomem(e, "list of partitions");
	for (unsigned i = 0; i < in->n; i++) {
		const struct target *t = &in->place[i].target;
		if (in->place[i].known)
			f->parts[f->nparts++] = (struct rehearsal_part){
				.number = t->number, .sectors = t->slice };
	}
	return 0;
}

/* The partitions of --fit, with their places. */
static int
list_plan(struct rehearsal *r, const void *chunk0, struct err *e)
{
	struct rehearsal_found *f = r->found;

	if (fit_learn_alone(r->in, 0, chunk0, e) != 0)
		return -1;
	const struct fitplan *p = install_plan(r->in);
	f->table = true;
	f->needed = p->least;
	f->parts = calloc(p->n, sizeof *f->parts);
	if (f->parts == NULL)
		return err_nomem(e, "list of partitions");
	for (unsigned i = 0; i < p->n; i++)
		f->parts[f->nparts++] = (struct rehearsal_part){
			.number = p->parts[i].number, .sectors = p->parts[i].is };
	return 0;
}

int
rehearsal_early(struct install *in, const void *chunk0, struct err *e)
{
	struct rehearsal *r = in->rehearsal;
	struct rehearsal_found *f = r->found;
	struct chunk c;

	begin_found(r);
	if (chunk_parse(&c, chunk0, e) != 0)
		return -1;
	int rc = install_fits(in)      ? list_plan(r, chunk0, e)
	         : install_is_only(in) ? list_places(r, e)
	                               : list_image(r, &c, chunk0, e);
	if (c.ext.has_image) {
		f->image_bytes = c.ext.image.source_bytes;
		memcpy(f->filesystems, c.ext.image.filesystems, sizeof f->filesystems);
	}
	install_tell_replaced(in, f->image_bytes);
	chunk_free(&c);
	return rc;
}

/* How much of all partitions of --only must be there. */
static uint64_t
needed(const struct install *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->n; i++) {
		const struct rangeset *s = &in->place[i].free_space.stored;
		size_t n = rangeset_count(s);
		sum += n > 0 ? range_end(rangeset_get(s, n - 1)) : 0;
	}
	return sum;
}

int
rehearsal_end(struct install *in, struct err *e)
{
	struct rehearsal *r = in->rehearsal;

	begin_found(r);
	r->found->whole = true;
	install_tell_replaced(in, r->source.sectors * SECTOR_BYTES);
	if (find_parts(r, r->found, e) != 0)
		return -1;
	if (install_fits(in))
		r->found->needed = install_plan(in)->least;
	else if (install_is_only(in))
		r->found->needed = needed(in);
	return 0;
}

void
rehearsal_grown(struct install *in, const struct ptable_change *change)
{
	struct rehearsal_found *f = in->rehearsal->found;

	for (size_t i = 0; i < f->nparts && change->grown != 0; i++)
		if (f->parts[i].number == change->grown && !f->parts[i].inside)
			f->parts[i].sectors.len = change->is_sectors;
}

void
rehearsal_found_free(struct rehearsal_found *f)
{
	free(f->parts);
	f->parts = NULL;
	f->nparts = 0;
}
