/* slice_hold.c: holds the partitions that are installed to, while the other partitions of the
 * disk may be in use or be installed to.  install_open.c calls this in the thread that
 * opens the installation. */
#include "imageunzip/install/slice_hold.h"

#include <sys/stat.h>

/* The partition table stays as it is while the disk is shared. */
static int
find_slice(struct range *sectors, const char *path, unsigned number, struct err *e)
{
	struct disk *d;
	struct err ignored; /* nothing was written to the disk */

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = install_area(d, number, sectors, e);
	disk_close(d, &ignored);
	return rc;
}

static int
hold_number(struct disk_hold *h, const char *path, unsigned number, bool force,
    struct err *e)
{
	struct hold_wish w = { .path = path, .no_look = force };

	return find_slice(&w.sectors, path, number, e) == 0 ? hold_sectors(h, &w, e) : -1;
}

static int
hold_all(struct disk_hold *h, const char *path, const struct install_config *cfg,
    struct err *e)
{
	if (cfg->slice != 0)
		return hold_number(h, path, (unsigned)cfg->slice, cfg->force, e);
	for (unsigned i = 0; i < cfg->only.n; i++)
		if (hold_number(h, path, cfg->only.number[i], cfg->force, e) != 0)
			return -1;
	return 0;
}

static bool
has_partitions(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

int
slice_hold(struct disk_hold **out, const char *path, const struct install_config *cfg,
    struct err *e)
{
	*out = NULL;
	if ((cfg->slice == 0 && cfg->only.n == 0) || !has_partitions(path))
		return 0;
	if (hold_share(out, path, e) != 0)
		return -1;
	if (hold_all(*out, path, cfg, e) == 0)
		return 0;
	hold_end(*out);
	*out = NULL;
	return -1;
}
