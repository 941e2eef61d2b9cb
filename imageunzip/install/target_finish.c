/* target_finish.c: makes a target complete when all data is written: it adapts the partition
 * table or sets a partition's type, fills free space, wipes stale signatures, and tells
 * the kernel. install_end.c calls this when all other threads are gone; also in a
 * rehearsal, to learn what would be done. */
#include "imageunzip/install/target_finish.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/number.h"
#include "common/behind/behind.h"
#include "common/disk/hold.h"
#include "common/disk/ptable.h"
#include "common/image/read/reaches.h"
#include "common/target/first_mib.h"
#include "common/target/stale_signatures.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/target_tail.h"
#include "imageunzip/install/target_view.h"

enum { SENTENCE_BYTES = 400 };

static void
tell(const struct target *t, const char *sentence)
{
	if (t->cfg->say != NULL)
		t->cfg->say(sentence);
}

static void
tell_change(const struct target *t, const struct ptable_change *done, bool dry)
{
	char sentence[SENTENCE_BYTES], was[32], is[32];

	if (done->moved)
		tell(t, dry ? "the partition table would be adapted to the disk"
			    : "the partition table was adapted to the disk");
	if (done->grown == 0)
		return;
	snprintf(sentence, sizeof sentence,
	    "partition %u %s from %" PRIu64 " sectors (%s) to %" PRIu64 " (%s)%s",
	    done->grown, dry ? "would grow" : "grew", done->was_sectors,
	    human_bytes(done->was_sectors * SECTOR_BYTES, was, sizeof was),
	    done->is_sectors,
	    human_bytes(done->is_sectors * SECTOR_BYTES, is, sizeof is),
	    t->cfg->no_follow ? "; its filesystem keeps its length: growfs enlarges it" : "");
	tell(t, sentence);
}

/* Is the partition table to be adapted to the disk? *from: the size of the sectors that
 * the table was made for. */
static bool
wants_fit(const struct target *t, unsigned table_sector_bytes, unsigned *from)
{
	unsigned own = disk_sector_bytes(t->disk);

	*from = table_sector_bytes != 0 ? table_sector_bytes : own;
	return t->cfg->fix_gpt || t->cfg->grow ||
	       (t->cfg->convert && disk_kind(t->disk) == DISK_BLOCK && *from != own);
}

static ssize_t
write_nothing(void *ctx, const void *buf, size_t len, uint64_t off)
{
	(void)ctx, (void)buf, (void)off;
	return (ssize_t)len;
}

static int
read_same(void *disk, void *buf, size_t len, uint64_t off, struct err *e)
{
	return disk_read(disk, buf, len, off, e);
}

/* What would ptable_fit() do to a disk as large as the target that reads like this? */
static int
try_fit(const struct target *t, const struct disk_ops *ops, void *ctx, unsigned from,
    bool grow, struct ptable_change *done, struct err *e)
{
	struct disk *d;
	struct err none;

	if (disk_open_view(&d, t->disk, ops, ctx, e) != 0)
		return -1;
	int rc = ptable_fit(d, from, grow, done, e);
	disk_close(d, &none);
	return rc;
}

/* Note what the image says of the partition that will be longer; number 0: none. */
static void
foresee_last(struct target *t, const struct reach_part *p, unsigned number)
{
	t->stores_last = p != NULL && (p->flags & REACH_STORED) != 0;
	if (number != 0)
		followed_foresee(t, number, p != NULL ? p->fs : "");
}

/* Fails when ptable_fit() would refuse the table. A table that is not in this chunk, or
 * is wrong, is left to target_finish_all(), when it is on the disk. */
static int
check_fit(struct target *t, struct first_mib *b, unsigned from,
    const struct reach *reach, struct err *e)
{
	static const struct disk_ops ops = { .pread = first_mib_pread,
		.pwrite = write_nothing };
	struct ptable_change done = { .moved = false };
	struct err why;

	if (try_fit(t, &ops, b, from, t->cfg->grow, &done, &why) != 0 &&
	    why.kind == ERR_UNSUPPORTED) {
		*e = why;
		return err_ctx(e, "the partition table could not be adapted");
	}
	foresee_last(t, reach_find(reach, done.grown), done.grown);
	return 0;
}

/* Find out what will become of the table in the view. */
static bool
forecast(const struct target *t, struct disk *view, unsigned from, bool grow,
    struct ptable_change *done)
{
	static const struct disk_ops ops = { .read = read_same,
		.pwrite = write_nothing };
	struct err why;

	return t->slice.len == 0 && !t->fresh && disk_seekable(view) &&
	       try_fit(t, &ops, view, from, grow, done, &why) == 0;
}

