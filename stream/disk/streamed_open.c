/* streamed_open.c: opens a streaming disk: begins one, or goes on with one that was begun.  The plugin
 * calls streamed_open(), streamed_start() and streamed_close() in one thread.
 *
 * Behind the installer's marker, at byte POINTER_AT, stands a copy of the table's header, which
 * says where the table is.  A disk begins in this order, each step flushed:
 *
 *	marker; free space cleared, if asked for; table, with the boot area; signatures of an
 *	earlier use wiped; pointer; table begun
 *
 * A disk without a pointer begins anew, unless the table's header says that it is complete; one
 * with a pointer goes on with the table that it names.  At the end the pointer is overwritten
 * before the marker is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/replace.h"
#include "common/base/zero.h"
#include "common/disk/inuse.h"
#include "common/disk/output.h"
#include "common/disk/partitions.h"
#include "common/target/boot_area.h"
#include "stream/disk/placing.h"
#include "stream/disk/streamed_impl.h"

enum { POINTER_AT = 512, LEAST_BYTES = 64 << 10 };

_Static_assert(
    (int)BOOT_AREA_ID_BYTES == (int)TABLE_ID_BYTES, "the marker's id is the table's");
_Static_assert(
    (int)BOOT_AREA_BYTES == (int)BELOW_BOOT_BYTES, "the marker takes the boot area");
_Static_assert((int)EXPORT_ID_BYTES == (int)TABLE_IMAGE_BYTES, "the table names the image");

/* What is found out before anything is written. */
struct opening {
	struct streamed *d;
	struct boot_area boot_area; /* the marker, and what belongs into its place */
	uint8_t pointer_bytes[PIECE_BYTES];
	struct table_header pointer; /* its sequence is 0 if there is none */
	struct table_header there; /* of the table in a file; its sequence is 0 if there is none */
	uint8_t image[EXPORT_ID_BYTES];
	struct table_config table;
	uint64_t shown_bytes; /* of the disk that has the table's place, which may be cut */
	struct err no_plan; /* why there is none, although the partitions are to be as large as the disk */
};

static bool
in_memory(const struct streamed *d)
{
	return d->cfg.table != NULL && strcmp(d->cfg.table, "memory") == 0;
}

static bool
in_file(const struct streamed *d)
{
	return d->cfg.table != NULL && !in_memory(d);
}

/* The marks of a program that was killed. */

static bool
were_marks(const struct streamed *d)
{
	return d->marks != NULL && marks_were_there(d->marks);
}

/* Whoever was killed may have begun anew; whoever goes on must not. */
static int
open_marks(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (d->cfg.marks == NULL)
		return 0;
	if (in_memory(d))
		return err_set(e, ERR_USAGE,
		    "%s: a table in memory alone ends with the program, so its marks cannot be kept",
		    d->cfg.marks);
	if (marks_open(&d->marks, d->cfg.marks, e) != 0)
		return -1;
	o->table.marks = d->marks;
	d->cfg.anew &= !were_marks(d);
	return 0;
}

/* There is neither a disk that was begun nor one that is complete. */
static int
check_no_marks(const struct streamed *d, struct err *e)
{
	if (!were_marks(d))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: has marks of a disk that is being streamed, and %s is none", d->cfg.marks,
	    d->cfg.disk);
}

/* Where the sectors of the image are on the disk. */

static const struct maps where_they_were = { .n = 1, .map = { { { 0, UINT64_MAX }, 0 } } };

/* A header says where they are. */
static void
use_maps_of(struct streamed *d, const struct table_header *h)
{
	d->maps = h->maps.n > 0 ? h->maps : where_they_were;
}

static int
use_plan(struct streamed *d, struct err *e)
{
	if (placing_make(&d->placing, d->source, d->disk, d->cfg.table == NULL, e) != 0)
		return err_ctx(e, "%s: fit", d->cfg.disk);
	d->maps = d->placing->maps;
	return 0;
}

