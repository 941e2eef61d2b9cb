/* parts.c: installs some partitions of an image (--only), for imageunzip and frisbee, in
 * the thread that feeds the chunks; each partition has the threads of an installation of
 * its own (install_threads.c).
 *
 * A chunk goes to each partition that it has sectors of; at a border, these are two. A
 * chunk without such sectors is only checked, since the last chunk has the list of lost
 * sectors, and released.
 */
#include "imageunzip/install/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/parts_impl.h"

static int
check_options(const struct install_config *cfg, struct err *e)
{
	const struct {
		bool on;
		const char *name, *why;
	} not [] = {
		{ cfg->fix_gpt || cfg->grow || cfg->convert,
		    "--fix-gpt, --grow and --convert",
		    "the target's partition table stays as it is" },
		{ cfg->only.n > 1 && cfg->slice != 0, "-s",
		    "it says where a single partition is installed" },
		{ cfg->only.n > 1 && cfg->part_type != 0, "-D",
		    "it sets the type of a single partition" },
		{ cfg->only.n > 1 && cfg->state != NULL, "--state",
		    "it records the installation of a single partition" },
	};

	for (unsigned i = 0; i < sizeof not / sizeof not[0]; i++)
		if (not[i].on)
			return err_set(e, ERR_USAGE,
			    "%s cannot be used with --only%s: %s", not[i].name,
			    i == 0 ? "" : " of more than one partition", not[i].why);
	return 0;
}

static int
open_part(
    struct part *p, const struct install_config *cfg, const char *target, struct err *e)
{
	struct install_config own = *cfg;

	own.only.n = 0;
	own.slice = p->slice;
	own.told_unseen = p->number != cfg->only.number[0];
	own.resize = false;
	if (install_open(&p->in, &own, target, e) != 0)
		return -1;
	p->room = p->in->target.slice.len;
	return 0;
}

static void
parts_free(struct parts *x)
{
	parts_search_free(x);
	imgtable_free(x->table);
	ext_free(&x->first);
	free(x);
}

void
parts_abort(struct install *in)
{
	for (unsigned i = 0; i < in->parts->n; i++)
		install_abort(in->parts->part[i].in);
	parts_free(in->parts);
	free(in);
}

int
parts_open(struct install **out, const struct install_config *cfg, const char *target,
    struct err *e)
{
	struct install *in = calloc(1, sizeof *in);
	struct parts *x = calloc(1, sizeof *x);

	if (in == NULL || x == NULL || imgtable_new(&x->table, e) != 0) {
		free(in);
		free(x);
		return err_nomem(e, "an installation");
	}
	in->parts = x;
	in->cfg = x->cfg = *cfg;
	int rc =
	    strcmp(target, "-") == 0
	        ? err_set(e, ERR_USAGE,
		      "--only installs into a partition of a disk, and a pipe has none")
	        : check_options(cfg, e);
	for (unsigned i = 0; rc == 0 && i < cfg->only.n; i++) {
		struct part *p = &x->part[x->n++];
		p->number = cfg->only.number[i];
		p->slice = cfg->slice != 0 ? cfg->slice : p->number;
		rc = open_part(p, cfg, target, e);
	}
	if (rc != 0) {
		parts_abort(in);
		return -1;
	}
	*out = in;
	return 0;
}

static int
check_stream(const struct parts *x, const struct part *p, struct err *e)
{
	if (x->source != INSTALL_STREAM)
		return 0;
	if (p->sectors.off < x->passed_end)
		return err_set(e, ERR_UNSUPPORTED,
		    "the image describes partition %u only behind its data, so --only "
		    "needs the image as a file, not through a pipe",
		    p->number);
	if (p->room < p->sectors.len)
		return err_set(e, ERR_REFUSED,
		    "partition %" PRIu64
		    " of the target is smaller than partition %u of the image, so the "
		    "image must be a file, not a pipe, to find out whether its data "
		    "fits",
		    p->slice, p->number);
	return 0;
}

static int
settle_part(struct parts *x, struct part *p, struct err *e)
{
	const struct partition *found = imgtable_find(x->table, p->number);

	if (p->known)
		return 0;
	/* parts_settle() refuses the partition when all partitions that could be had instead
	 * are known. */
	if (found == NULL || imgtable_left_out(x->table, p->number))
		return 0;
	p->sectors = found->sectors;
	p->known = true;
	const char *described =
	    x->first.has_image ? x->first.image.filesystems : NULL;
	if (check_stream(x, p, e) != 0 ||
	    install_set_only(p->in, found, described, e) != 0)
		return -1;
	/* A partition that chunk 0 has nothing of is not fed chunk 0, and gets what its header
	 * says here. */
	return x->has_first ? install_only_open(p->in, &x->first, e) : 0;
}

