/* target_tail.c: decides where the sectors of an image's tail go.
 *
 * The feeder's thread checks each record and makes the maps of the target; each chunk that
 * stores something of the tail has the record, so decoders and the writer have the maps
 * before they have such a chunk. Any thread may ask whether the tail goes to its place.
 *
 * Superblocks of Linux RAID can be moved: version 0.90 does not say where it lies nor how
 * large its disk is, version 1.0 names its own sector, which target_tail_finish() mends; bitmap
 * and list of bad blocks lie at distances from the superblock, and go with it. Everything
 * else holds numbers of its disk's sectors or its disk's serial number.
 */
#include "imageunzip/install/target_tail.h"

#include <inttypes.h>

#include "fsmods/md.h"

bool
target_tail_in_place(const struct target *t, const struct tail *x)
{
	uint64_t bytes = x->disk_sectors * SECTOR_BYTES;

	/* A partition that is installed alone has no tail. */
	if (x->n == 0 || t->only.len != 0)
		return true;
	if (t->fit != NULL)
		return false;
	if (t->cfg->tail == INSTALL_TAIL_SKIP || t->slice.len != 0)
		return false;
	if (t->room != UINT64_MAX)
		return disk_size_bytes(t->disk) == bytes;
	/* A file that is to become as long as the image says never gets shorter. */
	return !t->cfg->resize || disk_kind(t->disk) != DISK_FILE ||
	       disk_size_bytes(t->disk) <= bytes;
}

/* How far a piece moves on a disk of `sectors` sectors; false: it cannot be moved. */
static bool
distance(const struct tail *x, const struct tail_piece *p, uint64_t sectors,
    uint64_t *by)
{
	uint64_t (*place)(uint64_t) = p->kind == TAIL_MD0   ? md0_place
	                              : p->kind == TAIL_MD1 ? md1_place
	                                                    : NULL;

	if (place == NULL || sectors <= x->disk_sectors ||
	    place(x->disk_sectors) == UINT64_MAX)
		return false;
	*by = place(sectors) - place(x->disk_sectors);
	return p->sectors.off + *by >= x->needed &&
	       range_end(p->sectors) <= sectors - *by;
}

static bool
moves(const struct target *t, const struct tail *x, const struct tail_piece *p,
    uint64_t *by)
{
	return t->cfg->tail == INSTALL_TAIL_MOVE && t->slice.len == 0 &&
	       t->room != UINT64_MAX && distance(x, p, t->room, by);
}

/* Map the sectors [from, to) to their own place, as far as something is stored there. */
static int
keep(struct target *t, const struct tail *x, uint64_t from, uint64_t to, struct err *e)
{
	return maps_add(&t->diverted,
	    range_clip((struct range){ 0, x->needed }, from, to), from, e);
}

/* Map the pieces where they go, and all other sectors to their own place. */
static int
divert(struct target *t, const struct tail *x, struct err *e)
{
	uint64_t from = 0, by;

	t->diverted = (struct maps){ .n = 0 };
	for (size_t i = 0; i < x->n; i++) {
		const struct tail_piece *p = &x->pieces[i];
		if (keep(t, x, from, p->sectors.off, e) != 0 ||
		    (moves(t, x, p, &by) &&
			maps_add(&t->diverted, p->sectors, p->sectors.off + by, e) != 0))
			return -1;
		from = range_end(p->sectors);
	}
	if (keep(t, x, from, UINT64_MAX, e) != 0)
		return -1;
	t->maps = &t->diverted;
	return 0;
}

/* Can everything be moved (--tail=move)? The places are then spared. */
static int
check_moves(struct target *t, const struct tail *x, struct err *e)
{
	uint64_t from = UINT64_MAX, end = 0, by;

	for (size_t i = 0; i < x->n; i++) {
		const struct tail_piece *p = &x->pieces[i];
		if (p->kind == TAIL_UNKNOWN)
			continue; /* left out, and the user is told */
		if (!moves(t, x, p, &by))
			return err_set(e, ERR_REFUSED,
			    "--tail=move: %s: %s cannot be moved from a disk of "
			    "%" PRIu64 " sectors to one of %" PRIu64
			    "%s; --tail=same leaves it out",
			    disk_name(t->disk), tail_kind_name(p->kind),
			    x->disk_sectors, t->room,
			    t->room < x->disk_sectors ? ", which is smaller"
						      : "");
		from = p->sectors.off + by < from ? p->sectors.off + by : from;
		end = range_end(p->sectors) + by;
	}
	if (from < end)
		target_spare(t, (struct range){ from, end - from });
	return 0;
}

/* Refuse to adapt the table when the disk's end holds a tail: it would be overwritten. */
static int
check_fit(const struct target *t, const struct tail *x, struct err *e)
{
	for (size_t i = 0; i < x->n && (t->cfg->fix_gpt || t->cfg->grow || t->fit != NULL); i++)
		if (x->pieces[i].kind != TAIL_UNKNOWN)
			return err_set(e, ERR_REFUSED,
			    "%s: --fix-gpt, --grow and --fit would overwrite %s at the end "
			    "of the disk, which the image has; --tail=skip leaves it out",
			    disk_name(t->disk), tail_kind_name(x->pieces[i].kind));
	return 0;
}

int
target_tail_check(struct target *t, const struct tail *x, struct err *e)
{
	if (x->n == 0)
		return 0;
	if (t->fit != NULL && t->cfg->tail == INSTALL_TAIL_SKIP)
		return 0;
	if (target_tail_in_place(t, x) || t->fit != NULL)
		return check_fit(t, x, e);
	if (t->cfg->tail == INSTALL_TAIL_MOVE && check_moves(t, x, e) != 0)
		return -1;
	return divert(t, x, e);
}

static int
mend_md1(struct target *t, uint64_t sector, struct err *e)
{
	uint8_t b[MD_BYTES];

	if (disk_read(t->disk, b, sizeof b, sector * SECTOR_BYTES, e) != 0)
		return -1;
	if (!md1_move(b, sector))
		return err_set(e, ERR_FORMAT,
		    "%s: the RAID superblock that was moved to sector %" PRIu64
		    " has a wrong checksum",
		    disk_name(t->disk), sector);
	return target_fix(t, sector * SECTOR_BYTES, b, sizeof b, e);
}

int
target_tail_finish(struct target *t, const struct tail *x, struct err *e)
{
	uint64_t by;

	if (target_tail_in_place(t, x))
		return 0;
	for (size_t i = 0; i < x->n; i++)
		if (x->pieces[i].kind == TAIL_MD1 && moves(t, x, &x->pieces[i], &by) &&
		    mend_md1(t, md1_place(t->room), e) != 0)
			return -1;
	return 0;
}
