#include "common/install/finish.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/disk/ptable.h"
#include "common/install/beginning.h"
#include "common/install/stale.h"
#include "common/install/whole.h"

enum { SENTENCE_BYTES = 300 };

static void
tell(const struct target *t, const char *sentence)
{
	if (t->cfg->say != NULL)
		t->cfg->say(sentence);
}

/* The image's sectors as the disk's. */
static int
wipe_stale(struct whole *w, struct rangeset *stored, unsigned *wiped, struct err *e)
{
	const struct target *t = w->target;
	struct rangeset there;
	int rc = 0;

	if (t->cfg->keep_stale || stored == NULL || t->fresh)
		return 0;
	rangeset_init(&there);
	for (size_t i = 0; rc == 0 && i < rangeset_count(stored); i++) {
		struct range r = rangeset_get(stored, i);
		rc = rangeset_add(
		    &there, (struct range){ r.off + t->slice.off, r.len }, e);
	}
	if (rc == 0)
		rc = stale_wipe(w, &there, wiped, e);
	rangeset_free(&there);
	return rc;
}

static void
tell_change(const struct target *t, const struct ptable_change *done)
{
	char sentence[SENTENCE_BYTES];

	if (done->moved)
		tell(t, "the partition table was made to fit the disk");
	if (done->grown == 0)
		return;
	snprintf(sentence, sizeof sentence,
	    "partition %u grew from %" PRIu64 " to %" PRIu64
	    " sectors; its filesystem did not: resize2fs, xfs_growfs, \"btrfs "
	    "filesystem resize\", "
	    "ntfsresize or pvresize",
	    done->grown, done->was_sectors, done->is_sectors);
	tell(t, sentence);
}

/* The sectors that the table was made for; is it to be made to fit? */
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

/* A table that is not in this chunk, or is wrong, is seen to when it is on the disk. */
static int
try_fit(const struct target *t, struct beginning *b, unsigned from, struct err *e)
{
	static const struct disk_ops ops = { .pread = beginning_pread,
		.pwrite = write_nothing };
	struct ptable_change done;
	struct disk *d;
	struct err why, none;

	if (disk_open_ops(&d, disk_name(t->disk), disk_kind(t->disk),
		disk_size_bytes(t->disk), &ops, b, e) != 0)
		return -1;
	disk_set_sector_bytes(d, disk_sector_bytes(t->disk));
	int rc = ptable_fit(d, from, t->cfg->grow, &done, &why);
	disk_close(d, &none);
	if (rc == 0 || why.kind != ERR_UNSUPPORTED)
		return 0;
	*e = why;
	return err_ctx(e, "the partition table could not be made to fit");
}

int
finish_check(const struct target *t, const struct chunk *c, const void *bytes,
    unsigned table_sector_bytes, struct err *e)
{
	struct beginning *b;
	unsigned from;

	if (c->h.firstsect != 0 || t->fresh || t->slice.len != 0 ||
	    !wants_fit(t, table_sector_bytes, &from))
		return 0;
	if (beginning_of(&b, c, bytes, e) != 0)
		return -1;
	int rc = try_fit(t, b, from, e);
	beginning_free(b);
	return rc;
}

static int
fit_table(struct whole *w, unsigned table_sector_bytes, struct err *e)
{
	const struct target *t = w->target;
	struct ptable_change done;
	unsigned from;

	if (t->slice.len != 0 || !wants_fit(t, table_sector_bytes, &from))
		return 0;
	if (ptable_fit(w->disk, from, t->cfg->grow, &done, e) != 0)
		return err_ctx(e, "the partition table could not be made to fit");
	tell_change(t, &done);
	return 0;
}

int
finish_target(struct target *t, struct rangeset *stored, unsigned table_sector_bytes,
    unsigned *stale_wiped, struct err *e)
{
	const struct install_config *cfg = t->cfg;
	struct whole w;
	int rc = whole_open(&w, t, e);

	if (rc != 0)
		return -1;
	if (cfg->part_type != 0)
		rc = ptable_set_type(
		    w.disk, (unsigned)cfg->slice, (unsigned)cfg->part_type, e);
	if (rc == 0)
		rc = wipe_stale(&w, stored, stale_wiped, e);
	if (rc == 0)
		rc = fit_table(&w, table_sector_bytes, e);
	return whole_close(&w, rc, e);
}

void
finish_tell_kernel(const struct target *t)
{
	struct err note;

	if (t->cfg->slice == 0 && disk_reread_partitions(t->disk, &note) != 0 &&
	    t->cfg->warn != NULL)
		t->cfg->warn(note.text);
}
