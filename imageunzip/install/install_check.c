/* install_check.c: checks a chunk before its data is decoded. install.c calls this in the
 * thread that feeds chunks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/image/format/reloc.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/job.h"
#include "imageunzip/install/target_finish.h"
#include "imageunzip/install/target_tail.h"

static int
check_relocs(struct install *in, const struct ndz_header *h, struct err *e)
{
	for (unsigned i = 0; i < h->nrelocs; i++) {
		const struct ndz_reloc *r = &h->relocs[i];
		bool known = reloc_known(r);
		if (!known && !in->warned_type && in->cfg.warn != NULL) {
			char text[WARNING_BYTES];
			snprintf(text, sizeof text,
			    "relocations of type %u are unknown and ignored", r->type);
			in->cfg.warn(text);
			in->warned_type = true;
		}
		if (known && r->type != NDZ_RELOC_NONE &&
		    r->type != NDZ_RELOC_GPT_FIX && reloc_at(h, r) == UINT64_MAX)
			return err_set(e, ERR_FORMAT,
			    "the data of the relocation at sector %" PRIu64
			    " is not in the chunk",
			    r->sector);
	}
	return 0;
}

const uint8_t *
install_uuid(const struct chunk *c)
{
	return c->ext.has_uuid ? c->ext.uuid : c->h.uuid;
}

bool
install_begun(const struct place *p)
{
	return p->target.boot_area.was_marked || resume_pending(&p->resume);
}

int
install_check_delta(const struct place *p, const struct chunk *c, struct err *e)
{
	const struct install *in = p->in;
	const struct target *t = &p->target;
	const struct boot_area *boot = &t->boot_area;

	if (!ext_is_delta(&c->ext) && in->cfg.check_base != NULL)
		return err_set(e, ERR_REFUSED,
		    "is of a whole image, and --check-base is for deltas");
	if (!ext_is_delta(&c->ext))
		return 0;
	if (in->cfg.zero || in->cfg.has_pattern || in->cfg.discard)
		return err_set(e, ERR_REFUSED,
		    "is of a delta image: filling or discarding what it does "
		    "not store would wipe out its base");
	if (t->fresh || disk_kind(t->disk) == DISK_STREAM)
		return err_set(e, ERR_REFUSED,
		    "is of a delta image, which can only be installed on what its base "
		    "was installed on; imagedelta --onto makes a whole image of both");
	/* A marker that this delta's own interrupted installation has left does not belong
	 * to its base. */
	if (boot->was_marked &&
	    memcmp(boot->old.uuid, install_uuid(c), NDZ_UUID_BYTES) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s: an installation there is incomplete, so the delta has no base",
		    disk_name(t->disk));
	return 0;
}

/* Refuse the image of a disk that has sectors of another size, since its partition table
 * counts in sectors, unless the table will be converted. */
static int
check_sectors(struct install *in, const struct ext_image *i, struct err *e)
{
	struct disk *d = in->disk;

	in->sector_bytes = i->kind == EXT_KIND_DISK ? i->sector_bytes : 0;
	if (i->kind != EXT_KIND_DISK || in->place->target.slice.len != 0 || in->cfg.convert ||
	    disk_kind(d) != DISK_BLOCK || i->sector_bytes == disk_sector_bytes(d))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: has sectors of %u bytes, and the disk of the image of %u: "
	    "--convert rewrites its partition table",
	    disk_name(d), disk_sector_bytes(d), i->sector_bytes);
}

int
install_learn_tail(struct place *p, const struct tail *x, struct err *e)
{
	struct install *in = p->in;

	/* A partition that is installed alone has no tail. */
	if (x->n == 0 || p->number != 0)
		return 0;
	if (in->tail.n == 0) {
		if (target_tail_check(&p->target, x, e) != 0)
			return -1;
		in->tail = *x;
	}
	return tail_same(&in->tail, x) ? 0
	                               : err_set(e, ERR_FORMAT,
					     "describes the disk's end differently "
					     "from the chunks before it");
}

/* A tail that is not written to its place needs no room on the disk. */
int
install_check_header(struct place *p, const struct ndz_header *h, struct err *e)
{
	struct install *in = p->in;
	bool in_place = target_tail_in_place(&p->target, &in->tail);
	uint64_t end = in_place ? range_end(h->regions[h->nregions - 1])
	                        : tail_rest_end(&in->tail, h->regions, h->nregions);

	if (check_relocs(in, h, e) != 0)
		return -1;
	if (!in_place && end > in->tail.needed)
		return err_set(e, ERR_FORMAT,
		    "has data behind sector %" PRIu64
		    " that the record of the disk's end does not have",
		    in->tail.needed);
	return p->in->fit != NULL ? fit_check_header(p, h, e)
	                          : target_check_fit(&p->target, end, e);
}

/* Check the part of a chunk that belongs to the partition that is installed alone.  Its
 * free space is filled only when it is known that the image stores something of it; every
 * image stores the beginning of a partition. */
static int
check_only(struct place *p, const struct job *j, struct err *e)
{
	const struct install_config *cfg = &p->in->cfg;
	const struct ndz_header *at = j->at;

	if (check_relocs(p->in, &j->c.h, e) != 0)
		return -1;
	if (at->firstsect == 0 && at->nregions == 0 &&
	    (cfg->zero || cfg->has_pattern || cfg->discard))
		return only_nothing(p, e);
	return only_fits(p, at->nregions > 0 ? range_end(at->regions[at->nregions - 1]) : 0, e);
}

/* Chunk 0 says how large a disk must be, so that none of a disk that is too small is written,
 * whatever the order of the chunks. */
static int
check_needed(const struct place *p, const struct ext_image *i, struct err *e)
{
	return p->number == 0 && p->in->fit == NULL
	           ? target_check_fit(&p->target, i->needed_sectors, e)
	           : 0;
}

/* Check everything that can be known of a chunk before its data is decoded. */
int
install_check_job(struct job *j, struct err *e)
{
	struct place *p = j->place;
	struct install *in = p->in;
	struct target *t = &p->target;

	if (image_identity_check(&in->id, &j->c.h, &j->c.ext, e) != 0 ||
	    gate_check_meant(t, &j->c.ext, e) != 0 ||
	    install_check_delta(p, &j->c, e) != 0)
		return -1;
	if (j->c.ext.has_image && check_sectors(in, &j->c.ext.image, e) != 0)
		return -1;
	target_note_image(t, &j->c.ext);
	if (!j->partial && target_finish_check(t, &j->c, j->bytes, in->sector_bytes, e) != 0)
		return -1;
	if (install_learn_tail(p, &j->c.ext.tail, e) != 0 ||
	    (j->c.ext.has_image && check_needed(p, &j->c.ext.image, e) != 0) ||
	    install_check_reach(p, &j->c.ext, e) != 0 || install_guess_job(j, e) != 0)
		return -1;
	return p->number == 0 ? install_check_header(p, &j->c.h, e) : check_only(p, j, e);
}