/* What is on the disk. */

/* Read the marker, and the pointer behind it. */
static int
read_marker(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (boot_area_init(&o->boot_area, d->disk, 0, d->bytes, e) != 0)
		return -1;
	if (!o->boot_area.was_marked)
		return 0;
	if (disk_read(d->disk, o->pointer_bytes, PIECE_BYTES, POINTER_AT, e) != 0)
		return -1;
	if (d->cfg.anew || !table_header_get(&o->pointer, o->pointer_bytes, PIECE_BYTES))
		return 0;
	if (memcmp(o->pointer.id, o->boot_area.old.id, TABLE_ID_BYTES) != 0)
		o->pointer.sequence = 0;
	return 0;
}

/* Is this a disk that was begun, with what was written locally on it? */
static bool
was_begun(const struct opening *o)
{
	return o->pointer.sequence != 0 && o->pointer.begun && !o->d->cfg.anew;
}

/* A disk as large as the image's may have room for the partitions as they are alone.  Where there is no
 * plan otherwise, the disk cannot begin, but may be complete. */
static int
plan_if_larger(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (!d->cfg.fit || use_plan(d, e) == 0)
		return 0;
	if (e->kind != ERR_REFUSED && e->kind != ERR_UNSUPPORTED)
		return -1;
	if (e->kind != ERR_REFUSED || d->bytes / SECTOR_BYTES != export_sectors(d->source)) {
		o->no_plan = *e;
		return 0;
	}
	streamed_tell(d, "%s; they stay as they are, since the disk is as large as the image's",
	    e->text);
	d->cfg.fit = false;
	return 0;
}

/* A disk that was begun says itself where the sectors are. */
static int
choose_maps(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (!was_begun(o))
		return plan_if_larger(o, e);
	use_maps_of(d, &o->pointer);
	if (d->cfg.fit && o->pointer.maps.n == 0)
		streamed_tell(d,
		    "%s: was begun with its partitions as in the image, and goes on so", d->cfg.disk);
	return 0;
}

static int
find_stored(const struct opening *o, struct err *e)
{
	if (stored_find(o->d, e) == 0)
		return 0;
	if (o->no_plan.kind != ERR_NONE)
		*e = o->no_plan;
	return -1;
}

static int
look_at_file(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;
	uint8_t first[BOOT_AREA_BYTES] = { 0 };
	int there = table_is_there(d->table_on, 0, &o->there, e);

	if (there != 0)
		return there < 0 ? -1 : 0;
	if (disk_read_upto(d->table_on, first, sizeof first, 0, e) < 0)
		return -1;
	if (!is_zero(first, sizeof first))
		return err_set(e, ERR_REFUSED,
		    "%s: is no sector table, and is not empty, so it is not written over",
		    d->cfg.table);
	return 0;
}

static int
open_file(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (!in_file(d))
		return 0;
	if (d->table_on == NULL && output_is_input(d->cfg.table, d->cfg.disk))
		return err_set(e, ERR_USAGE,
		    "%s: is the disk itself: unless a file or another device is named, the sector "
		    "table is where the disk has room for it",
		    d->cfg.table);
	if (d->table_on == NULL &&
	    disk_open(&d->table_on, d->cfg.table, DISK_READ | DISK_WRITE | DISK_CREATE, e) !=
	        0)
		return -1;
	if (!disk_seekable(d->table_on))
		return err_set(e, ERR_USAGE, "%s: is neither a file nor a block device",
		    d->cfg.table);
	if (disk_kind(d->table_on) == DISK_FILE && replace_sync_name(d->cfg.table, e) != 0)
		return -1;
	return look_at_file(o, e);
}

/* Find the place for a table on the disk; *shown_bytes: how long the disk is that is shown.
 * ERR_USAGE, ERR_REFUSED: there is none; all other errors say nothing about that. */
