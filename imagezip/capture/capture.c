/* capture.c: makes an image of a source. windows.h reads the source, and maker.h makes
 * the image; this file adds what only a capture has: the list of sectors that could not
 * be read, the signature of what is stored, and the limit of -A.
 *
 * imagezip/main.c calls this in the first thread.
 */
#include "imagezip/capture/capture.h"

#include <inttypes.h>

#include "common/image/write/maker.h"
#include "common/image/write/sighash.h"
#include "imagezip/capture/windows.h"

struct capture {
	const struct capture_what *o;
	struct maker_choice how; /* that of o, at the level of the target */
	struct layout *layout;
	struct windows windows;
	const struct capture_watch *watch;
	const struct capture_to *to;
	struct maker *maker;
	struct sigmaker *sigmaker; /* or NULL */
};

static ssize_t
next_window(void *arg, struct window *w, void *buf, struct err *e)
{
	struct capture *c = arg;

	return windows_next(&c->windows, w, buf, e);
}

static void
chunk(void *arg)
{
	struct capture *c = arg;

	if (c->watch->chunk != NULL)
		c->watch->chunk(c->watch->arg);
}

static int
packed(void *arg, const struct maker_packed *x, struct err *e)
{
	struct capture *c = arg;

	if (c->sigmaker != NULL &&
	    sigmaker_add_window(c->sigmaker, x->window, x->raw, x->chunk, e) != 0)
		return err_ctx(e, "%s", c->o->source);
	/* A layout was checked before; the size of a pipe is known only now. */
	if (c->o->limit_mb != 0 && x->data_bytes > c->o->limit_mb << 20)
		return err_set(e, ERR_REFUSED,
		    "%s: has more than the limit of %" PRIu64 " MiB (-A)", c->o->source,
		    c->o->limit_mb);
	if (c->watch->progress != NULL)
		c->watch->progress(c->watch->arg, x->data_bytes);
	return 0;
}

/* Convert lost sectors of the source to sectors of the image. */
static int
lost_of_image(
    struct lostset *s, const struct layout *l, const struct rangeset *lost, struct err *e)
{
	for (size_t i = 0; i < rangeset_count(lost); i++) {
		struct range r = rangeset_get(lost, i);
		r.off -= l->base;
		if (rangeset_add(&s->set, r, e) != 0)
			return -1;
	}
	rangeset_seal(&s->set);
	s->sectors = rangeset_total(&s->set);
	return 0;
}

static int
end_image(struct capture *c, const struct rangeset *lost, struct err *e)
{
	struct lostset s;
	const struct maker_ending end = { .total = c->layout->total,
		.short_bytes = c->windows.short_bytes,
		.lost = &s };

	lostset_init(&s);
	int rc = lost_of_image(&s, c->layout, lost, e);
	if (rc == 0)
		rc = maker_end(c->maker, &end, e);
	lostset_free(&s);
	return rc;
}

static int
finish(struct capture *c, const struct rangeset *lost, struct err *e)
{
	if (c->windows.short_bytes != 0 && !c->o->any_length)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: its length is not a multiple of 512; use -f to store it as a "
		    "file",
		    c->o->source);
	if (end_image(c, lost, e) == 0)
		return 0;
	/* Errors of the output name the output themselves. */
	return e->kind == ERR_IO ? -1 : err_ctx(e, "%s", c->o->source);
}

/* The size of the source, in bytes: for a partition, its own size, also when it was read
 * from a whole disk; 0 for a pipe. */
static uint64_t
source_bytes(const struct layout *l, const struct disk *d)
{
	if (l->kind == EXT_KIND_PARTITION)
		return l->total * SECTOR_BYTES;
	return disk_seekable(d) ? disk_size_bytes(d) : 0;
}

static struct ext_image
describe(const struct layout *l, const struct disk *d)
{
	struct ext_image image = { .kind = l->kind,
		.source_bytes = source_bytes(l, d),
		.sector_bytes = disk_sector_bytes(d) };

	/* Where a pipe ends is not known when chunk 0 is made. */
	if (disk_seekable(d))
		image.needed_sectors = l->outside.tail.needed;
	if (l->in_use[0] != '\0')
		image.flags |= EXT_IMAGE_LIVE;
	layout_describe(l, image.filesystems, sizeof image.filesystems);
	return image;
}

static int
open_maker(struct capture *c, struct disk *d, struct delta *delta, struct err *e)
{
	struct maker_config cfg = { .how = &c->how,
		.program = "imagezip",
		.source = c->o->source,
		.total = c->layout->total,
		.image = describe(c->layout, d),
		.tail = c->layout->outside.tail,
		.reach = c->layout->reach.n > 0 ? &c->layout->reach : NULL,
		.zones = &c->layout->zones,
		.filler = &c->layout->filler,
		.next = next_window,
		.packed = packed,
		.chunk = chunk,
		.arg = c,
		.take = c->to->take,
		.taker = c->to->taker,
		.known = c->to->known };

	if (delta->on) {
		cfg.state = delta->state;
		cfg.base = delta->base;
		cfg.freed = &delta->freed;
		cfg.basis = &delta->basis;
	}
	return maker_new(&c->maker, &cfg, e);
}

static int
open_sigmaker(struct capture *c, const struct delta *delta, struct err *e)
{
	if (!c->o->make_sig && !delta->on)
		return 0;
	return sigmaker_new(&c->sigmaker, delta->hash, delta->block_sectors, e);
}

int
capture_run(struct disk *d, struct layout *l, const struct capture_what *o,
    struct delta *delta, const struct capture_to *to,
    const struct capture_watch *watch,
    struct capture_stats *s, struct err *e)
{
	struct capture c = { .o = o, .layout = l, .watch = watch, .to = to };

	c.how = o->how;
	if (o->how.codec.usual && to->level != 0)
		c.how.codec.level = to->level;
	*s = (struct capture_stats){ 0 };
	rangeset_init(&s->lost);
	windows_init(&c.windows, d, l, o, &s->lost);
	int rc = open_maker(&c, d, delta, e);
	if (rc == 0)
		rc = open_sigmaker(&c, delta, e);
	if (rc == 0)
		rc = maker_run(c.maker, to->output, e);
	rangeset_seal(&s->lost);
	if (rc == 0)
		rc = finish(&c, &s->lost, e);
	windows_done(&c.windows);
	if (rc == 0 && c.sigmaker != NULL)
		rc = sigmaker_finish(c.sigmaker, &s->sig, e);
	s->made = maker_totals(c.maker);
	s->total_sectors = l->total;
	sigmaker_free(c.sigmaker);
	maker_free(c.maker);
	return rc;
}