int
parts_settle(struct parts *x, struct err *e)
{
	uint64_t sector;

	x->known = true;
	for (unsigned i = 0; i < x->n; i++) {
		if (settle_part(x, &x->part[i], e) != 0)
			return -1;
		x->known &= x->part[i].known;
	}
	for (unsigned i = 0; i < x->n; i++)
		if (!x->part[i].known && !imgtable_needs(x->table, &sector))
			return imgtable_refuse(x->table, x->part[i].number, e);
	return 0;
}

/* Keeps what the header of the first chunk says, because a partition may become known only
 * behind this chunk. */
static void
keep_first(struct parts *x, struct ext *first)
{
	if (x->has_first)
		return;
	x->first = *first;
	*first = (struct ext){ 0 };
	x->has_first = true;
}

static int
learn(struct parts *x, uint32_t number, const void *bytes, struct err *e)
{
	struct chunk c;
	int rc = 0;

	if (chunk_parse(&c, bytes, e) != 0)
		return err_ctx(e, "chunk %u", number);
	x->delta |= ext_is_delta(&c.ext);
	if (!x->known)
		rc = imgtable_learn(x->table, number, &c, bytes, e);
	if (rc == 0 && number == 0)
		keep_first(x, &c.ext);
	if (rc == 0 && !x->known)
		rc = parts_settle(x, e);
	if (rc == 0 && x->source == INSTALL_SEARCH)
		rc = parts_search_learn(x, number, &c.h, e);
	chunk_free(&c);
	return rc;
}

/* A chunk that several installations use: the last one that is done with it releases it. */
struct share {
	_Atomic unsigned left;
	void (*released)(void *arg, const void *chunk);
	void *arg;
};

static void
drop(void *arg, const void *chunk)
{
	struct share *s = arg;

	if (--s->left > 0)
		return;
	if (s->released != NULL)
		s->released(s->arg, chunk);
	free(s);
}

static bool
takes(const struct parts *x, const struct part *p, const struct ndz_header *h)
{
	if (x->source == INSTALL_SEARCH)
		return p->takes;
	return p->known && only_touches(h, p->sectors);
}

static int
feed_part(
    struct part *p, uint32_t number, const void *bytes, struct share *s, struct err *e)
{
	if (install_has(p->in, number))
		return install_pass(p->in, number, bytes, e);
	s->left++;
	return install_feed(p->in, number, bytes, drop, s, e);
}

static int
feed_all(
    struct parts *x, uint32_t number, const void *bytes, struct share *s, struct err *e)
{
	struct ndz_header h;

	if (x->source == INSTALL_STREAM && !x->known && learn(x, number, bytes, e) != 0)
		return -1;
	if (ndz_header_get(&h, bytes, NDZ_CHUNK_BYTES, e) != 0)
		return err_ctx(e, "chunk %u", number);
	if (h.lastsect > x->passed_end)
		x->passed_end = h.lastsect;
	for (unsigned i = 0; i < x->n; i++) {
		struct part *p = &x->part[i];
		int rc = takes(x, p, &h) ? feed_part(p, number, bytes, s, e)
		                         : install_look(p->in, number, bytes, e);
		if (rc != 0)
			return -1;
	}
	return 0;
}

int
parts_feed(struct parts *x, uint32_t number, const void *bytes,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *e)
{
	struct share *s = malloc(sizeof *s);

	if (s == NULL) {
		if (released != NULL)
			released(arg, bytes);
		return err_nomem(e, "a chunk");
	}
	*s = (struct share){ .left = 1, .released = released, .arg = arg };
	int rc = feed_all(x, number, bytes, s, e);
	drop(s, bytes);
	return rc;
}

bool
parts_has(const struct parts *x, uint32_t chunk)
{
	bool has = true;

	for (unsigned i = 0; i < x->n; i++)
		has &= install_has(x->part[i].in, chunk);
	return has;
}

/* A state (--state) exists only for an installation of one partition. */
bool
parts_lacks_place(struct parts *x)
{
	return x->known && install_lacks_place(x->part[0].in);
}

int
parts_offer(struct parts *x, uint32_t number, const void *bytes, struct err *e)
{
	return install_offer(x->part[0].in, number, bytes, e);
}

bool
parts_failed(struct parts *x)
{
	for (unsigned i = 0; i < x->n; i++)
		if (x->part[i].in != NULL && install_failed(x->part[i].in))
			return true;
	return false;
}

uint64_t
parts_bytes_covered(struct parts *x)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < x->n; i++)
		sum += install_bytes_covered(x->part[i].in);
	return sum;
}

void
parts_expect(struct parts *x, uint32_t nchunks)
{
	for (unsigned i = 0; x != NULL && i < x->n; i++)
		install_expect(x->part[i].in, nchunks);
}

void
parts_trust_digests(struct parts *x)
{
	for (unsigned i = 0; x != NULL && i < x->n; i++)
		install_trust_digests(x->part[i].in);
}

