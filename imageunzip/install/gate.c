/* gate.c: refuses an image that was surely not meant for the target, before anything is
 * written. install.c and install_check.c ask when a chunk is fed; the decoders' threads
 * ask about what each chunk of a delta replaces. */
#include "imageunzip/install/gate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/disk/inuse.h"
#include "common/disk/ptable.h"
#include "imageunzip/install/tail.h"

enum { STATE_TEXT_BYTES = 128 };

void
gate_init(struct gate *g, const struct target *t)
{
	/* The gate is open from the beginning for a new file, which holds nothing, and for
	 * a pipe, whose chunks come in order. */
	*g = (struct gate){ .closed = !t->cfg->force && !t->fresh &&
		                      disk_seekable(t->disk) };
}

/* The list of filesystems begins with the number of a partition; 0 means a disk without
 * partitions. */
static bool
has_partitions(const struct ext_image *i)
{
	return i->kind == EXT_KIND_DISK && strtoul(i->filesystems, NULL, 10) != 0;
}

static bool
is_partition_device(struct disk *d)
{
	struct stat st;
	int fd = disk_fd(d);

	return fd >= 0 && fstat(fd, &st) == 0 && inuse_is_partition("", &st);
}

/* A table that cannot be read counts as none. */
static bool
has_table(struct disk *d)
{
	struct ptable pt;
	struct err none;

	if (ptable_read(&pt, d, &none) != 0)
		return false;
	bool has = pt.nparts > 0;
	ptable_free(&pt);
	return has;
}

int
gate_check_meant(const struct target *t, const struct ext *x, struct err *e)
{
	const char *name = disk_name(t->disk);

	if (t->only.len != 0)
		return 0;
	if (t->cfg->force || t->fresh || !disk_seekable(t->disk) || !x->has_image)
		return 0;
	if (has_partitions(&x->image) && t->slice.len != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: the image is of a whole disk, with its partition table, and "
		    "-s names one partition: leave out -s to install it on the disk; "
		    "--only %" PRIu64 " takes partition %" PRIu64
		    " of the image; --force overrides this check",
		    name, t->cfg->slice, t->cfg->slice);
	if (has_partitions(&x->image) && is_partition_device(t->disk))
		return err_set(e, ERR_REFUSED,
		    "%s: is a partition, and the image is of a whole disk, with its "
		    "partition table: name the disk instead; --force overrides this "
		    "check",
		    name);
	if (x->image.kind == EXT_KIND_PARTITION && t->slice.len == 0 &&
	    !is_partition_device(t->disk) && has_table(t->disk))
		return err_set(e, ERR_REFUSED,
		    "%s: is a disk with a partition table, and the image is of one "
		    "partition, so that the table would be lost: -s N installs it in "
		    "partition N; --force overrides this check",
		    name);
	return 0;
}

/* What the disk holds in the place of a sample: the base's data, the delta's, or
 * something else. */
enum found { BEFORE, AFTER, OTHER };

/* Is the sample's data on the disk all zeros? Zeros do not prove that the delta was
 * installed. */
