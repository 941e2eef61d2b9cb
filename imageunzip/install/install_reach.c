/* install_reach.c: compares how far an image reaches with the target of an installation,
 * by the image's own record or, where it has none, by its table and superblocks.
 * install.c, install_check.c and install_only.c call this in the thread that feeds
 * chunks, before anything of the chunk is written. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "imageunzip/install/enough.h"
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
	struct disk *d = in->target.disk;

	return disk_kind(d) == DISK_BLOCK ? disk_sector_bytes(d) : 0;
}

int
install_compare_reach(struct install *in, const struct reach *r, struct err *e)
{
	const struct target *t = &in->target;
	char name[TARGET_NAME_BYTES];

	if (t->slice.len != 0)
		snprintf(name, sizeof name, "%s: partition %" PRIu64, disk_name(t->disk),
		    in->cfg.slice);
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
install_check_reach(struct install *in, const struct ext *x, struct err *e)
{
	if (in->reach_checked || x->reach == NULL || in->cfg.force)
		return 0;
	in->reach_checked = true;
	note_image(in, x);
	return install_compare_reach(in, x->reach, e);
}

/* Can there be anything to refuse in an image without a record?  A file of any contents
 * is no filesystem, and a delta goes where its base is. */
static bool
may_matter(const struct install *in, const struct ext *x)
{
	return !in->cfg.force && !in->reach_checked && x->reach == NULL &&
	       !ext_is_delta(x) &&
	       (in->target.room != UINT64_MAX || sector_bytes(in) != 0) &&
	       !(x->has_image && x->image.kind == EXT_KIND_FILE);
}

bool
install_guesses(const struct install *in, const struct chunk *c)
{
	return c->h.firstsect == 0 && may_matter(in, &c->ext);
}

/* A partition that is installed alone: look at its filesystem in the chunk in which it
 * begins. */
static int
check_only(struct install *in, const struct job *j, struct err *e)
{
	struct reach found = { .n = 1 };
	struct reach_part *p = &found.parts[0];

	if (j->at->firstsect != 0 || j->partial || !may_matter(in, &j->c.ext))
		return 0;
	in->reach_checked = true;
	note_image(in, &j->c.ext);
	*p = (struct reach_part){ .number = in->only_number,
		.sectors = in->target.only,
		.flags = REACH_STORED };
	return guess_filesystem(&j->c, j->bytes, in->target.only, p)
	           ? install_compare_reach(in, &found, e)
	           : 0;
}

static int
begin(struct install *in, const struct ext *x, struct err *e)
{
	bool bare = in->target.slice.len != 0 ||
	            (x->has_image && x->image.kind == EXT_KIND_PARTITION);
	bool converted = sector_bytes(in) > SECTOR_BYTES && x->has_image &&
	                 x->image.sector_bytes != sector_bytes(in);

	note_image(in, x);
	return guess_new(&in->guess, bare, converted, e);
}

int
install_guess(struct install *in, uint32_t number, const struct chunk *c,
    const void *bytes, struct err *e)
{
	struct reach *found;

	if (in->guess == NULL && (number != 0 || !may_matter(in, &c->ext)))
		return 0;
	if (in->guess == NULL && begin(in, &c->ext, e) != 0)
		return -1;
	found = malloc(sizeof *found);
	if (found == NULL)
		return err_nomem(e, "a list of partitions");
	int rc = guess_learn(in->guess, number, c, bytes, found, e);
	if (rc == 0)
		rc = install_compare_reach(in, found, e);
	free(found);
	return rc;
}

int
install_guess_job(struct install *in, const struct job *j, struct err *e)
{
	if (in->target.only.len != 0)
		return check_only(in, j, e);
	return j->partial ? 0 : install_guess(in, j->number, &j->c, j->bytes, e);
}

int
install_guess_bytes(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	int rc = install_guess(in, number, &c, bytes, e);
	chunk_free(&c);
	return rc;
}
