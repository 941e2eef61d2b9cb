/* target_open.c: opens a target: finds where it begins and how much room it has, and
 * refuses options that it cannot do. install_open.c and imageunzip's status.c
 * call this, in the thread that opens the installation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/flight.h"
#include "common/disk/hold.h"
#include "common/disk/ptable.h"
#include "fsmods/sectorsize.h"
#include "imageunzip/install/target.h"

enum { NUMBERS_CAP = 200 };

static int
refuse_slice(
    const struct disk *d, const struct ptable *pt, uint64_t slice, struct err *e)
{
	char numbers[NUMBERS_CAP];

	if (pt->nparts == 0)
		return err_set(e, ERR_ABSENT,
		    "%s: has no partition %" PRIu64 ": it has no partition table",
		    disk_name(d), slice);
	return err_set(e, ERR_ABSENT,
	    "%s: has no partition %" PRIu64 ": it has partitions %s", disk_name(d),
	    slice, ptable_numbers(pt, numbers, sizeof numbers));
}

int
install_area(struct disk *d, uint64_t slice, struct range *area, struct err *e)
{
	struct ptable pt;

	*area = (struct range){ 0, 0 };
	if (slice == 0)
		return 0;
	if (!disk_seekable(d))
		return err_set(e, ERR_USAGE, "%s: has no partitions to install into",
		    disk_name(d));
	if (ptable_read(&pt, d, e) != 0)
		return -1;
	int rc = sectorsize_check(d, &pt, e);
	const struct partition *p = ptable_find(&pt, (unsigned)slice);
	if (rc == 0 && p == NULL)
		rc = refuse_slice(d, &pt, slice, e);
	if (rc == 0 && rangeset_touches(&pt.own, p->sectors))
		rc = err_set(e, ERR_UNSUPPORTED,
		    "%s: partition %" PRIu64
		    " has the partition table in it, and cannot be installed alone",
		    disk_name(d), slice);
	if (rc == 0)
		*area = p->sectors;
	ptable_free(&pt);
	return rc;
}

static int
make_pattern(struct target *t, struct err *e)
{
	if (!t->cfg->has_pattern)
		return 0;
	t->fill = malloc(TARGET_FILL_BYTES);
	if (t->fill == NULL)
		return err_nomem(e, "a buffer for the pattern");
	for (size_t i = 0; i < TARGET_FILL_BYTES / sizeof *t->fill; i++)
		t->fill[i] = t->cfg->pattern;
	return 0;
}

/* Refuse options that a pipe cannot do. */
static int
check_stream(const struct disk *d, const struct install_config *cfg, struct err *e)
{
	const struct {
		bool on;
		const char *name;
	} not [] = { { cfg->skip_same, "--skip-same" },
		{ cfg->read_back, "--read-back" }, { cfg->fix_gpt, "--fix-gpt" },
		{ cfg->grow, "--grow" }, { cfg->fit != NULL, "--fit" },
		{ cfg->convert, "--convert" }, { cfg->discard, "--discard" },
		{ cfg->state != NULL, "--state" },
		{ cfg->direct, "-f" } };

	for (unsigned i = 0; i < sizeof not / sizeof not [0]; i++)
		if (not [i].on && disk_kind(d) == DISK_STREAM)
			return err_set(e, ERR_USAGE,
			    "%s: %s needs a disk or a file: a pipe can only be "
			    "written, from the first byte to the last",
			    disk_name(d), not [i].name);
	return 0;
}

static int
check_only(const struct install_config *cfg, struct err *e)
{
	bool several = cfg->only.n > 1;
	const struct {
		bool on;
		const char *name, *why;
	} not [] = {
		{ cfg->only.n > 0 && (cfg->fix_gpt || cfg->grow || cfg->convert),
		    "--fix-gpt, --grow and --convert",
		    "the target's partition table stays as it is" },
		{ several && cfg->slice != 0, "-s",
		    "it says where a single partition is installed" },
		{ several && cfg->part_type != 0, "-D",
		    "it sets the type of a single partition" },
		{ several && cfg->state != NULL && strcmp(cfg->state, "target") != 0,
		    "--state=FILE", "it records the installation of a single partition" },
	};

	for (unsigned i = 0; i < sizeof not / sizeof not [0]; i++)
		if (not [i].on)
			return err_set(e, ERR_USAGE,
			    "%s cannot be used with --only%s: %s", not [i].name,
			    i == 0 ? "" : " of more than one partition", not [i].why);
	return 0;
}

