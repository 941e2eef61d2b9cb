#include "common/install/finish.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/disk/ptable.h"
#include "common/install/stale.h"

enum { SENTENCE_BYTES = 300 };

static void
tell(const struct target *t, const char *sentence)
{
	if (t->cfg->say != NULL)
		t->cfg->say(sentence);
}

/* The image's sectors as the disk's. */
static int
wipe_stale(struct target *t, struct rangeset *stored, unsigned *wiped, struct err *e)
{
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
		rc = stale_wipe(t->disk, t->slice, &there, t->cfg->say, wiped, e);
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

static int
fit_table(struct target *t, unsigned table_sector_bytes, struct err *e)
{
	unsigned own = disk_sector_bytes(t->disk);
	unsigned from = table_sector_bytes != 0 ? table_sector_bytes : own;
	bool convert = t->cfg->convert && disk_kind(t->disk) == DISK_BLOCK &&
	               from != own;
	struct ptable_change done;

	if (!convert && !t->cfg->fix_gpt && !t->cfg->grow)
		return 0;
	if (t->slice.len != 0)
		return err_set(e, ERR_USAGE,
		    "--fix-gpt, --grow and --convert are for a whole disk");
	if (ptable_fit(t->disk, from, t->cfg->grow, &done, e) != 0)
		return err_ctx(
		    e, "the disk is installed, but its partition table does not fit");
	tell_change(t, &done);
	return 0;
}

int
finish_target(struct target *t, struct rangeset *stored, unsigned table_sector_bytes,
    unsigned *stale_wiped, struct err *e)
{
	struct disk *d = t->disk;
	const struct install_config *cfg = t->cfg;
	struct err note;

	if (cfg->part_type != 0 &&
	    ptable_set_type(d, (unsigned)cfg->slice, (unsigned)cfg->part_type, e) != 0)
		return -1;
	if (wipe_stale(t, stored, stale_wiped, e) != 0 ||
	    fit_table(t, table_sector_bytes, e) != 0 || disk_sync(d, e) != 0)
		return -1;
	if (cfg->slice == 0 && disk_reread_partitions(d, &note) != 0 &&
	    cfg->warn != NULL)
		cfg->warn(note.text);
	return 0;
}