int
target_finish_check(struct target *t, const struct chunk *c, const void *bytes,
    unsigned table_sector_bytes, struct err *e)
{
	struct first_mib *b;
	unsigned from;

	if (c->h.firstsect != 0 || t->fresh || t->fit != NULL || t->slice.len != 0 ||
	    !wants_fit(t, table_sector_bytes, &from))
		return 0;
	if (first_mib_of(&b, c, bytes, e) != 0)
		return -1;
	int rc = check_fit(t, b, from, c->ext.reach, e);
	first_mib_free(b);
	return rc;
}

/* Tell the user when the backup of the GPT is not at the disk's end: such a GPT works
 * until something looks for the backup. */
static void
hint_backup(const struct target *t, struct disk *view, unsigned from)
{
	struct ptable_change done;

	if (forecast(t, view, from, false, &done) && done.moved)
		tell(t, "the disk is larger than that of the image, so the backup of "
			"its GPT is not at the end of the disk: --fix-gpt moves it "
			"there, and --grow enlarges the last partition, too");
}

/* What lies behind the last partition before the table is fitted. */
struct beyond {
	struct behind behind;
	uint64_t from, end; /* sectors that no partition has */
};

static void
find_beyond(struct beyond *b, struct disk *view)
{
	struct range all = { 0, disk_size_bytes(view) / SECTOR_BYTES };
	struct ptable t;
	struct err ignored;

	*b = (struct beyond){ .from = all.len, .end = all.len };
	if (ptable_read(&t, view, &ignored) != 0)
		return; /* for other sectors, for example: no image's tail is there */
	b->from = behind_partitions(&t);
	if (behind_find(&b->behind, view, all, b->from, &t.own, &ignored) != 0)
		b->behind.n = 0;
	ptable_free(&t);
}

/* The sectors behind the last partition that it has now, or that a GPT has. */
static struct range
taken(const struct beyond *b, const struct ptable_change *done)
{
	enum { BACKUP_SECTORS = 48 }; /* the most that one takes: in sectors of 4 KiB */
	uint64_t more = done->grown != 0 ? done->is_sectors - done->was_sectors : 0;
	bool all = more > 0 || b->end < BACKUP_SECTORS;
	uint64_t from = all ? b->from : b->end - BACKUP_SECTORS;
	uint64_t end = done->moved ? b->end : b->from + more;

	return range_clip((struct range){ b->from, b->end - b->from }, from, end);
}

/* Name the unknown data of the image's tail, which is in its place, that lies there; "":
 * none. */
static const char *
tail_there(const struct target_finish *f, struct range r, char *buf, size_t cap)
{
	uint64_t sectors[TAIL_PIECES_MAX] = { 0 }, sum = 0;

	buf[0] = '\0';
	if (f->tail->n == 0 || !target_tail_in_place(f->target, f->tail))
		return buf;
	for (size_t i = 0; i < f->tail->n; i++) {
		const struct tail_piece *p = &f->tail->pieces[i];
		if (range_clip(p->sectors, r.off, range_end(r)).len > 0)
			sum += sectors[i] = f->tail_sectors[i];
	}
	return sum > 0 ? tail_text(f->tail, sectors, buf, cap) : buf;
}

/* Nothing is grown over without a word.  What is recognised of the image's tail was
 * refused before the first write (target_tail_check()); what the disk had may not be stale. */
static void
warn_taken(const struct target_finish *f, const struct beyond *b,
    const struct ptable_change *done)
{
	char sentence[SENTENCE_BYTES], what[200];
	struct range r = taken(b, done);

	if (r.len == 0 || f->target->cfg->warn == NULL)
		return;
	if (tail_there(f, r, what, sizeof what)[0] != '\0') {
		snprintf(sentence, sizeof sentence,
		    "%s at the end of the disk, which the image has, %s grown over", what,
		    f->dry ? "would be" : "is");
		f->target->cfg->warn(sentence);
	}
	if (b->behind.n > 0 && !f->dry) {
		snprintf(sentence, sizeof sentence,
		    "%s, which was on the disk, is grown over",
		    behind_owned_text(&b->behind, what, sizeof what));
		f->target->cfg->warn(sentence);
	}
}

/* Who claims the end of the last partition, behind its filesystem if it has one?
 * Metadata of an array is not found any more when the partition ends elsewhere. */
static void
find_claims(struct behind *b, struct disk *view, const struct partition *p)
{
	struct reach_part fs = { .number = p->number, .sectors = p->sectors };
	uint64_t from = reaches_look(view, p->sectors, &fs) ? fs.fs_sectors : 0;

	b->n = end_signature_find(view, p->sectors, from, b->owned);
}

/* Why must the last partition stay as it is?  Nothing is resized of a disk on which a
 * system is suspended.  Returns whether there is a reason. */