static int
find_place(struct opening *o, uint64_t *shown_bytes, struct err *e)
{
	struct streamed *d = o->d;
	uint64_t bytes = table_bytes(stored_end(d));
	struct err why;

	*shown_bytes = d->bytes;
	if (d->placing != NULL) {
		o->table.at_bytes = d->placing->table_at * SECTOR_BYTES;
		return 0;
	}
	if (room_find(d->source, &d->stored, d->bytes, bytes, &o->table.at_bytes, e) == 0)
		return 0;
	if (e->kind != ERR_USAGE)
		return err_ctx(e, "%s", d->cfg.disk);
	if (cut_find(d->source, d->bytes, bytes, shown_bytes, &why) == 0) {
		o->table.at_bytes = *shown_bytes;
		return 0;
	}
	if (why.kind != ERR_USAGE)
		*e = why;
	return err_ctx(e, "%s", d->cfg.disk);
}

/* From now on the disk ends in front of its table. */
static int
cut(struct streamed *d, uint64_t shown_bytes, struct err *e)
{
	if (cut_drop_end(&d->stored, d->source, e) != 0)
		return -1;
	d->cut = true;
	d->bytes = shown_bytes;
	d->stored_sectors = rangeset_total(&d->stored);
	return 0;
}

static int
look_in_place(struct opening *o, struct table_header *h, struct err *e)
{
	struct streamed *d = o->d;

	if (find_place(o, &o->shown_bytes, e) != 0)
		return e->kind == ERR_USAGE || e->kind == ERR_REFUSED ? 0 : -1;
	return table_is_there(d->disk, o->table.at_bytes, h, e);
}

/* Make the other one of the two: a plan, or none.  1; 0: there is no plan for this disk; -1. */
static int
change_plan(struct streamed *d, struct err *e)
{
	bool wanted = d->placing == NULL;

	placing_free(d->placing);
	d->placing = NULL;
	d->maps = where_they_were;
	if (wanted && use_plan(d, e) != 0)
		return e->kind == ERR_REFUSED || e->kind == ERR_UNSUPPORTED ? 0 : -1;
	return stored_place(d, e) == 0 ? 1 : -1;
}

/* Is this the header of a complete disk with this marker, or, where the disk has none, of one with this
 * image? */
static bool
is_wanted(const struct opening *o, const struct table_header *h)
{
	if (o->boot_area.was_marked)
		return h->complete && memcmp(h->id, o->boot_area.old.id, TABLE_ID_BYTES) == 0;
	return h->complete && memcmp(h->image, o->image, sizeof h->image) == 0;
}

/* A complete disk is known also without the word that it was begun with, or with a word more.  1: *h
 * is its header; 0: it is not there, and *h stays; -1. */
static int
look_in_other_place(struct opening *o, struct table_header *h, struct err *e)
{
	const uint64_t at_bytes = o->table.at_bytes, shown_bytes = o->shown_bytes;
	bool planned = o->d->placing != NULL;
	struct table_header other;
	int there = change_plan(o->d, e);

	if (there > 0)
		there = look_in_place(o, &other, e);
	if (there > 0 && is_wanted(o, &other))
		*h = other;
	else if (there > 0)
		there = 0;
	if (there != 0)
		return there;
	if (planned != (o->d->placing != NULL) && change_plan(o->d, e) < 0)
		return -1;
	o->table.at_bytes = at_bytes;
	o->shown_bytes = shown_bytes;
	return 0;
}

/* Where the table of a disk without a pointer may be: in the file, or where a new one would be.
 * 1: it is there, and *h is its header; 0; -1. */
static int
look_for_table(struct opening *o, struct table_header *h, struct err *e)
{
	struct streamed *d = o->d;

	*h = o->there;
	o->shown_bytes = d->bytes;
	if (in_memory(d))
		return 0;
	if (in_file(d))
		return h->sequence != 0;
	int there = look_in_place(o, h, e);
	if (there < 0 || (there > 0 && is_wanted(o, h)))
		return there;
	/* The header of an earlier use may lie in the first place still. */
	int other = look_in_other_place(o, h, e);
	return other != 0 ? other : there;
}

