/* track.c: activates and ends dm-era on a device, and judges at each activation whether what was
 * noted before still tells all that was written.  dsync calls this, in its first thread.
 *
 * The record says "no clean end" from before an activation until after the end, so a crash in
 * between, at any point, makes everything count as changed.
 */
#include "dsync/track/track.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/disk/disk.h"
#include "common/disk/hold.h"
#include "dsync/run/cowsnap.h"
#include "dsync/track/cost.h"
#include "dsync/track/superblock.h"

enum { BLOCK_BYTES = 64 << 10 }; /* smaller ones cost more at first writes, larger ones send more */

/* Whether somebody uses the device: ERR_REFUSED with who does, or ERR_IO. */
static int
check_unused(const char *path, struct err *e)
{
	const struct hold_wish wish = { .path = path };
	bool unseen; /* root does this */

	return hold_look(&wish, &unseen, e);
}

static int
size_of(const char *path, uint64_t *bytes, struct err *e)
{
	struct disk *d;
	struct err ignored;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	bool block = disk_kind(d) == DISK_BLOCK;
	*bytes = disk_size_bytes(d) / SECTOR_BYTES * SECTOR_BYTES;
	disk_close(d, &ignored);
	return block ? 0 : err_set(e, ERR_UNSUPPORTED, "%s: is no block device", path);
}

static void
mapped_path(const char *name, char path[RECORD_PATH_BYTES])
{
	snprintf(path, RECORD_PATH_BYTES, "/dev/mapper/%.128s", name);
}

/* The name of the device that has the table of a device whose name the tracker has taken. */
static void
below_name(const char *name, char below[MAPPED_WORD_BYTES])
{
	snprintf(below, MAPPED_WORD_BYTES, "%.100s-below", name);
}

/* Decide whether what was noted counts: the metadata has the generation of the last clean end, and
 * the device its size.  Otherwise the history begins anew. */
static void
judge(struct record *r, const struct superblock *s, uint64_t bytes,
    struct track_report *out)
{
	const char *why = NULL;

	if (!stream_id_set(&r->identity))
		why = "it is tracked for the first time";
	else if (s->empty)
		why = "the metadata is empty";
	else if (!stream_id_set(&r->generation))
		why = "the tracker was not ended cleanly";
	else if (!stream_id_same(&s->generation, &r->generation))
		why = "the metadata was activated by somebody else, or is an older copy";
	else if (bytes != r->device_bytes)
		why = "the device has another size";
	out->anew = why != NULL;
	snprintf(out->why, sizeof out->why, "%s", why != NULL ? why : "");
	r->device_bytes = bytes;
	if (why != NULL)
		stream_id_make(&r->identity);
}

/* Begin a new history because of `why`. */
static void
begin_anew(struct record *r, struct track_report *out, const char *why)
{
	out->anew = true;
	snprintf(out->why, sizeof out->why, "%s", why);
	stream_id_make(&r->identity);
}

/* Save the record as it must be while the tracker is active: without a clean end. */
static int
mark_active(struct record *r, const char *active, struct err *e)
{
	memset(&r->generation, 0, sizeof r->generation);
	snprintf(r->active, sizeof r->active, "%s", active);
	return record_save(r, e);
}

static void
era_table(const struct record *r, const char *origin, char line[MAPPED_LINE_BYTES])
{
	snprintf(line, MAPPED_LINE_BYTES, "0 %" PRIu64 " era %s %s %" PRIu64,
	    r->device_bytes / SECTOR_BYTES, r->metadata, origin, r->block_sectors);
}

/* A table that maps all of the tracked device, unchanged. */
static void
linear_table(const struct record *r, char line[MAPPED_LINE_BYTES])
{
	snprintf(line, MAPPED_LINE_BYTES, "0 %" PRIu64 " linear %s 0",
	    r->device_bytes / SECTOR_BYTES, r->device);
}

/* Remove the device beneath, if it is there.  ERR_IO, such as when something uses it. */
static int
remove_below(const char *name, struct err *e)
{
	char below[MAPPED_WORD_BYTES], mapped[MAPPED_WORD_BYTES];

	below_name(name, below);
	return mapper_name(below, mapped) ? mapper_remove(below, e) : 0;
}

/* Make the device beneath the tracker with this table, and the tracker's table. */
static int
make_below(const struct record *r, const char *name, const char *table,
    char line[MAPPED_LINE_BYTES], struct err *e)
{
	char below[MAPPED_WORD_BYTES], path[RECORD_PATH_BYTES];

	below_name(name, below);
	mapped_path(below, path);
	era_table(r, path, line);
	/* Left from a start that was killed, or by LVM, which has put the device's own table back. */
	if (remove_below(name, e) != 0)
		return -1;
	return mapper_create(below, table, false, e);
}