int
target_check_options(const struct install_config *cfg, struct err *e)
{
	if (check_only(cfg, e) != 0)
		return -1;
	if (cfg->part_type != 0 && cfg->slice == 0 && cfg->only.n == 0)
		return err_set(e, ERR_USAGE, "-D sets the type of a partition: it needs -s");
	if (cfg->slice != 0 && (cfg->fix_gpt || cfg->grow || cfg->convert))
		return err_set(e, ERR_USAGE,
		    "--fix-gpt, --grow and --convert change a whole disk and cannot be "
		    "used with -s");
	if (cfg->fit != NULL && (cfg->slice != 0 || cfg->only.n > 0 || cfg->fix_gpt ||
				    cfg->grow || cfg->tail == INSTALL_TAIL_MOVE))
		return err_set(e, ERR_USAGE,
		    "--fit plans a whole disk and cannot be used with -s, --only, "
		    "--fix-gpt, --grow or --tail=move");
	if ((cfg->no_follow || cfg->fit_lv != NULL) && cfg->fit == NULL && !cfg->grow)
		return err_set(e, ERR_USAGE,
		    "--no-follow and --fit-lv say what follows longer partitions: they need "
		    "--grow or --fit");
	if (cfg->no_follow && cfg->fit_lv != NULL)
		return err_set(e, ERR_USAGE,
		    "--fit-lv names what grows and cannot be used with --no-follow");
	if (cfg->tail == INSTALL_TAIL_MOVE &&
	    (cfg->slice != 0 || cfg->only.n > 0 || cfg->fix_gpt || cfg->grow || cfg->convert))
		return err_set(e, ERR_USAGE,
		    "--tail=move writes to the end of the whole disk and cannot be "
		    "used with -s, --fix-gpt, --grow or --convert");
	if (cfg->check_base != NULL && cfg->force)
		return err_set(e, ERR_USAGE,
		    "--force leaves out the checks of a delta's base and cannot be "
		    "used with --check-base");
	if (cfg->discard && (cfg->zero || cfg->has_pattern))
		return err_set(e, ERR_USAGE,
		    "--discard leaves the contents of free space undefined and cannot "
		    "be used with -z or -p");
	return 0;
}

int
target_init(struct target *t, struct disk *d, const struct install_config *cfg,
    unsigned number, bool fresh, struct err *e)
{
	*t = (struct target){
		.disk = d, .cfg = cfg, .number = number, .fresh = fresh, .room = UINT64_MAX
	};
	if (check_stream(d, cfg, e) != 0 ||
	    install_area(d, number, &t->slice, e) != 0 || make_pattern(t, e) != 0)
		goto fail;
	/* The last sector of a file may be short, and is not one of its sectors. */
	t->as_is = maps_one((struct range){ 0, t->slice.len != 0 ? t->slice.len : UINT64_MAX });
	t->maps = &t->as_is;
	if (t->slice.len != 0)
		t->room = t->slice.len;
	else if (!fresh && disk_seekable(d) &&
		 !(cfg->resize && disk_kind(d) == DISK_FILE))
		t->room = disk_size_bytes(d) / SECTOR_BYTES;
	if (boot_area_init(&t->boot_area, d, t->slice.off * SECTOR_BYTES,
		t->room < BOOT_AREA_SECTORS ? t->room * SECTOR_BYTES : BOOT_AREA_BYTES,
		e) != 0)
		goto fail;
	if (disk_seekable(d) && !cfg->dry &&
	    ledger_new(&t->ledger, d, cfg->read_back, t->slice.off * SECTOR_BYTES, e) != 0)
		goto fail;
	/* A flight belongs to one thread, so it is used only when one thread writes. */
	bool direct = !cfg->dry && (cfg->direct || disk_kind(d) == DISK_BLOCK);
	if (direct && !cfg->no_writer && flight_new(&t->flight, d, cfg->direct, e) != 0)
		goto fail;
	return 0;
fail:
	free(t->fill);
	ledger_free(t->ledger);
	return -1;
}

void
target_close(struct target *t)
{
	free(t->fill);
	boot_area_free(&t->boot_area);
	flight_free(t->flight);
	ledger_free(t->ledger);
}
