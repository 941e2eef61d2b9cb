/* hot.c: the filesystems of an image are scanned as those of its disk, to learn which sectors
 * every use changes.  main.c calls this once, in the first thread, before the delta is made. */
#include "tools/imagedelta/hot.h"

#include "common/image/read/image_view.h"
#include "common/image/read/sectors_table.h"
#include "fsmods/fsmod.h"

static int
scan(struct disk *d, struct range part, enum fs_place place, struct rangeset *hot,
    struct err *e)
{
	struct fs_scan fs;

	if (fsmods_scan(d, part, place, &fs, e) != 0)
		return -1;
	int rc = rangeset_add_shifted(hot, &fs.hot, part.off, e);
	fs_scan_free(&fs);
	return rc;
}

/* A disk has a partition table, unless all of it is one filesystem. */
static int
scan_all(struct disk *d, struct sectors *image, struct rangeset *hot, struct err *e)
{
	const struct ext *x = sectors_ext(image);
	struct range all = { 0, sectors_total(image) };
	struct ptable pt;
	int rc = 0;

	if (x->has_image && x->image.kind == EXT_KIND_FILE)
		return 0;
	bool bare = x->has_image && x->image.kind == EXT_KIND_PARTITION;
	int has = bare ? 0 : sectors_table(image, &pt, e);
	if (has != 1)
		return has < 0 ? -1 : scan(d, all, FS_ALONE, hot, e);
	for (unsigned i = 0; i < pt.nparts && rc == 0; i++)
		if (range_within(pt.parts[i].sectors, all.len))
			rc = scan(d, pt.parts[i].sectors, FS_IN_TABLE, hot, e);
	ptable_free(&pt);
	return rc;
}

int
hot_sectors(struct sectors *image, struct rangeset *hot, struct err *e)
{
	struct image_view v;
	struct disk *d;
	struct err none;

	if (image_view_open(&d, &v, image, e) != 0)
		return -1;
	int rc = scan_all(d, image, hot, e);
	disk_close(d, &none);
	rangeset_seal(hot);
	return rc == 0 ? image_view_check(&v, e) : -1;
}