/* A marker without a pointer: power was lost while the boot area was put into its place, or before
 * the disk had begun, or sector 1 is damaged. */
static int
find_lost_pointer(struct opening *o, struct err *e)
{
	struct table_header h;

	if (!o->boot_area.was_marked || o->pointer.sequence != 0 || o->d->cfg.anew)
		return 0;
	int there = look_for_table(o, &h, e);
	if (there < 0)
		return -1;
	if (there && h.complete && memcmp(h.id, o->boot_area.old.id, TABLE_ID_BYTES) == 0) {
		o->pointer = h;
		use_maps_of(o->d, &h);
		return stored_place(o->d, e);
	}
	if (!is_zero(o->pointer_bytes, PIECE_BYTES))
		return err_set(e, ERR_FORMAT,
		    "%s: has begun to be streamed, and sector 1, which says where its sector "
		    "table is, is damaged",
		    o->d->cfg.disk);
	return 0;
}

/* Refuse a disk that was begun with another table than this, and a table that was begun for
 * another disk, before anything is written. */
static int
check_pair(const struct opening *o, struct err *e)
{
	const struct streamed *d = o->d;
	const char *disk = d->cfg.disk;

	if (was_begun(o) && o->pointer.at_bytes == TABLE_ELSEWHERE && !in_file(d))
		return err_set(e, ERR_REFUSED,
		    "%s: is being streamed, and its sector table is not on it: name the file "
		    "or device where the table is",
		    disk);
	if (was_begun(o) && o->pointer.at_bytes != TABLE_ELSEWHERE && d->cfg.table != NULL)
		return err_set(e, ERR_REFUSED,
		    "%s: is being streamed, and its sector table is on it, so no other place "
		    "can be named for it",
		    disk);
	if (!in_file(d))
		return 0;
	bool same = o->there.sequence != 0 && o->pointer.sequence != 0 &&
	            memcmp(o->there.id, o->pointer.id, TABLE_ID_BYTES) == 0;
	bool begun = o->there.sequence != 0 && o->there.begun && !o->there.complete;
	if ((was_begun(o) || (begun && !d->cfg.anew)) && !same)
		return err_set(e, ERR_REFUSED,
		    "%s: is not the sector table of %s, so nothing is known about what was "
		    "written there",
		    d->cfg.table, disk);
	return 0;
}

static int
check_image(const struct opening *o, struct err *e)
{
	const struct streamed *d = o->d;

	if (memcmp(o->pointer.image, o->image, EXPORT_ID_BYTES) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: has begun to be streamed from another image than %s", d->cfg.disk,
		    export_name(d->source));
	if (o->pointer.disk_bytes != d->bytes)
		return err_set(e, ERR_REFUSED,
		    "%s: had %" PRIu64 " bytes when it began to be streamed, and has %" PRIu64,
		    d->cfg.disk, o->pointer.disk_bytes, d->bytes);
	return 0;
}

/* Beginning. */

static struct table_header
new_header(const struct opening *o)
{
	const struct streamed *d = o->d;
	struct table_header h = { .sequence = 1,
		.sectors = stored_end(d),
		.disk_bytes = d->bytes,
		.at_bytes = d->cfg.table == NULL ? o->table.at_bytes : TABLE_ELSEWHERE,
		.begun = !in_memory(d) };

	memcpy(h.id, o->boot_area.marker.id, sizeof h.id);
	memcpy(h.image, o->image, sizeof h.image);
	if (d->placing != NULL)
		h.maps = d->placing->maps;
	return h;
}

/* Allocate the first `bytes` bytes of a file.  On a filesystem that cannot do so beforehand, the
 * file gets its room when it is written. */