void
parts_set_again(struct parts *x, const struct install_again *again)
{
	for (unsigned i = 0; x != NULL && i < x->n; i++)
		install_set_again(x->part[i].in, again);
}

/* Merge both lists into the first; the second is freed. */
static int
merge_lost(struct lost *all, struct lost *more, struct err *e)
{
	struct rangeset within;
	struct lostset set;
	struct lost sum = { 0 };

	lostset_init(&set);
	rangeset_init(&within);
	int rc = rangeset_add(&within, (struct range){ 0, INT64_MAX }, e);
	rangeset_seal(&within);
	if (rc == 0)
		rc = lostset_add(&set, all, &within, e);
	if (rc == 0)
		rc = lostset_add(&set, more, &within, e);
	if (rc == 0 && rangeset_count(&set.set) > 0)
		rc = lost_make(&sum, &set, NDZ_CHUNK_BYTES, e);
	rangeset_free(&within);
	lostset_free(&set);
	lost_free(all);
	lost_free(more);
	*all = sum;
	return rc;
}

static int
add_stats(struct install_stats *sum, struct install_stats *s, struct err *e)
{
	sum->chunks += s->chunks;
	sum->bytes_written += s->bytes_written;
	sum->bytes_same += s->bytes_same;
	sum->bytes_filled += s->bytes_filled;
	sum->bytes_covered += s->bytes_covered;
	sum->stale_wiped += s->stale_wiped;
	return merge_lost(&sum->lost, &s->lost, e);
}

static int
finish_part(struct part *p, struct install_stats *sum, struct err *e)
{
	struct install_stats s = { 0 };
	struct install *in = p->in;

	p->in = NULL;
	if (install_finish(in, &s, e) == 0)
		return add_stats(sum, &s, e);
	lost_free(&s.lost);
	return -1;
}

/* If an installation has failed, its error is returned, and the others are given up. */
int
parts_finish(struct install *in, struct install_stats *sum, struct err *e)
{
	struct parts *x = in->parts;
	int rc = 0;

	*sum = (struct install_stats){ 0 };
	for (unsigned i = 0; rc == 0 && i < x->n; i++)
		if (install_failed(x->part[i].in))
			rc = finish_part(&x->part[i], sum, e);
	for (unsigned i = 0; rc == 0 && i < x->n; i++)
		if (!x->part[i].known)
			rc = imgtable_refuse(x->table, x->part[i].number, e);
	for (unsigned i = 0; rc == 0 && i < x->n; i++)
		rc = finish_part(&x->part[i], sum, e);
	if (rc != 0)
		lost_free(&sum->lost);
	parts_abort(in);
	return rc;
}

bool
install_is_only(const struct install *in)
{
	return in->parts != NULL;
}

int
install_only_source(
    struct install *in, enum install_source source, uint32_t nchunks, struct err *e)
{
	in->parts->source = source;
	in->parts->nchunks = nchunks;
	return source == INSTALL_SEARCH ? parts_search_new(in->parts, e) : 0;
}

int
install_learn(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	return in->parts != NULL ? learn(in->parts, number, bytes, e)
	                         : install_guess_bytes(in, number, bytes, e);
}

bool
install_lacks(struct install *in, uint64_t *sector)
{
	if (in->parts == NULL)
		return in->guess != NULL && guess_lacks(in->guess, sector);
	return !in->parts->known && imgtable_needs(in->parts->table, sector);
}

int
install_cannot(struct install *in, uint64_t sector, struct err *e)
{
	if (in->parts == NULL)
		return guess_cannot(in->guess, sector, e);
	return imgtable_cannot(in->parts->table, sector, e) == 0
		   ? parts_settle(in->parts, e)
		   : -1;
}

int
install_consider(
    struct install *in, const struct ndz_header *h, bool *wanted, struct err *e)
{
	struct parts *x = in->parts;

	*wanted = false;
	for (unsigned i = 0; i < x->n; i++) {
		struct part *p = &x->part[i];
		uint64_t end = only_stored_end(h, p->sectors);
		*wanted |= only_touches(h, p->sectors);
		p->stored += end > 0;
		if (install_only_fits(p->in, end, e) != 0)
			return -1;
	}
	return 0;
}

int
install_considered(struct install *in, struct err *e)
{
	const struct parts *x = in->parts;

	for (unsigned i = 0; i < x->n; i++)
		if (x->part[i].stored == 0 && !x->delta)
			return install_only_nothing(x->part[i].in, e);
	return 0;
}

uint64_t
install_only_sectors(const struct install *in)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < in->parts->n; i++)
		sum += in->parts->part[i].sectors.len;
	return sum;
}

bool
install_wants(struct install *in, uint32_t *chunk)
{
	struct parts *x = in->parts;

	if (x->nwants == 0)
		return false;
	*chunk = x->wants[--x->nwants];
	return true;
}