static bool
must_stay(struct disk *view, const struct ptable *t, char *why, size_t cap)
{
	const struct partition *last = ptable_last(t);
	char where[BEHIND_WHERE_CAP], who[200];
	struct behind b = { .n = 0 };

	if (last != NULL)
		find_claims(&b, view, last);
	if (behind_suspended(view, t, where))
		snprintf(why, cap,
		    "a system is suspended %s, and goes on with the filesystems as they "
		    "are",
		    where);
	else if (b.n > 0)
		snprintf(why, cap, "%s is at the end of partition %u",
		    behind_owned_text(&b, who, sizeof who), last->number);
	else
		return false;
	return true;
}

/* Is the last partition to be grown? */
static bool
may_grow(const struct target_finish *f, struct disk *view)
{
	const struct install_config *cfg = f->target->cfg;
	char why[SENTENCE_BYTES - 100], sentence[SENTENCE_BYTES];
	struct ptable t;
	struct err ignored;

	if (!cfg->grow || ptable_read(&t, view, &ignored) != 0)
		return cfg->grow;
	bool stays = must_stay(view, &t, why, sizeof why);
	ptable_free(&t);
	if (stays && cfg->warn != NULL) {
		snprintf(sentence, sizeof sentence, "%s: the last partition %s grown", why,
		    f->dry ? "would not be" : "is not");
		cfg->warn(sentence);
	}
	return !stays;
}

/* Note the partition that is longer now, unless what is in it is the disk's own. */
static void
note_longer(struct target_finish *f, struct disk *view, const struct ptable_change *done)
{
	struct ptable t;
	struct err ignored;

	if (done->grown == 0 || ptable_read(&t, view, &ignored) != 0)
		return;
	const struct partition *p = ptable_find(&t, done->grown);
	rangeset_seal(&f->free_space->stored);
	if (p != NULL &&
	    (f->target->stores_last || rangeset_touches(&f->free_space->stored,
		(struct range){ p->sectors.off, done->was_sectors })))
		f->longer.part[f->longer.n++] =
		    (struct longer){ p->number, p->sectors, done->was_sectors };
	ptable_free(&t);
}

static int
fit_table(struct target_finish *f, struct disk *view, struct err *e)
{
	const struct target *t = f->target;
	struct ptable_change *done = &f->change;
	struct beyond beyond;
	unsigned from;

	if (t->fit != NULL)
		return fit_finish(f, view, e);
	if (t->slice.len != 0)
		return 0;
	if (!wants_fit(t, f->sector_bytes, &from)) {
		hint_backup(t, view, from);
		return 0;
	}
	find_beyond(&beyond, view);
	if (ptable_fit(view, from, may_grow(f, view), done, e) != 0)
		return err_ctx(e, "the partition table could not be adapted");
	tell_change(t, done, f->dry);
	warn_taken(f, &beyond, done);
	note_longer(f, view, done);
	return 0;
}

/* Warn about free space that was not filled: chunks of an earlier run, which are not looked
 * at again, may have stored something in its partition. */
static void
warn_passed(const struct target *t, uint64_t passed)
{
	char sentence[SENTENCE_BYTES], size[32];

	if (passed == 0 || t->cfg->warn == NULL)
		return;
	snprintf(sentence, sizeof sentence,
	    "%s of free space keep their old bytes: they lie in partitions of which "
	    "the chunks of this run store nothing, and what the chunks of the "
	    "interrupted run stored is not known",
	    human_bytes(passed * SECTOR_BYTES, size, sizeof size));
	t->cfg->warn(sentence);
}

/* Write the numbers of partitions of which the image stores nothing: "3, 5". */
static void
left_numbers(const struct areas *areas, char *buf, size_t cap)
{
	unsigned number = 0, last = 0;
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < areas->n && n < cap; i++) {
		const struct area *a = &areas->a[i];
		number = a->inside ? number : a->number;
		if ((a->some && !a->unsure) || number == 0 || number == last)
			continue;
		n += (size_t)snprintf(
		    buf + n, cap - n, "%s%u", last != 0 ? ", " : "", number);
		last = number;
	}
}

/* Warn about partitions that were not filled, or not wholly: a disk that is to be wiped
 * is not wiped there. */
static void
warn_left_out(
    const struct target *t, const struct areas *areas, const struct rangeset *left)
{
	char sentence[SENTENCE_BYTES], numbers[200];
	uint64_t sectors = rangeset_total(left);

	if (sectors == 0 || t->cfg->warn == NULL)
		return;
	left_numbers(areas, numbers, sizeof numbers);
	snprintf(sentence, sizeof sentence,
	    "%" PRIu64
	    " sectors keep their old bytes, because the image stores nothing of %s%s%s",
	    sectors,
	    numbers[0] != '\0' ? "all or a part of these partitions: " : "the disk",
	    numbers, t->cfg->zero ? " (--zero-all fills them, too)" : "");
	t->cfg->warn(sentence);
}