static int
reserve(int fd, uint64_t bytes)
{
	while (fallocate(fd, 0, 0, (off_t)bytes) != 0)
		if (errno != EINTR)
			return errno == ENOSPC || errno == EDQUOT ? -1 : 0;
	return 0;
}

/* Make the file of the table as long as the table, with all of its room: if its filesystem became
 * full later, flushes would fail, and what clients have written would be lost. */
static int
reserve_file(struct disk *f, uint64_t bytes, struct err *e)
{
	uint64_t had_bytes = disk_size_bytes(f);
	struct err ignored; /* the file is then longer than before, with a hole */

	if (had_bytes < bytes && disk_truncate(f, bytes, e) != 0)
		return -1;
	if (disk_fd(f) < 0 || reserve(disk_fd(f), bytes) == 0)
		return 0;
	err_os(e, "%s: has no room for the sector table, which needs %" PRIu64 " bytes",
	    disk_name(f), bytes);
	if (had_bytes < bytes)
		disk_truncate(f, had_bytes, &ignored); /* it may have got a part of the room */
	return -1;
}

/* What has an owner was refused (cut.c); of other data at the disk's end it is said that
 * it is not shown. */
static void
tell_tail(struct streamed *d)
{
	const struct tail *tail = export_tail(d->source);

	if (tail->n > 0 && tail->disk_sectors == d->bytes / SECTOR_BYTES)
		streamed_tell(d,
		    "%s: %s, which the image has at the end of the disk, is left out",
		    d->cfg.disk, tail_kind_name(tail->pieces[0].kind));
}

/* Choose the place of the table, and say where it is, before the disk is written to. */
static int
choose_place(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;
	uint64_t bytes = table_bytes(stored_end(d));

	if (in_memory(d)) {
		streamed_tell(d,
		    "%s: the sector table is in memory: when this program ends and is started "
		    "again, what was written is lost, and the disk begins anew",
		    d->cfg.disk);
		return 0;
	}
	o->table.on = in_file(d) ? d->table_on : d->disk;
	if (in_file(d) && disk_kind(d->table_on) == DISK_FILE)
		return reserve_file(d->table_on, bytes, e);
	if (in_file(d))
		return 0;
	if (find_place(o, &o->shown_bytes, e) != 0)
		return -1;
	if (o->shown_bytes != d->bytes) {
		streamed_tell(d,
		    "%s: there is no place for the sector table outside of what the image needs, so "
		    "the disk is shown with %" PRIu64 " sectors instead of %" PRIu64
		    ", in front of the table; if it has a GPT, the backup of the GPT is put to the "
		    "end of that",
		    d->cfg.disk, o->shown_bytes / SECTOR_BYTES, d->bytes / SECTOR_BYTES);
		tell_tail(d);
		return cut(d, o->shown_bytes, e);
	}
	streamed_tell(d,
	    "%s: the sector table is at sectors %" PRIu64 " to %" PRIu64
	    ", which cannot be written until the disk is complete",
	    d->cfg.disk, o->table.at_bytes / SECTOR_BYTES,
	    (o->table.at_bytes + bytes) / SECTOR_BYTES - 1);
	return 0;
}

/* Write the pointer, with what is around it, since the disk may take whole pages alone. */
static int
write_pointer(struct opening *o, const struct table_header *h, struct err *e)
{
	struct disk *disk = o->d->disk;
	uint8_t *page = aligned_alloc(BOOT_AREA_BYTES, BOOT_AREA_BYTES);

	if (page == NULL)
		return err_nomem(e, disk_name(disk));
	int rc = disk_read(disk, page, BOOT_AREA_BYTES, 0, e);
	if (rc == 0) {
		table_header_put(h, page + POINTER_AT);
		rc = disk_write(disk, page, BOOT_AREA_BYTES, 0, e);
	}
	free(page);
	return rc == 0 ? disk_sync(disk, e) : -1;
}

