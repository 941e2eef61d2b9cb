/* map.c: the source of change "map": the sector table of a streaming disk (docs/stream-format.md)
 * says what was written locally since the disk began as an image.  The extract calls this, in its
 * first thread.
 *
 * A sector is the same as in the image if the image stores it and the table calls it absent, or
 * has it in a piece without local data.  The table says nothing of sectors that the image does
 * not store, so all of these count as changed.  A table that is on a disk, in a file or on
 * another device is read while the disk is served; what was written before open() is in it,
 * because the device is flushed first.
 *
 * A table that was not closed, and whose disk nobody serves, may lack marks: the server was killed,
 * or the power was cut.  Everything counts as changed then.  Before the disk is served
 * again, what may have been written is marked (stream/disk/cut_off.c). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk_nbd.h"
#include "common/image/read/sectors.h"
#include "common/image/read/source.h"
#include "dsync/change/change.h"
#include "stream/export/export.h"
#include "stream/table/table.h"

enum {
	POINTER_AT = 512, /* byte of a streaming disk where its pointer is */
	PATH_BYTES = 4096,
};

struct map_source {
	const struct change_job *job; /* borrowed */
	char table_path[PATH_BYTES];
	struct table_header header; /* as it was when the source was opened */
	bool exact; /* the table has every mark of what was written before then */
	struct disk *table_on;
	struct table *table;
	struct export *image;
	struct rangeset stored; /* what the image stores for a disk of this size */
};

static void
map_close(void *self)
{
	struct map_source *s = self;
	struct err ignored; /* nothing was written */

	table_close(s->table);
	disk_close(s->table_on, &ignored);
	export_close(s->image);
	rangeset_free(&s->stored);
	free(s);
}

/* Split TABLE,IMAGE at its last comma.  Returns the image. */
static const char *
split(struct map_source *s)
{
	const char *args = s->job->args, *comma = strrchr(args, ',');
	size_t n = comma != NULL ? (size_t)(comma - args) : 0;

	if (n == 0 || n >= PATH_BYTES || comma[1] == '\0')
		return NULL;
	memcpy(s->table_path, args, n);
	return comma + 1;
}

/* Open the image, and find the state that it names. */
static int
open_image(struct map_source *s, const char *path, struct change_about *about, struct err *e)
{
	struct export_config c = { .cache_bytes = EXPORT_CACHE_BYTES_MIN };
	struct sectors *image;
	struct ext_state state;
	struct source source;
	struct disk *d;

	if (sectors_open(&image, path, e) != 0)
		return -1;
	int rc = sectors_state(image, &state, e);
	sectors_close(image);
	if (rc != 0 || disk_open(&d, path, DISK_READ, e) != 0 ||
	    source_of_disk(&source, d, e) != 0 ||
	    export_open(&s->image, &source, 1, &c, e) != 0)
		return -1;
	memcpy(&about->base, state.id, sizeof about->base);
	return export_stored_on(s->image, s->job->device_bytes, &s->stored, e);
}

/* Find the table: at the beginning of what is named, or where a streaming disk's pointer says. */
static int
find_table(struct map_source *s, uint64_t *at, struct err *e)
{
	uint8_t block[PIECE_BYTES];

	*at = 0;
	int there = table_is_there(s->table_on, 0, &s->header, e);
	if (there != 0)
		return there < 0 ? -1 : 0;
	ssize_t n = disk_read_upto(s->table_on, block, sizeof block, POINTER_AT, e);
	if (n < 0)
		return -1;
	if (!table_header_get(&s->header, block, (size_t)n))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is neither a sector table nor a disk that is being streamed",
		    s->table_path);
	if (s->header.at_bytes == TABLE_ELSEWHERE)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is being streamed, and its sector table is elsewhere", s->table_path);
	*at = s->header.at_bytes;
	return 0;
}

/* The device must be what clients see, and not the disk below it, where absent sectors hold
 * anything. */
