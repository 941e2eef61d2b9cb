/* install_written.c: looks at the target for how far an image reaches that does not say
 * it, where chunks were not looked at: those that an earlier run has installed, those of
 * which the target had a part already, and those that came before the chunks which tell
 * what is in them.  install_end.c calls this in the thread that feeds chunks, when all
 * is written and the target is still marked as incomplete. */
#include <stdlib.h>
#include <string.h>

#include "common/image/read/reaches.h"
#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/target_view.h"

/* Stands for the size of the image's disk, which may not be known. */
static const uint64_t UNKNOWN_BYTES = UINT64_C(1) << 52;

/* Behind the target's end are zeros. */
static int
endless_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	ssize_t n = disk_read_upto(ctx, buf, len, off, e);

	if (n >= 0)
		memset((char *)buf + n, 0, len - (size_t)n);
	return n >= 0 ? 0 : -1;
}

/* All partitions but those that the image says to have left out count as stored. */
static void
find_partitions(struct reach *found, struct disk *d, const struct guess *g)
{
	struct reach all;
	struct rangeset stored;
	struct err ignored;

	rangeset_init(&stored);
	if (rangeset_add(&stored, (struct range){ 0, UNKNOWN_BYTES / SECTOR_BYTES },
		&ignored) == 0) {
		rangeset_seal(&stored);
		reaches_of_disk(&all, d, &stored);
		for (size_t i = 0; i < all.n; i++)
			if (!guess_left_out(g, all.parts[i].number))
				reach_add(found, &all.parts[i]);
	}
	rangeset_free(&stored);
}

/* The filesystem of a partition that is installed alone. */
static void
find_only(struct reach *found, struct disk *d, const struct place *at)
{
	const struct target *t = &at->target;
	struct reach_part p = { .number = at->number,
		.sectors = t->only,
		.flags = REACH_STORED };

	if (reaches_look(d, (struct range){ t->slice.off, t->only.len }, &p))
		reach_add(found, &p);
}

static int
find(struct reach *found, const struct place *p, struct disk *view, struct err *e)
{
	const struct install *in = p->in;
	static const struct disk_ops ops = { .read = endless_read };
	struct disk *d;
	struct err closing;

	if (disk_open_ops(&d, disk_name(view), disk_kind(view), UNKNOWN_BYTES, &ops, view,
		e) != 0)
		return -1;
	disk_set_sector_bytes(
	    d, in->sector_bytes != 0 ? in->sector_bytes : disk_sector_bytes(view));
	if (p->number != 0)
		find_only(found, d, p);
	else
		find_partitions(found, d, in->guess);
	disk_close(d, &closing); /* it has no close of its own */
	return 0;
}

/* Was something not looked at that could be refused? */
static bool
is_unknown(const struct place *p)
{
	const struct install *in = p->in;
	uint64_t sector;

	if (in->cfg.force || p->reach_checked || in->delta ||
	    !disk_seekable(in->disk))
		return false;
	return p->number != 0 ||
	       (in->guess != NULL && guess_lacks(in->guess, &sector));
}

int
install_check_written(struct place *p, struct err *e)
{
	struct install *in = p->in;
	struct target_view view;
	struct reach *found;

	if (!is_unknown(p))
		return 0;
	if (p->number != 0) /* its first chunk need not have come */
		in->foreign = !in->ours;
	if (target_view_open(&view, &p->target, e) != 0)
		return -1;
	found = calloc(1, sizeof *found);
	int rc = found != NULL ? find(found, p, view.disk, e)
	                       : err_nomem(e, "a list of partitions");
	if (rc == 0)
		rc = install_compare_reach(p, found, e);
	free(found);
	return target_view_close(&view, rc, e);
}
