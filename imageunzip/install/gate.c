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
#include "imageunzip/install/base_file.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/target_tail.h"

enum { STATE_TEXT_BYTES = 128 };

void
gate_init(struct gate *g, const struct target *t)
{
	/* The gate is open from the beginning for a new file, which holds nothing, and for
	 * a pipe, whose chunks come in order. */
	*g = (struct gate){ .closed = !t->cfg->force && !t->fresh &&
		                      disk_seekable(t->disk) };
	pthread_mutex_init(&g->lock, NULL);
	rangeset_init(&g->shared);
}

void
gate_free(struct gate *g)
{
	pthread_mutex_destroy(&g->lock);
	rangeset_free(&g->shared);
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
	if (ext_is_partitioned(x) && t->slice.len != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: the image is of a whole disk, with its partition table, and "
		    "-s names one partition: leave out -s to install it on the disk; "
		    "--only %u takes partition %u of the image; --force overrides this "
		    "check",
		    name, t->number, t->number);
	if (ext_is_partitioned(x) && is_partition_device(t->disk))
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

/* Is all of a sample installed? With --only most samples are not. */
static bool
is_installed(const struct target *t, const struct sample *x)
{
	uint64_t to;

	return maps_whole(t->maps, x->sectors, &to);
}

/* Where a sample lies that is installed, in sectors from the target's first sector. */
static uint64_t
place_of(const struct target *t, const struct sample *x)
{
	uint64_t to;

	maps_run(t->maps, x->sectors, &to);
	return to;
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
	return !target_tail_in_place(t, x) && tail_touches(x, &s->sectors, 1);
}

/* Does the disk hold what this sample says: the base's data, or the delta's?  Returns 1, 0,
 * or -1. */
static int
holds(struct target *t, enum sample_hash hash, const struct sample *x, void *buf,
    struct err *e)
{
	uint8_t digest[SAMPLE_DIGEST_BYTES];
	struct range at = { place_of(t, x), x->sectors.len };
	size_t bytes = at.len * SECTOR_BYTES;

	if (!range_within(at, t->room))
		return 0;
	ssize_t n = target_read(t, at.off, buf, bytes, e);
	if (n < 0 || (size_t)n < bytes)
		return n < 0 ? -1 : 0;
	if (sample_digest(hash, buf, bytes, digest, e) != 0)
		return -1;
	return memcmp(digest, x->before, sizeof digest) == 0 ||
	       memcmp(digest, x->after, sizeof digest) == 0;
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

/* A chunk whose samples are compared. */
struct look {
	struct target *t;
	const struct ext *x;
	const struct chunk *c; /* NULL: only its extension area is here */
	bool begun;
	bool compared; /* a sample was looked for */
	void *buf;     /* of the longest sample */
};

static int
look_begin(struct look *l, struct err *e)
{
	l->buf = malloc((size_t)SAMPLE_SECTORS_MAX * SECTOR_BYTES);
	return l->buf != NULL ? 0 : err_nomem(e, "a sample of the base");
}

/* Must this sample be found on the target?  Where a delta was begun, what it changes may be
 * torn.  That it was begun is known by its marker or a state alone: a disk that was used
 * since its base was installed can hold some of the delta's data, too. */
static bool
counts(const struct look *l, const struct sample *s)
{
	return !is_under_marker(l->t, s) && !is_tail_elsewhere(l->t, &l->x->tail, s) &&
	       !(l->begun && !sample_stays(s));
}

/* Is the sample of sectors that the chunk changes, and is all that the chunk stores there
 * already?  Then it may be installed again.  Of a block that is partly free by now, imagezip
 * -H cannot know what a disk holds when the delta is installed. */
static int
is_there(const struct look *l, const struct sample *s, struct err *e)
{
	if (l->c == NULL || sample_stays(s) ||
	    range_clip(s->sectors, l->c->h.firstsect, l->c->h.lastsect).len == 0)
		return 0;
	return job_is_there(l->c, l->t, e);
}

static int
check_sample(struct look *l, enum sample_hash hash, const struct sample *s, struct err *e)
{
	if (!is_installed(l->t, s))
		return 0;
	l->compared = true;
	if (!counts(l, s))
		return 0;
	int rc = holds(l->t, hash, s, l->buf, e);
	if (rc == 0)
		rc = is_there(l, s, e);
	return rc == 0 ? refuse(l->t, l->x, s, e) : rc < 0 ? -1 : 0;
}

/* Check a sample that the chunk shares with others, before any of them is written.  Whoever
 * is first compares, and holds the lock meanwhile; the others may already have written when
 * they are here. */
static int
check_shared(struct gate *g, struct look *l, const struct sample *s, struct err *e)
{
	pthread_mutex_lock(&g->lock);
	bool known = rangeset_contains(&g->shared, s->sectors.off);
	int rc = known ? 0 : check_sample(l, l->x->shared.hash, s, e);
	if (rc == 0 && !known)
		rc = rangeset_add(&g->shared, s->sectors, e);
	rangeset_seal(&g->shared);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

static int
check_samples(struct gate *g, struct look *l, struct err *e)
{
	const struct samples *own = &l->x->samples, *shared = &l->x->shared;
	int rc = look_begin(l, e);

	for (size_t i = 0; rc == 0 && i < own->n; i++)
		rc = check_sample(l, own->hash, &own->v[i], e);
	for (size_t i = 0; rc == 0 && i < shared->n; i++)
		rc = check_shared(g, l, &shared->v[i], e);
	free(l->buf);
	return rc;
}

/* What stays as it was is no part of a delta, nor are its digests, so "all" alone cannot be
 * compared. */
static int
refuse_all(const struct ext *x, struct err *e)
{
	char base[STATE_TEXT_BYTES];

	return err_set(e, ERR_USAGE,
	    "--check-base=all: the delta has digests of what it replaces and of a few "
	    "places besides, not of all that its base stored; --check-base=FILE reads and "
	    "compares all, where FILE is the image of the base, %s, or its signature",
	    ext_state_text(&x->base, base, sizeof base));
}

/* With --check-base, all that the base stored is compared, too. */
static int
check_base_file(struct target *t, const struct ext *x, bool begun, struct err *e)
{
	if (t->cfg->check_base == NULL)
		return 0;
	if (strcmp(t->cfg->check_base, "all") == 0)
		return refuse_all(x, e);
	if (begun)
		return err_set(e, ERR_REFUSED,
		    "%s: an installation of the delta was begun, so the base is not there "
		    "as a whole: leave out --check-base",
		    disk_name(t->disk));
	return base_file_check(t, x, e);
}

int
gate_open(struct gate *g, struct target *t, const struct ext *x, const struct chunk *c,
    bool begun, struct err *e)
{
	struct look l = { .t = t, .x = x, .c = c, .begun = begun };

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
	if ((ext_is_delta(x) && !g->all_compared && check_samples(g, &l, e) != 0) ||
	    check_base_file(t, x, begun, e) != 0)
		return -1;
	g->compared = l.compared;
	g->closed = false;
	return 0;
}

int
gate_check_chunk(struct gate *g, struct target *t, const struct chunk *c, bool stores,
    struct err *e)
{
	struct look l = { .t = t, .x = &c->ext, .c = c, .begun = g->begun };

	if (t->cfg->force || !ext_is_delta(&c->ext) || !disk_seekable(t->disk))
		return 0;
	if (check_samples(g, &l, e) != 0)
		return -1;
	return l.compared || g->compared || !stores || t->only.len == 0
	           ? 0
	           : refuse_unknown(t, e);
}