/* Is this a disk without a marker whose table says that this image is complete on it?  1, 0, or
 * -1. */
static int
is_complete(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;
	struct table_header h;

	if (d->cfg.anew || o->boot_area.was_marked)
		return 0;
	int there = look_for_table(o, &h, e);
	if (there < 0)
		return -1;
	if (!there && d->cfg.table == NULL)
		return streamed_before_check_place(d, o->boot_area.bytes, o->table.at_bytes, e);
	if (!there || !h.complete || memcmp(h.image, o->image, sizeof h.image) != 0)
		return 0;
	if (h.disk_bytes != o->shown_bytes)
		return streamed_before_check_size(d, o->boot_area.bytes, &h, e);
	use_maps_of(d, &h);
	if (stored_place(d, e) != 0)
		return -1;
	return streamed_before_check_disk(d, o->boot_area.bytes, &h, e) == 0 ? 1 : -1;
}

/* Serve a disk on which nothing is absent, and whose first bytes are in their place. */
static int
open_complete(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;
	struct table_header none = { .disk_bytes = d->bytes, .at_bytes = TABLE_ELSEWHERE };

	streamed_tell(d, "%s: is complete already, and is served as it is", d->cfg.disk);
	o->table.on = NULL;
	if (table_create(&d->table, &o->table, &none, &d->stored, e) != 0 ||
	    below_init(&d->below, d->disk, d->table, e) != 0)
		return -1;
	atomic_store(&d->below.boot_placed, true);
	atomic_store(&d->finished, true);
	image_view_written(&d->view, (struct range){ 0, d->bytes / SECTOR_BYTES });
	return 0;
}

/* The sectors of the disk that the table has. */
static void
note_place(struct opening *o)
{
	struct streamed *d = o->d;

	if (o->table.on == d->disk)
		d->table_at = (struct range){ o->table.at_bytes / SECTOR_BYTES,
			table_bytes(stored_end(d)) / SECTOR_BYTES };
}

/* Write the marker.  The pointer's place is cleared before it: after a power cut there is no marker
 * with something else behind it. */
static int
put_marker(struct opening *o, struct err *e)
{
	static const uint8_t none[PIECE_BYTES];
	struct disk *disk = o->d->disk;

	if (disk_write(disk, none, sizeof none, POINTER_AT, e) != 0 || disk_sync(disk, e) != 0)
		return -1;
	return boot_area_put_marker(&o->boot_area, e);
}

static int
clear(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (!d->cfg.zero && !d->cfg.discard)
		return 0;
	memset(o->boot_area.bytes, 0, sizeof o->boot_area.bytes);
	return clear_free(d, e);
}

static int
make_table(struct opening *o, const struct table_header *h, struct err *e)
{
	struct streamed *d = o->d;

	if (table_create(&d->table, &o->table, h, &d->stored, e) != 0 ||
	    table_write_boot(d->table, o->boot_area.bytes, e) != 0)
		return -1;
	note_place(o);
	return table_sync(d->table, e);
}

static int
begin(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (d->cfg.fit != (d->placing != NULL) && change_plan(d, e) <= 0)
		return -1;
	if (choose_place(o, e) != 0 || table_check_room(&o->table, stored_end(d), e) != 0 ||
	    (d->placing != NULL && placing_check(d->placing, d, e) != 0))
		return -1;
	struct table_header h = new_header(o), unbegun = h;
	unbegun.begun = false;
	if (put_marker(o, e) != 0 || clear(o, e) != 0 || make_table(o, &unbegun, e) != 0 ||
	    below_init(&d->below, d->disk, d->table, e) != 0)
		return -1;
	/* The backup of a GPT is moved after clear_stale(), which would wipe a backup in another
	 * place than the image's; so is the table of a plan written. */
	if (clear_stale(d, e) != 0 || (d->cut && cut_fit(d, e) != 0) ||
	    (d->placing != NULL && placing_write(d->placing, d, e) != 0) ||
	    streamed_flush_some(d, true, e) != 0)
		return -1;
	if (write_pointer(o, &h, e) != 0)
		return -1;
	return h.begun ? table_set_begun(d->table, e) : 0;
}