/* Make the tracker on the device, under a name of its own.  Between the two is a device that a
 * snapshot can be taken of. */
static int
stand_on(const struct record *r, const char *name, struct err *e)
{
	char own[MAPPED_LINE_BYTES], line[MAPPED_LINE_BYTES];
	struct err ignored;

	linear_table(r, own);
	if (make_below(r, name, own, line, e) != 0)
		return -1;
	if (mapper_create(name, line, false, e) == 0)
		return 0;
	remove_below(name, &ignored);
	return -1;
}

/* Replace the table of a device by the tracker's.  If dm-era fails to begin, such as for lack of room in
 * its metadata, the kernel leaves the device with the new table, suspended: it gets its own again. */
static int
replace_or_restore(const char *name, const char *line, const char *table, struct err *e)
{
	struct err late;

	if (mapper_replace(name, line, e) == 0)
		return 0;
	if (mapper_replace(name, table, &late) != 0)
		return *e = late, -1;
	remove_below(name, &late);
	return -1;
}

/* Give the device's name to the tracker, and its table to a device beneath. */
static int
go_beneath(const struct record *r, const char *name, struct err *e)
{
	char line[MAPPED_LINE_BYTES], *table;

	if (mapper_text(name, &table, e) != 0)
		return -1;
	int rc = make_below(r, name, table, line, e);
	if (rc == 0)
		rc = replace_or_restore(name, line, table, e);
	free(table);
	return rc;
}

/* The mapped device is there without a tracker, so that what is on it can be used. */
static int
without_tracker(const struct record *r, struct track_report *out, const struct err *reason,
    struct err *e)
{
	char line[MAPPED_LINE_BYTES];

	snprintf(out->why, sizeof out->why, "%s", reason->text);
	out->tracked = false;
	if (r->beneath)
		return 0;
	linear_table(r, line);
	return mapper_create(out->name, line, false, e);
}

static bool
is_era(const char *name)
{
	struct mapped m;
	struct err e;

	return mapper_table(&m, name, &e) == 0 && strcmp(m.target, "era") == 0;
}

/* Put the device's own table back. */
static int
leave_beneath(const char *name, struct err *e)
{
	char below[MAPPED_WORD_BYTES], *table;

	below_name(name, below);
	if (mapper_text(below, &table, e) != 0)
		return -1;
	int rc = mapper_replace(name, table, e);
	free(table);
	return rc;
}

/* Take the tracker away; the device beneath remains. */
static int
take_down(const struct record *r, const char *name, struct err *e)
{
	return r->beneath ? leave_beneath(name, e) : mapper_remove(name, e);
}

/* Activate the tracker, after it was decided whether what was noted counts. */
static int
activate(struct record *r, struct track_report *out, struct err *e)
{
	char word[MAPPED_WORD_BYTES];
	struct err reason, late;

	if (mark_active(r, "-", e) != 0)
		return -1;
	int rc = r->beneath ? go_beneath(r, out->name, &reason) : stand_on(r, out->name, &reason);
	if (rc != 0)
		return without_tracker(r, out, &reason, e);
	out->tracked = true;
	if (mapper_generation(out->name, word, e) == 0 && mark_active(r, word, e) == 0)
		return 0;
	if (take_down(r, out->name, &late) == 0)
		remove_below(out->name, &late);
	return -1;
}

/* A tracker that is active already: it counts as ours if it is the activation of the record. */
static int
adopt(struct record *r, struct track_report *out, struct err *e)
{
	char word[MAPPED_WORD_BYTES];

	out->tracked = true;
	if (mapper_generation(out->name, word, e) != 0)
		return -1;
	if (strcmp(word, r->active) == 0 && stream_id_set(&r->identity))
		return 0;
	begin_anew(r, out, "the tracker was activated by somebody else");
	return mark_active(r, word, e);
}

