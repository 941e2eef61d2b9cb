/* reopened.c: opens an image again when the store has changed while the image was read, or
 * when this machine's copy of the index may be wrong.  Called by store_disk.c, fetch.c,
 * check.c and emustore get, in the thread to which the struct reopened belongs. */
#include "emustore/store/reopened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reopened {
	struct store_place place;
	const char *name;
	bool given; /* by reopened_of(): it is not opened again */
	unsigned how;
	struct stored *image;
	struct recipe_image about; /* of the image that was opened first */
	bool anew; /* opened with an index that was made from the objects for this */
	uint64_t equivalents; /* of openings before this one */
};

/* load: the image is opened to be loaded, for the first time. */
static int
open_image(struct stored **out, const struct reopened *r, const char *name,
    unsigned access, bool load, struct err *e)
{
	struct store_name parsed;
	struct store s;

	*out = NULL;
	if (store_name_get(&parsed, name, e) != 0 ||
	    store_open_at(&s, &r->place, access, e) != 0)
		return -1;
	s.parts = (r->how & REOPENED_PARTS) != 0;
	int rc = stored_open(out, &s, &parsed, e);
	if (rc == 0 && load)
		stored_note_load(*out, &s);
	if (rc == 0 && (r->how & REOPENED_PROVE) != 0)
		stored_prove(*out);
	store_close(&s);
	if (rc == 0)
		return 0;
	stored_free(*out);
	*out = NULL;
	return -1;
}

/* Open the same image again.  ERR_FORMAT: another image has its name now. */
static int
open_same(
    struct stored **out, const struct reopened *r, unsigned access, struct err *e)
{
	const struct recipe_image *a = &r->about;

	if (open_image(out, r, stored_title(a).text, access, false, e) != 0)
		return -1;
	const struct recipe_image *b = stored_about(*out);
	if (a->chunks == b->chunks && memcmp(a->sha256, b->sha256, SHA256_BYTES) == 0)
		return 0;
	stored_free(*out);
	*out = NULL;
	return err_set(e, ERR_FORMAT,
	    "%s: was replaced by another image while it was read",
	    stored_title(a).text);
}

/* What looks like damage may be an error of the index that this machine keeps; then an index
 * is made anew for this. */
int
reopened_open(struct reopened **out, const struct store_place *p, const char *name,
    unsigned how, struct err *e)
{
	struct reopened *r = malloc(sizeof *r);

	if (r == NULL)
		return err_nomem(e, "an image");
	*r = (struct reopened){ .place = *p, .name = name, .how = how };
	int rc = open_image(&r->image, r, name, STORE_READ, true, e);
	if (rc != 0 && e->kind == ERR_FORMAT) {
		r->anew = true;
		rc = open_image(&r->image, r, name, STORE_ANEW, true, e);
	}
	if (rc != 0) {
		free(r);
		return -1;
	}
	r->about = *stored_about(r->image);
	*out = r;
	return 0;
}

int
reopened_more(struct reopened **out, const struct reopened *first, struct err *e)
{
	struct reopened *r = malloc(sizeof *r);

	if (r == NULL)
		return err_nomem(e, "an image");
	*r = *first;
	r->equivalents = 0;
	if (stored_more(&r->image, first->image, e) == 0)
		return *out = r, 0;
	free(r);
	return -1;
}

struct reopened *
reopened_of(struct stored *image)
{
	struct reopened *r = malloc(sizeof *r);

	if (r != NULL)
		*r = (struct reopened){
			.given = true, .image = image, .about = *stored_about(image)
		};
	return r;
}

void
reopened_free(struct reopened *r)
{
	if (r == NULL)
		return;
	stored_free(r->image);
	free(r);
}

const struct recipe_image *
reopened_about(const struct reopened *r)
{
	return &r->about;
}

uint64_t
reopened_equivalents(const struct reopened *r)
{
	return r->equivalents + stored_equivalents(r->image);
}

static int
get(struct stored *image, uint32_t i, size_t at, size_t n, void *out, struct err *e)
{
	return n == NDZ_CHUNK_BYTES ? stored_chunk(image, i, out, e)
	                            : stored_part(image, i, at, n, out, e);
}

/* gc may remove packs that readers use; it has copied what is in use to
 * other packs before, so the image is opened again.  What looks like damage may be an
 * error of the index, so an index is made anew, once.  What is missing then is damage. */
int
reopened_part(
    struct reopened *r, uint32_t i, size_t at, size_t n, void *out, struct err *e)
{
	struct stored *again;
	struct err why; /* the first error says more, unless this one is damage */
	int rc = get(r->image, i, at, n, out, e);
	bool damaged = rc != 0 && e->kind == ERR_FORMAT && !r->anew;

	if (rc == 0 || r->given || (e->os != ENOENT && !damaged))
		return rc;
	r->anew = r->anew || damaged;
	if (open_same(&again, r, damaged ? STORE_ANEW : STORE_READ, &why) != 0) {
		if (!damaged && why.kind == ERR_FORMAT)
			*e = why;
		return rc;
	}
	r->equivalents += stored_equivalents(r->image);
	stored_free(r->image);
	r->image = again;
	return get(r->image, i, at, n, out, e) == 0 ? 0 : store_err_missing(e);
}

int
reopened_chunk(struct reopened *r, uint32_t i, void *out, struct err *e)
{
	return reopened_part(r, i, 0, NDZ_CHUNK_BYTES, out, e);
}