static bool
is_zero(const struct sample *x, const uint8_t *data)
{
	size_t bytes = x->sectors.len * SECTOR_BYTES;

	return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Is all of a sample installed? With --only most samples are not. */
static bool
is_installed(const struct target *t, const struct sample *x)
{
	const struct range *r = &x->sectors;

	return t->only.len == 0 ||
	       range_clip(*r, t->only.off, range_end(t->only)).len == r->len;
}

/* Where a sample lies, in sectors from the target's first sector. */
static uint64_t
place_of(const struct target *t, const struct sample *x)
{
	return x->sectors.off - t->only.off;
}

/* Is the sample in the first 4 KiB, whose data is not on the disk while the incomplete
 * marker stands there? */
static bool
is_under_marker(const struct target *t, const struct sample *x)
{
	return t->boot_area.was_marked && place_of(t, x) < BOOT_AREA_SECTORS;
}

/* Is the sample in the tail of a disk of another size?  Such a tail is not installed, so it
 * is not on the target. */
static bool
is_tail_elsewhere(const struct target *t, const struct tail *x, const struct sample *s)
{
	return !tail_in_place(t, x) && tail_touches(x, &s->sectors, 1);
}

static int
look_at(struct target *t, enum sample_hash hash, const struct sample *x, void *buf,
    enum found *found, struct err *e)
{
	uint8_t digest[SAMPLE_DIGEST_BYTES];
	struct range at = { place_of(t, x), x->sectors.len };
	size_t bytes = at.len * SECTOR_BYTES;

	*found = OTHER;
	if (!range_within(at, t->room))
		return 0;
	ssize_t n = target_read(t, at.off, buf, bytes, e);
	if (n < 0)
		return -1;
	if ((size_t)n < bytes)
		return 0;
	if (sample_digest(hash, buf, bytes, digest, e) != 0)
		return -1;
	if (memcmp(digest, x->before, sizeof digest) == 0)
		*found = BEFORE;
	else if (memcmp(digest, x->after, sizeof digest) == 0)
		*found = AFTER;
	return 0;
}

static int
refuse(const struct target *t, const struct ext *x, const struct sample *at,
    struct err *e)
{
	char base[STATE_TEXT_BYTES];

	return err_set(e, ERR_REFUSED,
	    "%s: does not hold the base of this delta, %s: what begins at sector "
	    "%" PRIu64 " differs; install the base first, or use --force to install "
	    "the delta all the same",
	    disk_name(t->disk), ext_state_text(&x->base, base, sizeof base),
	    place_of(t, at) + t->slice.off);
}

static int
refuse_unknown(const struct target *t, struct err *e)
{
	return err_set(e, ERR_REFUSED,
	    "%s: the delta does not say what its base held in this partition, so it "
	    "cannot be checked that the base is there: install the whole delta without "
	    "--only, or this partition of it all the same with --force",
	    disk_name(t->disk));
}

/* Find the first sample that is neither BEFORE nor AFTER; n: there is none.  Writing may
 * have been interrupted in the middle of a sample, which only g->begun excuses. */
static int
first_other(struct target *t, const struct ext *x, struct gate *g, size_t *other,
    struct err *e)
{
	const struct samples *s = &x->samples;
	void *buf = malloc((size_t)SAMPLE_SECTORS_MAX * SECTOR_BYTES);
	size_t torn = s->n;
	int rc = buf != NULL ? 0 : err_nomem(e, "a sample of the base");

	*other = s->n;
	for (size_t i = 0; rc == 0 && i < s->n && *other == s->n; i++) {
		enum found found;
		if (!is_installed(t, &s->v[i]))
			continue;
		g->compared = true;
		if (is_under_marker(t, &s->v[i]) ||
		    is_tail_elsewhere(t, &x->tail, &s->v[i]))
			continue;
		rc = look_at(t, s->hash, &s->v[i], buf, &found, e);
		g->begun |= rc == 0 && found == AFTER && !is_zero(&s->v[i], buf);
		if (rc != 0 || found != OTHER)
			continue;
		if (sample_stays(&s->v[i]))
			*other = i;
		else
			torn = i < torn ? i : torn;
	}
	if (*other == s->n && !g->begun)
		*other = torn;
	free(buf);
	return rc;
}

static int
check_samples(struct target *t, const struct ext *x, struct gate *g, struct err *e)
{
	size_t other;

	if (first_other(t, x, g, &other, e) != 0)
		return -1;
	return other == x->samples.n ? 0 : refuse(t, x, &x->samples.v[other], e);
}

int
gate_open(struct gate *g, struct target *t, const struct ext *x, bool begun,
    struct err *e)
{
	if (!g->closed)
		return 0;
	g->begun = begun;
	if (ext_is_delta(x) && (!x->has_samples || x->samples.n == 0))
		return err_set(e, ERR_REFUSED,
		    "%s: the delta does not say what its base held, so it cannot be "
		    "checked that the base is there: imagezip -H or imagedelta of this "
		    "version makes one that does; --force installs this one all the "
		    "same",
		    disk_name(t->disk));
	if (ext_is_delta(x) && check_samples(t, x, g, e) != 0)
		return -1;
	g->closed = false;
	return 0;
}

int
gate_check_chunk(const struct gate *g, struct target *t, const struct ext *x, bool stores,
    struct err *e)
{
	struct gate own = *g; /* what is found for this chunk does not count for others */

	if (t->cfg->force || !ext_is_delta(x) || !disk_seekable(t->disk))
		return 0;
	if (check_samples(t, x, &own, e) != 0)
		return -1;
	return own.compared || !stores || t->only.len == 0 ? 0 : refuse_unknown(t, e);
}
