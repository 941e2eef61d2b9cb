/* source.c: opens a source, and checks that an image of it will be valid.
 *
 * main.c calls this in the first thread, before anything is written and again before the
 * image gets its name.
 */
#include "imagezip/capture/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/disk/disk_nbd.h"
#include "common/disk/hold.h"
#include "common/disk/inuse.h"
#include "common/image/format/kind.h"
#include "common/image/format/marker.h"

int
source_open(struct disk **out, const char *name, struct err *e)
{
	return disk_nbd_is(name) ? disk_open_nbd(out, name, e)
	                         : disk_open(out, name, DISK_READ, e);
}

int
source_check_size(struct disk *d, struct err *e)
{
	if (!disk_seekable(d) || disk_size_bytes(d) <= DISK_BYTES_MAX)
		return 0;
	return err_set(e, ERR_REFUSED, "%s: claims to have %" PRIu64 " bytes, which no disk has",
	    disk_name(d), disk_size_bytes(d));
}

/* Sectors that cannot be read now are tried again later, or become zeros. */
static bool
may_pass(const struct capture_what *o)
{
	return o->retries > 0 || o->bad_as_zeros;
}

int
source_check_kind(struct disk *d, const struct capture_what *o, struct err *e)
{
	int is = o->force ? 0 : kind_is_image(d, e);

	if (is < 0)
		return may_pass(o) ? 0 : -1;
	if (is == 0)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is itself an image: the disk comes first, and the image behind it "
	    "(imageunzip installs an image, and imagerezip converts it)",
	    disk_name(d));
}

static int
check_place(struct disk *d, const struct capture_what *o, uint64_t sector, unsigned number,
    struct err *e)
{
	struct err why;

	if (marker_refuse(d, sector, number, &why) == 0 ||
	    (why.kind != ERR_REFUSED && may_pass(o)))
		return 0;
	*e = why;
	if (why.kind != ERR_REFUSED)
		return -1;
	return err_set(e, why.kind,
	    "%.400s; finish it first, or use --force to capture it as it is", why.text);
}

int
source_check_whole(struct disk *d, const struct capture_what *o, struct err *e)
{
	bool any = o->force || o->look_only || !disk_seekable(d);

	return any ? 0 : check_place(d, o, 0, 0, e);
}

int
source_check_parts(
    struct disk *d, const struct layout *l, const struct capture_what *o, struct err *e)
{
	int rc = 0;

	if (o->force || o->look_only || !disk_seekable(d))
		return 0;
	for (unsigned i = 0; rc == 0 && i < l->nparts; i++)
		if (l->parts[i].number != 0 && strcmp(l->parts[i].fs, "ignored") != 0)
			rc = check_place(
			    d, o, l->parts[i].sectors.off, l->parts[i].number, e);
	return rc;
}

/* Is any of these sectors of the source stored? */
static bool
stores(const void *arg, struct range sectors)
{
	const struct layout *l = arg;
	uint64_t from = sectors.off > l->base ? sectors.off - l->base : 0;
	uint64_t to = range_end(sectors) > l->base ? range_end(sectors) - l->base : 0;
	size_t i = rangeset_find(&l->store, from);

	return from < to && i < rangeset_count(&l->store) &&
	       rangeset_get(&l->store, i).off < to;
}

/* Fill in l->in_use. -1 only when the use cannot be found out. The use of a source that
 * is read through a network is not known. wait: for a writer, who may be done soon. */
static int
find_use(struct disk *d, struct layout *l, bool wait, struct err *e)
{
	struct inuse_query q = {
		.root = "", .path = disk_name(d), .purpose = INUSE_TO_READ
	};

	l->in_use[0] = '\0';
	if (disk_fd(d) < 0)
		return 0;
	if (fstat(disk_fd(d), &q.st) != 0)
		return err_os(e, "%s", disk_name(d));
	/* It is not known where a stream begins, so it is not known which sectors it has;
	 * nor does it have the name of a file, which could be locked. */
	if (disk_seekable(d)) {
		q.wants = stores;
		q.arg = l;
		if (hold_look_source(&q, wait, e) == 0)
			return 0;
	} else if (inuse_check(&q, e) == 0) {
		return 0;
	}
	if (e->kind != ERR_REFUSED)
		return -1;
	snprintf(l->in_use, sizeof l->in_use, "%.390s", e->text);
	return 0;
}

int
source_check_use(
    struct disk *d, struct layout *l, const struct capture_what *o, struct err *e)
{
	if (find_use(d, l, !o->live && !o->look_only, e) != 0)
		return -1;
	if (l->in_use[0] == '\0' || o->live || o->look_only)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: unmount it, remount it read-only or capture a snapshot, or the image "
	    "may be damaged; use --live to capture it all the same",
	    l->in_use);
}

int
source_check_end(struct disk *d, struct layout *l, struct err *e)
{
	if (l->in_use[0] != '\0')
		return 0; /* --live: the image says so */
	if (find_use(d, l, false, e) != 0)
		return -1;
	if (l->in_use[0] == '\0')
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: this began during the capture, so the image may be damaged",
	    l->in_use);
}
