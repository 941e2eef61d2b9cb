#include "imageunzip/feed.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/format/format.h"
#include "common/image/read/chunk.h"
#include "imageunzip/report.h"

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
skip_unwanted(struct run *r)
{
	if (r->wanted == NULL)
		return;
	while (r->at < image_chunks(r->image) && !r->wanted[r->at])
		r->at++;
	image_go_to(r->image, r->at);
}

/* The next chunk: 1, 0 the end, -1. */
static int
fetch(struct run *r, struct fetched *f, struct err *e)
{
	skip_unwanted(r);
	*f = (struct fetched){ malloc(NDZ_CHUNK_BYTES), r->at };
	if (f->buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = image_next(r->image, f->buf, NULL, e);
	r->fed += rc == 1;
	r->at += rc == 1;
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
feed_one(struct run *r, struct fetched *f, bool good, struct err *e)
{
	uint8_t *buf = f->buf;

	if (buf == NULL)
		return 0;
	f->buf = NULL;
	if (!good) {
		free(buf);
		return err_set(e, ERR_FORMAT,
		    "%s: chunk %u: the digest of the chunk is wrong",
		    image_name(r->image), f->number);
	}
	int rc;
	if (install_has(r->install, f->number)) {
		rc = install_pass(r->install, f->number, buf, e);
		free(buf);
	} else {
		rc = install_feed(r->install, f->number, buf, free_chunk, NULL, e);
	}
	if (rc == 0)
		return 0;
	if (e->kind != ERR_CANCELLED)
		err_ctx(e, "%s", image_name(r->image));
	return -1;
}

/* Two of them: 1 fed, 0 the end, -1.  What is wrong with the second is told when the
 * first is on its way. */
static int
feed_two(struct run *r, struct err *e)
{
	struct fetched f[2] = { 0 };
	bool good[2] = { true, true };
	struct err why;
	int rc = fetch(r, &f[0], e);

	if (rc != 1)
		return rc;
	rc = fetch(r, &f[1], &why);
	if (!r->proved)
		check_digests(f, good);
	int fed = feed_one(r, &f[0], good[0], e);
	if (fed == 0 && rc == 1)
		fed = feed_one(r, &f[1], good[1], e);
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
offer_chunks(struct run *r, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint32_t n = image_chunks(r->image), tried = 0;
	struct ndz_header h;
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = r->at;
	    rc == 0 && i < n && tried < OFFERS_MAX && install_lacks_place(r->install);
	    i++) {
		if (r->wanted != NULL && !r->wanted[i])
			continue;
		rc = image_header(r->image, i, &h, e);
		if (rc != 0 || !has_free_space(&h))
			continue;
		tried++;
		rc = image_read(r->image, i, buf, e);
		if (rc == 0)
			rc = install_offer(r->install, i, buf, e);
	}
	free(buf);
	return rc;
}

int
feed_all(struct run *r, struct err *e)
{
	int rc;

	/* A proof covers the digests, too. */
	r->proved = r->o->install.proof.verify_key != NULL ||
	            r->o->install.proof.decrypt != NULL;
	install_trust_digests(r->install);
	while ((rc = feed_two(r, e)) == 1) {
		if (r->fed == 2 && install_lacks_place(r->install) &&
		    offer_chunks(r, e) != 0)
			return -1;
		progress_at(&r->progress, install_bytes_covered(r->install));
		report_dots(r);
		if (cancel_check(e) != 0)
			return -1;
	}
	report_dots(r);
	return rc;
}