static int
go_on(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	const struct table_header *p = &o->pointer;

	if (p->at_bytes != TABLE_ELSEWHERE && p->at_bytes >= p->disk_bytes &&
	    cut(d, p->disk_bytes, e) != 0)
		return -1;
	if (check_image(o, e) != 0)
		return -1;
	o->table.on = in_file(d) ? d->table_on : d->disk;
	o->table.at_bytes = in_file(d) ? 0 : o->pointer.at_bytes;
	if (table_open(&d->table, &o->table, &d->stored, e) != 0)
		return -1;
	const struct table_header *h = table_header(d->table);
	if (memcmp(h->id, o->pointer.id, TABLE_ID_BYTES) != 0 ||
	    h->sectors != stored_end(d))
		return err_set(e, ERR_FORMAT,
		    "%s: what is at byte %" PRIu64 " is not its sector table",
		    disk_name(o->table.on), o->table.at_bytes);
	note_place(o);
	if (were_marks(d) && table_check_marks(d->table, e) != 0)
		return -1;
	if (!h->begun && table_set_begun(d->table, e) != 0)
		return -1;
	if (image_view_goes_on(d, e) != 0 || below_init(&d->below, d->disk, d->table, e) != 0)
		return -1;
	if (!h->closed)
		return cut_off_goes_on(d, e);
	return table_set_closed(d->table, false, e);
}

/* The kernel's devices for partitions would show filesystems that are not whole, by names and UUIDs
 * of the image.  They come back when the disk is whole and is closed, or could not be opened. */
static int
hide_partitions(struct streamed *d, struct err *e)
{
	if (disk_kind(d->disk) != DISK_BLOCK || disk_fd(d->disk) < 0)
		return 0;
	d->hidden = true;
	return partitions_remove(disk_fd(d->disk), d->cfg.disk, e);
}

/* A machine whose own root is on this disk should know. */
static void
tell_cached(struct streamed *d)
{
	if (disk_fd(d->disk) >= 0 && !d->below.direct)
		streamed_tell(d,
		    "%s: is read and written through the page cache, since it cannot be passed by "
		    "here: a machine whose root filesystem is on this disk may have to wait for "
		    "itself when its memory is full",
		    d->cfg.disk);
}

static void
tell_unseen(struct streamed *d)
{
	char text[INUSE_UNSEEN_BYTES];

	if (disk_unseen(d->disk))
		streamed_tell(d, "%s", inuse_unseen_text(d->cfg.disk, text));
}

static int
open_all(struct opening *o, struct err *e)
{
	struct streamed *d = o->d;

	if (open_marks(o, e) != 0)
		return -1;
	if (d->disk == NULL &&
	    disk_open(&d->disk, d->cfg.disk, DISK_READ | DISK_WRITE, e) != 0)
		return -1;
	tell_unseen(d);
	if (!disk_seekable(d->disk) || disk_size_bytes(d->disk) < LEAST_BYTES)
		return err_set(e, ERR_USAGE, "%s: is no disk of at least %d bytes", d->cfg.disk,
		    LEAST_BYTES);
	d->bytes = disk_size_bytes(d->disk) / SECTOR_BYTES * SECTOR_BYTES;
	if (image_view_init(&d->view, d->bytes / SECTOR_BYTES, e) != 0 ||
	    read_marker(o, e) != 0 || choose_maps(o, e) != 0 || find_stored(o, e) != 0 ||
	    export_identity(d->source, o->image, e) != 0 || open_file(o, e) != 0 ||
	    find_lost_pointer(o, e) != 0 || check_pair(o, e) != 0)
		return -1;
	if (was_begun(o))
		return hide_partitions(d, e) == 0 ? go_on(o, e) : -1;
	int complete = is_complete(o, e);
	if (complete < 0 || (!complete && check_no_marks(d, e) != 0))
		return -1;
	if (hide_partitions(d, e) != 0)
		return -1;
	return complete ? open_complete(o, e) : begin(o, e);
}

