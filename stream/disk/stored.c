/* stored.c: finds for which sectors of a streaming disk the image stores something, and whether the
 * disk is large enough for it.  streamed_open.c calls this in one thread. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/number.h"
#include "common/image/read/reaches.h"
#include "common/target/enough.h"
#include "stream/disk/placing.h"
#include "stream/disk/streamed_impl.h"

uint64_t
stored_end(const struct streamed *d)
{
	size_t n = rangeset_count(&d->stored);

	return n > 0 ? range_end(rangeset_get(&d->stored, n - 1)) : 0;
}

static void
tell_warning(void *arg, const char *sentence)
{
	streamed_tell(arg, "warning: %s", sentence);
}

static int
guess_reach(struct streamed *d, const struct enough *asked, struct err *e)
{
	struct reach *found = malloc(sizeof *found);
	struct disk *image = NULL;
	struct err ignored;

	if (found == NULL)
		return err_nomem(e, "a list of partitions");
	int rc = export_as_disk(&image, d->source, e);
	if (rc == 0) {
		reaches_of_disk(found, image, &d->stored);
		rc = enough_check(asked, found, e);
		disk_close(image, &ignored);
	}
	free(found);
	return rc;
}

static int
check_placed_reach(struct streamed *d, const struct enough *asked, struct err *e)
{
	struct reach *placed = malloc(sizeof *placed);

	if (placed == NULL)
		return err_nomem(e, "a list of partitions");
	placing_reach(d->placing, export_reach(d->source), placed);
	int rc = enough_check(asked, placed, e);
	free(placed);
	return rc;
}

/* Refuse a disk that would cut a partition or a filesystem of the image. */
static int
check_reach(struct streamed *d, struct err *e)
{
	struct enough asked = { .target = d->cfg.disk,
		.room = d->bytes / SECTOR_BYTES,
		.disk = export_is_disk(d->source),
		.sector_bytes =
		    disk_kind(d->disk) == DISK_BLOCK ? disk_sector_bytes(d->disk) : 0,
		.warn = tell_warning,
		.arg = d };

	if (d->placing != NULL)
		return check_placed_reach(d, &asked, e);
	if (d->maps.map[0].from.len != UINT64_MAX)
		return 0; /* a plan that was checked when the disk began */
	if (export_reach(d->source) != NULL)
		return enough_check(&asked, export_reach(d->source), e);
	/* An image of an earlier version, one of another program, or a disk. */
	asked.lenient = export_is_foreign(d->source);
	return d->bytes < export_bytes(d->source) ? guess_reach(d, &asked, e) : 0;
}

int
stored_place(struct streamed *d, struct err *e)
{
	struct rangeset images;
	uint64_t to, n;

	rangeset_free(&d->stored);
	rangeset_init(&images);
	int rc = export_stored_on(d->source, d->bytes, &images, e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&images); i++) {
		struct range r = rangeset_get(&images, i);
		for (; rc == 0 && r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
			n = maps_run(&d->maps, r, &to);
			if (to != MAPS_NOWHERE)
				rc = rangeset_add(&d->stored, (struct range){ to, n }, e);
		}
	}
	rangeset_free(&images);
	rangeset_seal(&d->stored);
	d->stored_sectors = rangeset_total(&d->stored);
	return rc;
}

int
stored_find(struct streamed *d, struct err *e)
{
	if (stored_place(d, e) != 0)
		return -1;
	uint64_t end = stored_end(d), sectors = d->bytes / SECTOR_BYTES;
	char has[32], needs[32];
	if (end > sectors)
		return err_set(e, ERR_USAGE,
		    "%s is too small: it has %" PRIu64 " sectors of 512 bytes (%s), %s needs at "
		    "least %" PRIu64 " (%s)",
		    d->cfg.disk, sectors, human_bytes(d->bytes, has, sizeof has),
		    export_name(d->source), end,
		    human_bytes(end * SECTOR_BYTES, needs, sizeof needs));
	return check_reach(d, e);
}