/* Judge and activate a tracker that is not active. */
static int
start_inactive(struct record *r, struct track_report *out, struct err *e)
{
	char path[RECORD_PATH_BYTES];
	struct superblock s;
	struct err reason;
	uint64_t bytes;

	mapped_path(out->name, path);
	bool in_use = r->beneath && check_unused(path, &reason) != 0;
	if ((!r->beneath && check_unused(r->device, e) != 0) ||
	    size_of(r->device, &bytes, e) != 0)
		return -1;
	if (superblock_read(&s, r->metadata, &reason) != 0 ||
	    cost_check(&s, r->metadata, bytes, r->block_sectors * SECTOR_BYTES, &reason) != 0) {
		r->device_bytes = bytes;
		begin_anew(r, out, reason.text);
		if (mark_active(r, "-", e) != 0)
			return -1;
		return without_tracker(r, out, &reason, e);
	}
	judge(r, &s, bytes, out);
	if (in_use && !out->anew)
		begin_anew(r, out, "the device was in use before the tracker began");
	return activate(r, out, e);
}

static int
start(struct record *r, struct track_report *out, struct err *e)
{
	char mapped[MAPPED_WORD_BYTES];

	out->beneath = r->beneath;
	bool there = mapper_name(out->name, mapped);
	if (there && is_era(out->name)) {
		out->there = true;
		return adopt(r, out, e);
	}
	if (there && !r->beneath)
		return err_set(e, ERR_REFUSED, "/dev/mapper/%s is there, and is not the tracker",
		    out->name);
	if (start_inactive(r, out, e) != 0)
		return -1;
	out->there = true;
	return 0;
}

int
track_start(const char *folder, const char *name, struct track_report *out, struct err *e)
{
	struct record r;

	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%s", name);
	int rc = record_begin(&r, folder, name, false, e);
	if (rc == 0)
		rc = record_read(&r, e);
	if (rc == 0)
		rc = start(&r, out, e);
	record_close(&r);
	return rc;
}

/* Remove a snapshot of what the tracker stands on, which a run that was killed has left.  It would keep
 * the tracked device in use, and its table would become the device's own. */
static int
drop_snapshot(const char *name, struct err *e)
{
	char below[MAPPED_WORD_BYTES];

	below_name(name, below);
	if (cowsnap_tidy(below, e) == 0)
		return 0;
	return e->kind == ERR_UNSUPPORTED ? 0 : -1; /* no snapshot can be taken of that */
}

/* End a tracker that is active. */
static int
stop_active(struct record *r, const char *name, bool clean, struct err *e)
{
	struct stream_id generation;
	char word[MAPPED_WORD_BYTES];

	if (mapper_generation(name, word, e) != 0)
		return -1;
	bool ours = strcmp(word, r->active) == 0;
	if (take_down(r, name, e) != 0)
		return -1;
	memset(&r->generation, 0, sizeof r->generation);
	strcpy(r->active, "-");
	if (!clean || !ours)
		return record_save(r, e);
	stream_id_make(&generation);
	if (superblock_write(r->metadata, &generation, e) != 0)
		return -1;
	r->generation = generation;
	return record_save(r, e);
}

/* End the tracker, or remove what is there without it: the device that stands in for it, or the device
 * beneath, if LVM has put the table of its volume back or has removed the volume.  With `clean`, the
 * next activation continues where this one has ended. */
static int
stop(struct record *r, const char *name, bool clean, struct err *e)
{
	char path[RECORD_PATH_BYTES], mapped[MAPPED_WORD_BYTES];
	bool era = is_era(name), stand_in = !era && !r->beneath && mapper_name(name, mapped);
	int rc = 0;

	mapped_path(name, path);
	if (((era || stand_in) && check_unused(path, e) != 0) || drop_snapshot(name, e) != 0)
		return -1;
	if (era)
		rc = stop_active(r, name, clean, e);
	else if (stand_in)
		rc = mapper_remove(name, e);
	return rc == 0 ? remove_below(name, e) : rc;
}

int
track_stop(const char *folder, const char *name, struct err *e)
{
	struct record r;
	int rc = record_begin(&r, folder, name, false, e);

	if (rc == 0)
		rc = record_read(&r, e);
	if (rc == 0)
		rc = stop(&r, name, true, e);
	record_close(&r);
	return rc;
}

int
track_forget(const char *folder, const char *name, struct err *e)
{
	struct record r;
	int rc = record_begin(&r, folder, name, false, e);

	if (rc == 0)
		rc = record_read(&r, e);
	if (rc == 0)
		rc = stop(&r, name, false, e);
	if (rc == 0)
		rc = record_remove(&r, e);
	record_close(&r);
	return rc;
}

static int
take_path(char to[RECORD_PATH_BYTES], const char *path, struct err *e)
{
	if (path[0] != '/' || strpbrk(path, " \t\n#") != NULL || strlen(path) >= RECORD_PATH_BYTES)
		return err_set(e, ERR_USAGE, "\"%.100s\": is no path of a device, such as /dev/sdb",
		    path);
	strcpy(to, path);
	return 0;
}

