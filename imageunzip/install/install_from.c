/* install_from.c: puts an image into the sink of an installation (install_from.h).
 * imageunzip calls this in its first thread, and all of it runs in that thread. */
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/image/format/format.h"
#include "common/image/read/copy.h"
#include "imageunzip/install/install_from.h"
#include "imageunzip/install/install_sink.h"

enum {
	PLACE_SECTORS = 32, /* a chunk with less free space is not offered */
	OFFERS_MAX = 32,    /* chunks that are read only to look for free space */
};

/* An image that is being fed. */
struct feed {
	struct install *install;
	struct image *image;
	bool *wanted; /* for each chunk, with --only; NULL: all are wanted */
	const struct install_from_watch *watch;
};

static bool
has_free_space(const struct ndz_header *h)
{
	uint64_t stored = 0;

	for (unsigned i = 0; i < h->nregions; i++)
		stored += h->regions[i].len;
	return h->lastsect - h->firstsect >= stored + PLACE_SECTORS;
}

/* Offer chunks before their turn (--state=target): free space may come late in the image,
 * but the state must be placed early. */
static int
offer_chunks(struct feed *d, uint32_t from, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint32_t n = image_chunks(d->image), tried = 0;
	struct ndz_header h;
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = from;
	    rc == 0 && i < n && tried < OFFERS_MAX && install_lacks_place(d->install);
	    i++) {
		if (d->wanted != NULL && !d->wanted[i])
			continue;
		rc = image_header(d->image, i, &h, e);
		if (rc != 0 || !has_free_space(&h))
			continue;
		tried++;
		rc = image_read(d->image, i, buf, e);
		if (rc == 0)
			rc = install_offer(d->install, i, buf, e);
	}
	free(buf);
	return rc;
}

/* The number of the chunk that follows the first n of the chunks that are copied. */
static uint32_t
behind(const struct feed *d, uint32_t chunks)
{
	uint32_t i = 0;

	for (; chunks > 0 && i < image_chunks(d->image); i++)
		chunks -= d->wanted == NULL || d->wanted[i];
	return i;
}

static int
on_copied(void *arg, uint32_t chunks, struct err *e)
{
	struct feed *d = arg;
	const struct install_from_watch *w = d->watch;

	if (chunks == 2 && install_lacks_place(d->install) &&
	    offer_chunks(d, behind(d, chunks), e) != 0)
		return -1;
	return w->fed != NULL ? w->fed(w->arg, chunks, e) : 0;
}

static int
again_header(void *arg, uint32_t i, struct ndz_header *h, struct err *e)
{
	return image_header(arg, i, h, e);
}

static int
again_read(void *arg, uint32_t i, void *bytes, struct err *e)
{
	return image_read(arg, i, bytes, e);
}

void
install_read_from(struct install *in, struct image *img)
{
	const struct install_again again = { .nchunks = image_chunks(img),
		.header = again_header,
		.read = again_read,
		.arg = img,
		.name = image_name(img) };

	if (image_seekable(img))
		install_set_again(in, &again);
}

static int
put_all(struct feed *d, struct sink *s, struct err *e)
{
	const struct copy_config all = { .wanted = d->wanted,
		.check_digests = true,
		.name_image = true,
		.copied = on_copied,
		.arg = d };

	return image_copy(d->image, s, &all, e);
}

static int
compare_chunks(struct feed *d, void *buf, struct err *e)
{
	for (uint32_t i = 0; i < image_chunks(d->image); i++) {
		if (d->wanted != NULL && !d->wanted[i])
			continue;
		if (cancel_check(e) != 0 || image_read(d->image, i, buf, e) != 0)
			return -1;
		if (install_compare_base(d->install, i, buf, e) != 0)
			return err_ctx(e, "%s", image_name(d->image));
	}
	install_base_compared(d->install);
	return 0;
}

/* Compare all that a delta replaces with the target before anything is written. */
static int
compare_base(struct feed *d, const struct ext *first, struct err *e)
{
	if (!ext_is_delta(first) || !image_seekable(d->image) ||
	    !install_compares_base(d->install))
		return 0;
	void *buf = malloc(NDZ_CHUNK_BYTES);
	int rc = buf != NULL ? compare_chunks(d, buf, e) : err_nomem(e, "a chunk");
	free(buf);
	return rc;
}

int
install_from(struct sink *sink, struct image *img, const struct survey *s,
    const struct install_from_watch *w, struct err *e)
{
	struct install *in = sink_install(sink);
	struct feed d = { .install = in, .image = img, .watch = w };
	uint64_t total = s->total_sectors;

	if (install_check_meant(in, &s->first, e) != 0 ||
	    install_check_fit(in, s->needed_sectors, e) != 0)
		return -1;
	sink_begin(sink, image_chunks(img), NULL);
	install_read_from(in, img);
	int rc = install_is_only(in) || install_fits(in) || s->first.reach == NULL
	             ? install_choose(in, &d.wanted, &total, e)
	             : 0;
	if (rc == 0)
		rc = compare_base(&d, &s->first, e);
	if (rc == 0 && w->begins != NULL)
		w->begins(w->arg, total);
	if (rc == 0)
		rc = put_all(&d, sink, e);
	free(d.wanted);
	return rc;
}
