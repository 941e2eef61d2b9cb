/* install_reach.c: compares how far an image reaches with the target of an installation,
 * by the image's own record or, where it has none, by its table and superblocks.
 * install.c, install_check.c and install_only.c call this in the thread that feeds
 * chunks, before anything of the chunk is written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/target/enough.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"

enum { TARGET_NAME_BYTES = 300 };

static void
pass_warning(void *arg, const char *sentence)
{
	const struct install *in = arg;

	if (in->cfg.warn != NULL)
		in->cfg.warn(sentence);
}

/* The size of the target's sectors; 0: a file has none. */
static unsigned
sector_bytes(const struct install *in)
{
	struct disk *d = in->disk;

	return disk_kind(d) == DISK_BLOCK ? disk_sector_bytes(d) : 0;
}

int
install_compare_reach(struct place *p, const struct reach *r, struct err *e)
{
	struct install *in = p->in;
	const struct target *t = &p->target;
	char name[TARGET_NAME_BYTES];

	if (t->slice.len != 0)
		snprintf(
		    name, sizeof name, "%s: partition %u", disk_name(t->disk), t->number);
	else
		snprintf(name, sizeof name, "%s", disk_name(t->disk));
	const struct enough asked = { .target = name,
		.room = t->room,
		.disk = t->slice.len == 0 && in->of_disk,
		.only = t->only,
		.sector_bytes = sector_bytes(in),
		.lenient = in->foreign,
		.has_force = true,
		.warn = pass_warning,
		.arg = in };
	return enough_check(&asked, r, e);
}

/* Note what the first chunk says the image is. */
static void
note_image(struct install *in, const struct ext *first)
{
	in->of_disk = !first->has_image || first->image.kind == EXT_KIND_DISK;
	in->foreign = !first->present;
}

int
install_check_reach(struct place *p, const struct ext *x, struct err *e)
{
	if (p->reach_checked || x->reach == NULL || p->in->cfg.force)
		return 0;
	if (p->in->fit != NULL)
		return fit_check_reach(p, x, e);
	p->reach_checked = true;
	note_image(p->in, x);
	return install_compare_reach(p, x->reach, e);
}

/* Can there be anything to refuse in an image without a record?  A file of any contents
 * is no filesystem, and a delta goes where its base is. */
static bool
may_matter(const struct place *p, const struct ext *x)
{
	return !p->in->cfg.force && p->in->fit == NULL && !p->reach_checked && x->reach == NULL &&
	       !ext_is_delta(x) &&
	       (p->target.room != UINT64_MAX || sector_bytes(p->in) != 0) &&
	       !(x->has_image && x->image.kind == EXT_KIND_FILE);
}

bool
install_guesses(const struct place *p, const struct chunk *c)
{
	return c->h.firstsect == 0 && may_matter(p, &c->ext);
}

/* A partition that is installed alone: look at its filesystem in the chunk in which it
 * begins. */
static int
check_only(const struct job *j, struct err *e)
{
	struct place *p = j->place;
	struct reach found = { .n = 1 };

	if (j->at->firstsect != 0 || j->partial || !may_matter(p, &j->c.ext))
		return 0;
	p->reach_checked = true;
	note_image(p->in, &j->c.ext);
	found.parts[0] = (struct reach_part){ .number = p->number,
		.sectors = p->target.only,
		.flags = REACH_STORED };
	return guess_filesystem(&j->c, j->bytes, p->target.only, &found.parts[0])
	           ? install_compare_reach(p, &found, e)
	           : 0;
}

static int
begin(struct place *p, const struct ext *x, struct err *e)
{
	struct install *in = p->in;
	bool bare = p->target.slice.len != 0 ||
	            (x->has_image && x->image.kind == EXT_KIND_PARTITION);
	bool converted = sector_bytes(in) > SECTOR_BYTES && x->has_image &&
	                 x->image.sector_bytes != sector_bytes(in);

	note_image(in, x);
	return guess_new(&in->guess, bare, converted, e);
}

int
install_guess(struct place *p, uint32_t number, const struct chunk *c,
    const void *bytes, struct err *e)
{
	struct install *in = p->in;
	struct reach *found;

	if (in->guess == NULL && (number != 0 || !may_matter(p, &c->ext)))
		return 0;
	if (in->guess == NULL && begin(p, &c->ext, e) != 0)
		return -1;
	found = malloc(sizeof *found);
	if (found == NULL)
		return err_nomem(e, "a list of partitions");
	int rc = guess_learn(in->guess, number, c, bytes, found, e);
	if (rc == 0)
		rc = install_compare_reach(p, found, e);
	free(found);
	return rc;
}

int
install_guess_job(const struct job *j, struct err *e)
{
	if (j->place->number != 0)
		return check_only(j, e);
	return j->partial ? 0 : install_guess(j->place, j->number, &j->c, j->bytes, e);
}
