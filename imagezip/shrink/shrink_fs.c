/* shrink_fs.c: one filesystem is made smaller in a copy-on-write view of the source.  shrink.c
 * calls this, in the first thread. */
#include "imagezip/shrink/shrink_fs.h"

#include <stdio.h>
#include <string.h>

#include "imagezip/shrink/view.h"

static struct range
in_bytes(struct range sectors)
{
	return (struct range){ sectors.off * SECTOR_BYTES, sectors.len * SECTOR_BYTES };
}

/* Leave a filesystem as it is whose tool has failed.  What is wrong here, and not with the
 * filesystem, ends the run: -1. */
static int
leave(struct shrink_part *p, const char *file, const struct err *e)
{
	const char *said = e->text;
	size_t name = strlen(file);

	if (e->kind != ERR_IO && e->kind != ERR_FORMAT)
		return -1;
	p->fs.is_bytes = p->fs.was_bytes;
	while (strncmp(said, file, name) == 0 && strncmp(said + name, ": ", 2) == 0)
		said += name + 2; /* the tool may name it, too, and nobody knows it */
	snprintf(p->fs.left_alone, sizeof p->fs.left_alone, "its tool fails: %.200s", said);
	return 0;
}

/* Who claims the space behind the filesystem?  What has an owner goes with the filesystem
 * as it is now: a hash tree is of all its blocks. */
static int
heed_claims(struct shrink_part *p, struct disk *source, struct err *e)
{
	uint64_t end = (p->fs.was_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	char who[160];

	if (end == 0) /* its tool makes nothing smaller */
		return 0;
	if (behind_find(&p->behind, source, p->was, end, NULL, e) != 0)
		return -1;
	if (p->behind.n > 0)
		snprintf(p->fs.left_alone, sizeof p->fs.left_alone, "%s lies behind it",
		    behind_owned_text(&p->behind, who, sizeof who));
	return 0;
}

/* Let the filesystem's tool work on the file that shows the partition. */
static int
shrink_shown(struct shrink_part *p, struct disk *source, const char *file,
    uint64_t spare_bytes, struct err *e)
{
	if (resize_look(file, &p->fs, e) != 0 || heed_claims(p, source, e) != 0)
		return -1;
	return p->behind.n > 0 ? 0 : resize_shrink(file, spare_bytes, &p->fs, e);
}

/* How many sectors the partition needs now; no more than it has. */
static uint64_t
sectors_needed(const struct shrink_part *p, uint64_t align_bytes)
{
	uint64_t bytes = p->fs.is_bytes;

	if (p->fs.left_alone[0] != '\0' || bytes > p->was.len * SECTOR_BYTES)
		return p->was.len;
	uint64_t needed =
	    (bytes + align_bytes - 1) / align_bytes * (align_bytes / SECTOR_BYTES);
	return needed < p->was.len ? needed : p->was.len;
}

/* Show what becomes of the partition, and let the tool put its last things there.  1: it has
 * failed. */
static int
settle(struct shrunk_fs *s, struct shrink_part *p, struct err *e)
{
	const char *file;
	struct range bytes = in_bytes((struct range){ p->was.off, p->is.len });

	if (view_show(s->view, bytes, &file, e) != 0)
		return -1;
	if (resize_settle(file, &p->fs, e) != 0)
		return leave(p, file, e) == 0 ? 1 : -1;
	return disk_open(&s->disk, file, DISK_READ, e);
}

/* Try it once, in a view of its own.  1: the tool has failed, and p->fs says how. */
static int
attempt(struct shrunk_fs *s, struct disk *source, struct shrink_part *p,
    uint64_t spare_bytes, uint64_t align_bytes, struct err *e)
{
	const char *file;

	if (view_open(&s->view, disk_name(source), e) != 0 ||
	    view_show(s->view, in_bytes(p->was), &file, e) != 0)
		return -1;
	if (shrink_shown(p, source, file, spare_bytes, e) != 0)
		return leave(p, file, e) == 0 ? 1 : -1;
	view_hide(s->view);
	p->is.len = sectors_needed(p, align_bytes);
	return p->fs.left_alone[0] == '\0' ? settle(s, p, e) : 0;
}

/* Try it with more and more room, as NTFS may need to be laid out.  1: it has failed. */
static int
attempt_more(struct shrunk_fs *s, struct disk *source, struct shrink_part *p,
    uint64_t align_bytes, struct err *e)
{
	const struct resize failed = p->fs;
	uint64_t spare = failed.spare_bytes;
	int rc = 1;

	for (unsigned part = 8; rc == 1 && part > 1; part /= 2) {
		shrink_fs_end(s); /* the tool has left its view as nobody knows */
		rc = attempt(s, source, p, spare + failed.was_bytes / part, align_bytes, e);
	}
	if (rc == 0 && p->fs.is_bytes == p->fs.was_bytes) /* it had nothing to do */
		p->fs = failed;
	return rc;
}

int
shrink_fs(struct shrunk_fs *s, struct disk *source, struct shrink_part *p,
    uint64_t spare_bytes, uint64_t align_bytes, struct err *e)
{
	int rc = attempt(s, source, p, spare_bytes, align_bytes, e);

	if (rc == 1 && strcmp(p->fs.type, "ntfs") == 0)
		rc = attempt_more(s, source, p, align_bytes, e);
	if (p->fs.left_alone[0] != '\0') {
		shrink_fs_end(s);
		p->is.len = p->was.len;
	}
	/* What lies behind the new end is cut off. */
	p->behind.unknown = range_clip(p->behind.unknown, p->was.off + p->is.len, UINT64_MAX);
	return rc < 0 ? -1 : 0;
}

void
shrink_fs_end(struct shrunk_fs *s)
{
	struct err ignored; /* only read: nothing to lose */

	if (s->disk != NULL)
		disk_close(s->disk, &ignored);
	if (s->view != NULL)
		view_close(s->view);
	*s = (struct shrunk_fs){ .view = NULL };
}
