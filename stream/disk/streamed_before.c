/* streamed_before.c: recognises disks that were streamed before, and must not begin anew.
 *  streamed_open.c calls this in one thread.
 *
 * A disk that is complete has a header where its table was.  The system on it may enlarge its last
 * partition over that place, and a filesystem writes over the header then.  Such a disk would look
 * like one that was never streamed. */
#include <inttypes.h>
#include <string.h>

#include "common/base/zero.h"
#include "common/disk/ptable.h"
#include "stream/disk/identity.h"
#include "stream/disk/streamed_impl.h"

enum { SAMPLES = 64 };

/* What was found in sectors that are spread over what the image stores. */
struct samples {
	unsigned looked, same;
};

/* The n-th of the sectors that the image stores. */
static uint64_t
stored_sector(const struct streamed *d, uint64_t n)
{
	size_t i = 0;

	while (n >= rangeset_get(&d->stored, i).len)
		n -= rangeset_get(&d->stored, i++).len;
	return rangeset_get(&d->stored, i).off + n;
}

/* Compare a sector of the disk with the image's.  One of zeros tells nothing, and the boot area is
 * what has changed. */
static int
compare_sector(struct streamed *d, uint64_t sector, struct samples *s, struct err *e)
{
	uint8_t has[SECTOR_BYTES], images[SECTOR_BYTES];
	uint64_t at = sector * SECTOR_BYTES;

	if (at < IDENTITY_BOOT_BYTES)
		return 0;
	if (streamed_fetch_once(d, images, sizeof images, at, e) != 0 ||
	    disk_read(d->disk, has, sizeof has, at, e) != 0)
		return -1;
	if (is_zero(images, sizeof images))
		return 0;
	s->looked++;
	s->same += memcmp(has, images, sizeof has) == 0;
	return 0;
}

static int
look_at_samples(struct streamed *d, struct samples *s, struct err *e)
{
	*s = (struct samples){ 0 };
	for (unsigned i = 0; i < SAMPLES && i < d->stored_sectors; i++) {
		uint64_t n = d->stored_sectors < SAMPLES ? i : d->stored_sectors / SAMPLES * i;
		if (compare_sector(d, stored_sector(d, n), s, e) != 0)
			return -1;
	}
	return 0;
}

int
streamed_before_check_disk(
    struct streamed *d, const uint8_t *boot, const struct table_header *h, struct err *e)
{
	uint8_t identity[TABLE_DISK_BYTES];
	struct samples s;

	identity_of(boot, identity);
	if (memcmp(identity, h->disk, sizeof identity) == 0)
		return 0;
	if (look_at_samples(d, &s, e) != 0)
		return -1;
	if (s.same == 0 || s.same < s.looked / 2)
		return err_set(e, ERR_REFUSED,
		    "%s: the sector table says that a disk is complete, and means a disk with "
		    "another signature, GUID or UUID: %u of %u sectors that were looked at are the "
		    "image's; to begin anew, which loses what is on this disk, ask for that",
		    d->cfg.disk, s.same, s.looked);
	streamed_tell(d,
	    "%s: has another signature, GUID or UUID than when it became complete, and %u of %u "
	    "sectors that were looked at are the image's: its boot sector was changed since",
	    d->cfg.disk, s.same, s.looked);
	return 0;
}

/* Has the disk the same signature, GUID or UUID as the image?  1, 0, or -1. */
static int
is_of_image(struct streamed *d, const uint8_t *boot, struct err *e)
{
	uint8_t own[TABLE_DISK_BYTES], images[TABLE_DISK_BYTES], other[IDENTITY_BOOT_BYTES];

	if (!identity_of(boot, own) || export_bytes(d->source) < sizeof other)
		return 0;
	if (export_read(d->source, other, sizeof other, 0, e) != 0)
		return -1;
	identity_of(other, images);
	return memcmp(own, images, sizeof own) == 0;
}

/* Is this sector of the disk in one of its partitions? */
static bool
is_in_partition(struct disk *disk, uint64_t sector)
{
	const struct range r = { sector, 1 };
	struct ptable table;
	struct err ignored; /* a table that cannot be read has no partitions */
	bool found = false;

	if (ptable_read(&table, disk, &ignored) != 0)
		return false;
	for (unsigned i = 0; i < table.nparts; i++)
		found |= range_clip(table.parts[i].sectors, r.off, range_end(r)).len > 0;
	ptable_free(&table);
	return found;
}

int
streamed_before_check_place(
    struct streamed *d, const uint8_t *boot, uint64_t table_at, struct err *e)
{
	if (!is_in_partition(d->disk, table_at / SECTOR_BYTES))
		return 0;
	int of_image = is_of_image(d, boot, e);
	if (of_image <= 0)
		return of_image;
	return err_set(e, ERR_REFUSED,
	    "%s: has the image's partition table already, and a partition was enlarged over the "
	    "place of the sector table, so this disk may be complete; to begin anew, which loses "
	    "what is on it, ask for that",
	    d->cfg.disk);
}

int
streamed_before_check_size(
    struct streamed *d, const uint8_t *boot, const struct table_header *h, struct err *e)
{
	uint8_t identity[TABLE_DISK_BYTES];

	identity_of(boot, identity);
	if (memcmp(identity, h->disk, sizeof identity) != 0)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: was complete when it had %" PRIu64 " bytes, and its size has changed since; to "
	    "begin anew, which loses what is on it, ask for that",
	    d->cfg.disk, h->disk_bytes);
}