static int
take_name(char to[MAPPED_WORD_BYTES], const char *name, struct err *e)
{
	if (name[0] == '\0' || strpbrk(name, "/ \t\n#") != NULL || strlen(name) > 60)
		return err_set(e, ERR_USAGE, "\"%.60s\": is no name for a device", name);
	strcpy(to, name);
	return 0;
}

/* Choose the mapped device's name: that of a mapped device which is in use, or whose tracker has taken
 * its name before, as LVM may have put its table back since; or one of its own. */
static int
choose_name(const struct track_config *c, struct track_report *out, struct err *e)
{
	char mapped[MAPPED_WORD_BYTES], own[MAPPED_WORD_BYTES];
	const char *last = strrchr(c->device, '/');
	struct err reason;

	out->beneath = mapper_name(c->device, mapped) &&
	               (record_beneath(c->folder, mapped) || check_unused(c->device, &reason) != 0);
	if (out->beneath && c->name != NULL && strcmp(c->name, mapped) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s is in use, or was tracked, as %s: the tracker takes this name, and no other",
		    c->device, mapped);
	snprintf(own, sizeof own, "%.50s-tracked", last != NULL ? last + 1 : c->device);
	return take_name(out->name, out->beneath ? mapped : c->name != NULL ? c->name : own, e);
}

static uint64_t
block_bytes(const struct track_config *c)
{
	return c->block_bytes != 0 ? c->block_bytes : BLOCK_BYTES;
}

/* Whether the metadata has room when dm-era makes it anew. */
static int
check_room(const struct track_config *c, struct err *e)
{
	struct superblock anew = { .empty = true };
	uint64_t bytes;

	if (size_of(c->device, &bytes, e) != 0 ||
	    size_of(c->metadata, &anew.room_bytes, e) != 0)
		return -1;
	return cost_check(&anew, c->metadata, bytes, block_bytes(c), e);
}

/* A new tracker needs metadata that nobody else has. */
static int
prepare_metadata(const struct track_config *c, struct err *e)
{
	struct superblock s;

	if (superblock_read(&s, c->metadata, e) != 0) {
		if (e->kind != ERR_FORMAT && e->kind != ERR_UNSUPPORTED)
			return -1;
		s.empty = false;
	}
	if (!s.empty && !c->force)
		return err_set(e, ERR_REFUSED,
		    "%s: does not begin with 4096 zeros; --force replaces what it holds", c->metadata);
	return check_room(c, e) == 0 ? superblock_clear(c->metadata, e) : -1;
}

/* Whether the record that is there, if any, may be replaced: the tracker is not active. */
static int
check_new(const char *name, const struct record *r, bool force, struct err *e)
{
	if (is_era(name))
		return err_set(e, ERR_REFUSED, "%s is tracked already", name);
	if (r->device[0] != '\0' && !force)
		return err_set(e, ERR_REFUSED,
		    "%s is there already: \"dsync start %s\" activates its tracker, --force begins anew",
		    r->path, name);
	return 0;
}

int
track_cost(const struct track_config *c, struct track_cost *out, struct err *e)
{
	uint64_t bytes;

	if (size_of(c->device, &bytes, e) != 0)
		return -1;
	*out = cost_of(bytes, block_bytes(c));
	return 0;
}

static int
set_up(const struct track_config *c, struct record *r, struct track_report *out, struct err *e)
{
	struct err reason;
	int rc = record_read(r, &reason);

	if (rc != 0 && reason.kind != ERR_ABSENT)
		return *e = reason, -1;
	if (check_new(out->name, r, c->force, e) != 0 || take_path(r->device, c->device, e) != 0 ||
	    take_path(r->metadata, c->metadata, e) != 0 || prepare_metadata(c, e) != 0)
		return -1;
	r->beneath = out->beneath;
	r->block_sectors = block_bytes(c) / SECTOR_BYTES;
	if (record_save(r, e) != 0)
		return -1;
	if (r->beneath || check_unused(r->device, &reason) == 0)
		return start(r, out, e);
	snprintf(out->why, sizeof out->why, "%s", reason.text);
	return 0;
}

int
track_new(const struct track_config *c, struct track_report *out, struct err *e)
{
	struct record r;

	memset(out, 0, sizeof *out);
	if (choose_name(c, out, e) != 0)
		return -1;
	int rc = record_begin(&r, c->folder, out->name, true, e);
	if (rc == 0)
		rc = set_up(c, &r, out, e);
	record_close(&r);
	return rc;
}