static int
check_device(const struct map_source *s, struct err *e)
{
	uint8_t block[PIECE_BYTES], id[EXPORT_ID_BYTES];
	struct table_header h;
	const char *device = s->job->device;

	ssize_t n = disk_read_upto(s->job->disk, block, sizeof block, POINTER_AT, e);
	if (n < 0 || export_identity(s->image, id, e) != 0)
		return -1;
	if (table_header_get(&h, block, (size_t)n))
		return err_set(e, ERR_REFUSED,
		    "%s: is the disk below; give the device that is served, such as an NBD export",
		    device);
	if (memcmp(id, s->header.image, sizeof id) != 0)
		return err_set(e, ERR_REFUSED, "%s: is not the image that %s was begun with",
		    export_name(s->image), device);
	if (s->header.maps.n > 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: has its partitions in other places than %s (--fit), so none of its sectors "
		    "can be compared with those of the image",
		    device, export_name(s->image));
	if (s->header.disk_bytes != s->job->device_bytes)
		return err_set(e, ERR_REFUSED,
		    "%s: is the sector table of a disk of %" PRIu64 " bytes, and %s has %" PRIu64,
		    s->table_path, s->header.disk_bytes, device, s->job->device_bytes);
	return 0;
}

/* Bring into the table what was written to the device before this call. */
static int
flush_device(const struct change_job *job, struct err *e)
{
	return disk_nbd_is(job->device) ? disk_nbd_flush(job->device, e)
	                                : disk_sync(job->disk, e);
}

static int
open_table(struct map_source *s, struct err *e)
{
	struct table_config c = { .memory_bytes = TABLE_MEMORY_BYTES };

	if (disk_open(&s->table_on, s->table_path, DISK_READ, e) != 0 ||
	    find_table(s, &c.at_bytes, e) != 0 || check_device(s, e) != 0)
		return -1;
	c.on = s->table_on;
	if (s->header.complete)
		return 0;
	if (table_open_to_look(&s->table, &c, e) != 0)
		return -1;
	s->exact = table_header(s->table)->closed || table_is_served(s->table);
	return 0;
}

static int
map_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	struct map_source *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "map");
	s->job = job;
	rangeset_init(&s->stored);
	about->block_bytes = SECTOR_BYTES;
	about->cumulative = true;
	const char *image = split(s);
	int rc = image != NULL ? 0
	                       : err_set(e, ERR_USAGE,
	                             "--since=map: the sector table and the image are missing");
	if (rc == 0 && (flush_device(job, e) != 0 || open_image(s, image, about, e) != 0 ||
			   open_table(s, e) != 0))
		rc = -1;
	if (rc == 0)
		*self = s;
	else
		map_close(s);
	return rc;
}

static int
add_untouched(struct map_source *s, struct range sectors, struct same_sink *sink, struct err *e)
{
	bool untouched;

	for (uint64_t n; sectors.len > 0; sectors.off += n, sectors.len -= n) {
		if (table_untouched(s->table, sectors, &untouched, &n, e) != 0)
			return -1;
		struct range r = { sectors.off * SECTOR_BYTES, n * SECTOR_BYTES };
		if (untouched && same_sink_add(sink, r, e) != 0)
			return -1;
	}
	return 0;
}

static int
map_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct map_source *s = self;
	int rc = 0;

	(void)base;
	if (s->header.complete)
		return err_set(e, ERR_ABSENT,
		    "%s: the disk is complete, so its sector table was cleared", s->table_path);
	if (!s->exact)
		return err_set(e, ERR_ABSENT,
		    "%s: the disk is not served here, and its server was killed or lost power, so the "
		    "table may lack what was written last; serve the disk again first",
		    s->table_path);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&s->stored); i++)
		rc = add_untouched(s,
		    range_clip(rangeset_get(&s->stored, i), 0, s->header.sectors), sink, e);
	return rc;
}

const struct change_kind change_map = {
	.name = "map",
	.args = "TABLE,IMAGE",
	.about = "the sector table of a streaming disk that began as an image",
	.open = map_open,
	.same = map_same,
	.close = map_close,
};
