/* enough.c: compares how far the parts of an image reach with a target. install_check.c
 * and install_only.c call this in the thread that feeds chunks, before anything is
 * written; stream/disk calls it when a streaming disk begins. */
#include "common/target/enough.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/number.h"

enum { SENTENCE_BYTES = 500, NAME_BYTES = 80, HUMAN_BYTES = 32 };

/* "the xfs filesystem of partition 2", "partition 2", "the xfs filesystem" */
static const char *
name_of(const struct reach_part *p, bool fs, char buf[NAME_BYTES])
{
	int n = fs ? snprintf(buf, NAME_BYTES, "the %s filesystem%s", p->fs,
	                 p->number != 0 ? " of " : "")
	           : 0;

	if (p->number != 0)
		snprintf(buf + n, NAME_BYTES - (size_t)n, "partition %u", p->number);
	return buf;
}

/* Refuse, or warn, in the same words. */
static int
object(const struct enough *t, const char *sentence, struct err *e)
{
	char text[SENTENCE_BYTES + NAME_BYTES];

	if (!t->lenient)
		return err_set(e, ERR_REFUSED, "%s%s", sentence,
		    t->has_force ? "; --force installs it all the same" : "");
	snprintf(text, sizeof text, "%s, and cannot be used there", sentence);
	if (t->warn != NULL)
		t->warn(t->arg, text);
	return 0;
}

static int
too_small(const struct enough *t, const struct reach_part *p, bool fs, uint64_t end,
    struct err *e)
{
	char text[SENTENCE_BYTES], name[NAME_BYTES], has[HUMAN_BYTES], needs[HUMAN_BYTES];

	snprintf(text, sizeof text,
	    "%.200s is too small: it has %" PRIu64
	    " sectors of 512 bytes (%s), and %s of the image reaches to sector %" PRIu64
	    " (%s)",
	    t->target, t->room, human_bytes(t->room * SECTOR_BYTES, has, sizeof has),
	    name_of(p, fs, name), end,
	    human_bytes(end * SECTOR_BYTES, needs, sizeof needs));
	return object(t, text, e);
}

static int
wrong_sectors(const struct enough *t, const struct reach_part *p, struct err *e)
{
	char text[SENTENCE_BYTES], name[NAME_BYTES];

	snprintf(text, sizeof text,
	    "%.200s has sectors of %u bytes, and %s of the image was made for sectors of "
	    "at most %u",
	    t->target, t->sector_bytes, name_of(p, true, name), p->sector_bytes);
	return object(t, text, e);
}

/* Nothing is stored of a partition that is not all on the disk. */
static void
warn_beyond(const struct enough *t, const struct reach_part *p)
{
	char text[SENTENCE_BYTES];

	snprintf(text, sizeof text,
	    "%.200s: partition %u reaches to sector %" PRIu64
	    ", and the disk has %" PRIu64 " sectors: the image stores nothing of "
	    "this partition, which cannot be used in this length",
	    t->target, p->number, range_end(p->sectors), t->room);
	if (t->warn != NULL)
		t->warn(t->arg, text);
}

static int
check_part(const struct enough *t, const struct reach_part *p, struct err *e)
{
	uint64_t fs_end = reach_fs_end(p), end = range_end(p->sectors);
	bool stored = (p->flags & REACH_STORED) != 0;

	if (stored && fs_end > t->only.off && fs_end - t->only.off > t->room)
		return too_small(t, p, true, fs_end - t->only.off, e);
	if (t->disk && end > t->room && stored)
		return too_small(t, p, false, end, e);
	if (t->disk && end > t->room)
		warn_beyond(t, p);
	return stored && t->sector_bytes != 0 && p->sector_bytes != 0 &&
	               p->sector_bytes < t->sector_bytes
	           ? wrong_sectors(t, p, e)
	           : 0;
}

/* Is the part among the sectors that are installed? */
static bool
is_installed(const struct enough *t, const struct reach_part *p)
{
	return t->only.len == 0 ||
	       range_clip(p->sectors, t->only.off, range_end(t->only)).len != 0;
}

int
enough_check(const struct enough *t, const struct reach *x, struct err *e)
{
	for (size_t i = 0; x != NULL && i < x->n; i++)
		if (is_installed(t, &x->parts[i]) && check_part(t, &x->parts[i], e) != 0)
			return -1;
	return 0;
}
