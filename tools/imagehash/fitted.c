/* fitted.c: sectors of an image are read from where a disk that was fitted has them (fitted.h).
 * main.c calls this in the first thread. */
#include "tools/imagehash/fitted.h"

#include <stdlib.h>

#include "common/disk/ptable.h"
#include "common/image/format/sig.h"
#include "common/image/read/image_view.h"

struct fitted {
	struct disk *disk; /* the one that was fitted; the target's again after fitted_close() */
	struct sectors *image;
	struct image_view view;
	struct disk *shown; /* the image as a disk */
	struct ptable was, is;
};

/* The image's partition that a sector is in; NULL: none.  *run: how many sectors from it on are
 * in that partition, or in none, of `most`. */
static const struct partition *
partition_of(const struct fitted *f, uint64_t sector, uint64_t most, uint64_t *run)
{
	*run = most;
	for (unsigned i = 0; i < f->was.nparts; i++) {
		const struct partition *p = &f->was.parts[i];
		uint64_t end = range_end(p->sectors);
		if (p->empty || end <= sector)
			continue;
		uint64_t to = p->sectors.off <= sector ? end : p->sectors.off;
		*run = to - sector < *run ? to - sector : *run;
		if (p->sectors.off <= sector)
			return p;
	}
	return NULL;
}

static int
read_of_partition(const struct fitted *f, const struct partition *was, struct range r,
    void *buf, struct err *e)
{
	const struct partition *is = ptable_find(&f->is, was->number);
	uint64_t from = r.off - was->sectors.off;

	if (from + r.len > is->sectors.len)
		return err_set(e, ERR_REFUSED,
		    "%s: partition %u is smaller than what the image stores of it",
		    disk_name(f->disk), was->number);
	return disk_read(f->disk, buf, r.len * SECTOR_BYTES,
	    (is->sectors.off + from) * SECTOR_BYTES, e);
}

static int
read_sectors(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	const struct fitted *f = ctx;
	struct range r = { off / SECTOR_BYTES, len / SECTOR_BYTES };
	uint8_t *to = buf;
	int rc = 0;

	while (rc == 0 && r.len > 0) {
		uint64_t run;
		const struct partition *p = partition_of(f, r.off, r.len, &run);
		struct range part = { r.off, run };
		rc = p != NULL ? read_of_partition(f, p, part, to, e)
		               : disk_read(f->shown, to, run * SECTOR_BYTES,
				     r.off * SECTOR_BYTES, e);
		to += run * SECTOR_BYTES;
		r = (struct range){ r.off + run, r.len - run };
	}
	return rc;
}

static int
fitted_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	const struct disk_units sectors = { SECTOR_BYTES, read_sectors, ctx };

	return disk_read_units(&sectors, buf, len, off, e);
}

static int
check_tables(const struct fitted *f, struct err *e)
{
	if (f->was.kind == PTABLE_NONE || f->is.kind == PTABLE_NONE)
		return err_set(e, ERR_REFUSED, "%s: has no partition table",
		    disk_name(f->was.kind == PTABLE_NONE ? f->shown : f->disk));
	for (unsigned i = 0; i < f->was.nparts; i++)
		if (!f->was.parts[i].empty &&
		    ptable_find(&f->is, f->was.parts[i].number) == NULL)
			return err_set(e, ERR_REFUSED, "%s: has no partition %u, as the image has",
			    disk_name(f->disk), f->was.parts[i].number);
	return 0;
}

static int
open_image(struct fitted *f, const char *path, struct err *e)
{
	int is = sig_is_file(path, e);

	if (is == 1)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is a signature, but --fit needs the image, which has a table", path);
	if (is < 0 || sectors_open(&f->image, path, e) != 0)
		return -1;
	return image_view_open(&f->shown, &f->view, f->image, e);
}

int
fitted_open(struct fitted **out, struct target *t, const char *path, struct err *e)
{
	static const struct disk_ops ops = { .read = fitted_read, .one_process = true };
	struct fitted *f = calloc(1, sizeof *f);
	struct disk *view;

	*out = f;
	if (f == NULL)
		return err_nomem(e, "partition tables");
	f->disk = t->disk;
	if (open_image(f, path, e) != 0 || ptable_read(&f->was, f->shown, e) != 0 ||
	    image_view_check(&f->view, e) != 0 || ptable_read(&f->is, f->disk, e) != 0 ||
	    check_tables(f, e) != 0)
		return -1;
	t->slice = (struct range){ 0, sectors_total(f->image) };
	if (disk_open_ops(&view, disk_name(f->disk), DISK_FILE,
		t->slice.len * SECTOR_BYTES, &ops, f, e) != 0)
		return -1;
	t->disk = view;
	return 0;
}

void
fitted_close(struct fitted *f, struct target *t)
{
	struct err ignored; /* they were only read */

	if (f == NULL)
		return;
	if (t->disk != f->disk)
		disk_close(t->disk, &ignored);
	t->disk = f->disk;
	disk_close(f->shown, &ignored);
	sectors_close(f->image);
	ptable_free(&f->was);
	ptable_free(&f->is);
	free(f);
}