static int
wipe_stale(const struct target_finish *f, struct disk *view, struct areas *areas,
    const struct rangeset *left, unsigned *wiped, struct err *e)
{
	const struct target *t = f->target;
	const struct boot_area *h = &t->boot_area;
	struct rangeset stored;
	struct stale_signatures s = { .disk = view,
		.slice = t->slice,
		.stored = &stored,
		.areas = areas,
		.left = left,
		.sector_bytes = disk_sector_bytes(t->disk),
		.did = f->dry ? "would wipe" : "wiped",
		.say = t->cfg->say };

	if (h->on)
		s.boot_area = (struct range){ h->at / SECTOR_BYTES, BOOT_AREA_SECTORS };
	rangeset_init(&stored);
	int rc = rangeset_add_shifted(&stored, &f->free_space->stored, t->slice.off, e);
	rangeset_seal(&stored);
	if (rc == 0)
		rc = stale_signatures_wipe(&s, e);
	*wiped = s.wiped;
	rangeset_free(&stored);
	return rc;
}

/* Fill free space and wipe stale signatures in it, but only in free space that belongs to
 * the image. */
static int
see_to_free_space(
    const struct target_finish *f, struct disk *view, unsigned *wiped, struct err *e)
{
	struct target *t = f->target;
	bool wipe = f->known && f->ours && !t->cfg->keep_stale && !t->fresh &&
	            disk_seekable(t->disk);
	struct ptable_change grown = { .moved = false };
	struct rangeset left;
	struct areas areas;
	uint64_t passed = 0;
	unsigned from;

	if (!wipe && !f->free_space->asked)
		return 0;
	areas_init(&areas);
	rangeset_init(&left);
	if (t->fit != NULL || !wants_fit(t, f->sector_bytes, &from) ||
	    !forecast(t, view, from, t->cfg->grow, &grown))
		grown.grown = 0;
	int rc = t->fit != NULL
	             ? fit_areas(t->fit, f->free_space, &areas, e)
	             : free_space_areas(f->free_space, t, view, f->sector_bytes, &grown, &areas, e);
	/* Nothing is wiped when the table cannot be read, because it is not known then
	 * which partitions were left out; and nothing in a rehearsal with -z or -p,
	 * because the filling would leave nothing to wipe. */
	wipe &= rc == 1 && !(f->dry && (t->cfg->zero || t->cfg->has_pattern));
	if (rc == 1)
		rc = f->free_space->all ? 0 : areas_left_out(&areas, true, &left, e);
	rangeset_seal(&left);
	/* Where partitions move, only what is stored tells what is free. */
	if (rc == 0 && !f->dry && (t->fit == NULL || f->known))
		rc = free_space_fill_rest(f->free_space, t, &left, &passed, e);
	if (rc == 0 && !f->known)
		warn_passed(t, passed);
	else if (rc == 0 && f->free_space->asked)
		warn_left_out(t, &areas, &left);
	if (rc == 0 && wipe)
		rc = wipe_stale(f, view, &areas, &left, wiped, e);
	areas_free(&areas);
	rangeset_free(&left);
	return rc;
}

/* The table is held to the end, when what was written is looked at again: other
 * installations into partitions of the disk set their types in it, too. */
static int
set_type(const struct target *t, struct disk *view, struct err *e)
{
	if (t->hold != NULL && hold_table(t->hold, disk_name(t->disk), e) != 0)
		return -1;
	int rc = ptable_set_type(view, t->number, (unsigned)t->cfg->part_type, e);
	if (rc == 1 && t->cfg->warn != NULL)
		t->cfg->warn(e->text); /* scripts name MBR types for GPT disks, too */
	return rc == 1 ? 0 : rc;
}

int
target_finish_all(struct target_finish *f, unsigned *stale_wiped, struct err *e)
{
	struct target *t = f->target;
	struct target_view view;
	int rc = target_view_open(&view, t, e);

	if (rc != 0)
		return -1;
	if (t->cfg->part_type != 0)
		rc = set_type(t, view.disk, e);
	if (rc == 0)
		rc = see_to_free_space(f, view.disk, stale_wiped, e);
	if (rc == 0)
		rc = fit_table(f, view.disk, e);
	return target_view_close(&view, rc, e);
}

void
target_finish_tell_kernel(const struct target *t)
{
	struct err note;

	if (t->number == 0 && disk_reread_partitions(t->disk, &note) != 0 &&
	    t->cfg->warn != NULL)
		t->cfg->warn(note.text);
}
