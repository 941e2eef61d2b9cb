/* from.c: an image is fed to an installation: from.h.  imageunzip calls this, and whoever else
 * has an image; all of it runs in the caller's thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/format/format.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/from_impl.h"

enum {
	PLACE_SECTORS = 32, /* with less free space a chunk is not looked at */
	OFFERS_MAX = 32,    /* chunks read for the sake of it */
};

static void
free_chunk(void *arg, const void *chunk)
{
	(void)arg;
	free((void *)(uintptr_t)chunk);
}

/* A chunk on its way to the installation. */
struct fetched {
	uint8_t *buf; /* or NULL */
	uint32_t number;
};

static void
skip_unwanted(struct feed *d)
{
	if (d->wanted == NULL)
		return;
	while (d->at < image_chunks(d->image) && !d->wanted[d->at])
		d->at++;
	image_go_to(d->image, d->at);
}

/* The next chunk: 1, 0 the end, -1. */
static int
fetch(struct feed *d, struct fetched *f, struct err *e)
{
	skip_unwanted(d);
	*f = (struct fetched){ malloc(NDZ_CHUNK_BYTES), d->at };
	if (f->buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = image_next(d->image, f->buf, NULL, e);
	d->fed += rc == 1;
	d->at += rc == 1;
	if (rc <= 0) {
		free(f->buf);
		f->buf = NULL;
	}
	return rc;
}

/* Is each what its digest says?  Two take little longer than one. */
static void
check_digests(const struct fetched f[2], bool good[2])
{
	struct chunk c[2] = { 0 };
	uint8_t digest[2][EXT_DIGEST_BYTES];
	struct err later; /* what cannot be parsed is refused when it is fed */
	bool parsed[2];

	for (unsigned i = 0; i < 2; i++)
		parsed[i] = f[i].buf != NULL &&
		            chunk_parse(&c[i], f[i].buf, &later) == 0;
	if (parsed[0] && parsed[1] && c[0].ext.has_digest && c[1].ext.has_digest) {
		ext_chunk_digests(
		    &c[0].h, f[0].buf, digest[0], &c[1].h, f[1].buf, digest[1]);
		for (unsigned i = 0; i < 2; i++)
			good[i] = memcmp(digest[i], c[i].ext.digest,
				      sizeof digest[i]) == 0;
	} else {
		for (unsigned i = 0; i < 2; i++)
			good[i] = !parsed[i] ||
			          chunk_check_digest(&c[i], f[i].buf, &later) == 0;
	}
	for (unsigned i = 0; i < 2; i++)
		if (parsed[i])
			chunk_free(&c[i]);
}

/* Gives the buffer away.  Only when the first chunk was fed it is known whether a
 * state is of this image. */
static int
feed_one(struct feed *d, struct fetched *f, bool good, struct err *e)
{
	uint8_t *buf = f->buf;

	if (buf == NULL)
		return 0;
	f->buf = NULL;
	if (!good) {
		free(buf);
		return err_set(e, ERR_FORMAT,
		    "%s: chunk %u: the digest of the chunk is wrong",
		    image_name(d->image), f->number);
	}
	int rc;
	if (install_has(d->install, f->number)) {
		rc = install_pass(d->install, f->number, buf, e);
		free(buf);
	} else {
		rc = install_feed(d->install, f->number, buf, free_chunk, NULL, e);
	}
	if (rc == 0)
		return 0;
	if (e->kind != ERR_CANCELLED)
		err_ctx(e, "%s", image_name(d->image));
	return -1;
}

/* Two of them: 1 fed, 0 the end, -1.  What is wrong with the second is told when the
 * first is on its way. */
static int
feed_two(struct feed *d, struct err *e)
{
	struct fetched f[2] = { 0 };
	bool good[2] = { true, true };
	struct err why;
	int rc = fetch(d, &f[0], e);

	if (rc != 1)
		return rc;
	rc = fetch(d, &f[1], &why);
	if (!image_is_proved(d->image))
		check_digests(f, good);
	int fed = feed_one(d, &f[0], good[0], e);
	if (fed == 0 && rc == 1)
		fed = feed_one(d, &f[1], good[1], e);
	for (unsigned i = 0; i < 2; i++)
		free(f[i].buf);
	if (fed == 0 && rc < 0)
		*e = why;
	return fed != 0 ? -1 : rc;
}

static bool
has_free_space(const struct ndz_header *h)
{
	uint64_t stored = 0;

	for (unsigned i = 0; i < h->nregions; i++)
		stored += h->regions[i].len;
	return h->lastsect - h->firstsect >= stored + PLACE_SECTORS;
}

/* --state=target: free space may come late in the image, and the state not. */
static int
offer_chunks(struct feed *d, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint32_t n = image_chunks(d->image), tried = 0;
	struct ndz_header h;
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = d->at;
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

/* All of them; what went wrong says of which chunk. */
static int
feed_all(struct feed *d, const struct install_from_watch *w, struct err *e)
{
	int rc;

	install_trust_digests(d->install);
	while ((rc = feed_two(d, e)) == 1) {
		if (d->fed == 2 && install_lacks_place(d->install) &&
		    offer_chunks(d, e) != 0)
			return -1;
		if (w->fed != NULL && w->fed(w->arg, d->fed, e) != 0)
			return -1;
		if (cancel_check(e) != 0)
			return -1;
	}
	return rc == 0 && w->fed != NULL ? w->fed(w->arg, d->fed, e) : rc;
}

int
install_from(struct install *in, struct image *img, const struct survey *s,
    const struct install_from_watch *w, struct err *e)
{
	struct feed d = { .install = in, .image = img };
	uint64_t total = s->total_sectors;

	if (install_check_meant(in, &s->first, e) != 0 ||
	    install_check_fit(in, s->needed_sectors, e) != 0)
		return -1;
	install_expect(in, image_chunks(img));
	int rc = install_is_only(in) ? feed_choose(&d, &total, e) : 0;
	if (rc == 0 && w->begins != NULL)
		w->begins(w->arg, total);
	if (rc == 0)
		rc = feed_all(&d, w, e);
	free(d.wanted);
	return rc;
}