static struct streamed *
new_device(struct export *source, const struct streamed_config *cfg)
{
	struct streamed *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	d->cfg = *cfg;
	d->source = source;
	d->maps = where_they_were;
	rangeset_init(&d->stored);
	holds_init(&d->holds);
	pthread_mutex_init(&d->flush_lock, NULL);
	fill_ahead_init(d);
	pthread_cond_init(&d->flush_ended, NULL);
	d->last_request_us = clock_us();
	return d;
}

int
streamed_open_on(struct streamed **out, struct export *source, const struct streamed_config *cfg,
    struct disk *disk, struct disk *table_on, struct err *e)
{
	struct opening o = { .d = new_device(source, cfg) };
	struct err ignored;

	if (o.d == NULL) {
		disk_close(disk, &ignored);
		disk_close(table_on, &ignored);
		return err_nomem(e, cfg->disk);
	}
	o.d->disk = disk;
	o.d->table_on = table_on;
	o.table.memory_bytes =
	    cfg->table_memory_bytes != 0 ? cfg->table_memory_bytes : TABLE_MEMORY_BYTES;
	int rc = open_all(&o, e);
	if (rc == 0)
		rc = table_serve_marks(o.d->table, e);
	boot_area_free(&o.boot_area);
	placing_free(o.d->placing);
	o.d->placing = NULL;
	if (rc != 0) {
		streamed_close(o.d, &ignored);
		return -1;
	}
	o.d->opened = true;
	table_be_served(o.d->table);
	tell_cached(o.d);
	*out = o.d;
	return 0;
}

int
streamed_open(struct streamed **out, struct export *source, const struct streamed_config *cfg,
    struct err *e)
{
	return streamed_open_on(out, source, cfg, NULL, NULL, e);
}

int
streamed_start(struct streamed *d, struct err *e)
{
	if (d->cfg.record != NULL &&
	    recorder_start(&d->recorder, d->cfg.record, export_sectors(d->source), d->cfg.tell,
		d->cfg.arg, e) != 0)
		return -1;
	return behind_start(d, e) == 0 ? fill_start(d, e) : -1;
}

/* Flush all marks, too, and note that; finish a disk on which nothing is absent.  A disk that
 * could not be opened stays as it is: not all that this needs was read. */
static int
last_flush(struct streamed *d, struct err *e)
{
	if (!d->opened)
		return 0;
	if (atomic_load(&d->finished) || table_present(d->table) == d->stored_sectors)
		return streamed_finish(d, e);
	if (streamed_flush_some(d, true, e) != 0)
		return -1;
	return table_set_closed(d->table, true, e);
}

int
streamed_close(struct streamed *d, struct err *e)
{
	struct err ignored;

	if (d == NULL)
		return 0;
	fill_end(d);
	behind_end(d);
	recorder_end(d->recorder);
	int rc = last_flush(d, e);
	below_free(&d->below);
	if (d->hidden && (!d->opened || atomic_load(&d->finished)))
		disk_reread_partitions(d->disk, &ignored);
	table_close(d->table);
	marks_close(d->marks, d->opened && rc == 0);
	disk_close(d->table_on, &ignored);
	if (disk_close(d->disk, rc == 0 ? e : &ignored) != 0)
		rc = -1;
	rangeset_free(&d->stored);
	holds_free(&d->holds);
	image_view_free(&d->view);
	pthread_cond_destroy(&d->flush_ended);
	pthread_mutex_destroy(&d->flush_lock);
	fill_ahead_free(d);
	free(d);
	return rc;
}
