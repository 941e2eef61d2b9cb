/* reopened.c: opens an image again when the store has changed while the image was read, or
 * when this machine's copy of the index may be wrong.  Called by store_disk.c,
 * in the thread to which the struct reopened belongs. */
#include "emustore/store/reopened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reopened {
	const char *store, *name;
	struct stored *image;
	struct recipe_image about; /* of the image that was opened first */
	bool anew; /* opened with an index that was made from the objects for this */
};

/* load: the image is opened to be loaded, for the first time. */
static int
open_image(struct stored **out, const char *store, const char *name, unsigned access,
    bool load, struct err *e)
{
	struct store_name parsed;
	struct store s;

	if (store_name_get(&parsed, name, e) != 0 ||
	    store_open(&s, store, access, e) != 0)
		return -1;
	int rc = stored_open(out, &s, &parsed, e);
	if (rc == 0 && load)
		stored_note_load(*out, &s);
	store_close(&s);
	return rc;
}

/* Open the same image again.  ERR_FORMAT: another image has its name now. */
static int
open_same(
    struct stored **out, const struct reopened *s, unsigned access, struct err *e)
{
	const struct recipe_image *a = &s->about;

	if (open_image(out, s->store, stored_title(a).text, access, false, e) != 0)
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

static int
open_first(struct reopened *s, bool same, unsigned access, struct err *e)
{
	return same ? open_same(&s->image, s, access, e)
	            : open_image(&s->image, s->store, s->name, access, true, e);
}

int
reopened_open(struct reopened **out, const char *store, const char *name,
    const struct reopened *like, struct err *e)
{
	struct reopened *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, name);
	s->store = store;
	s->name = name;
	if (like != NULL)
		s->about = like->about;
	int rc = open_first(s, like != NULL, STORE_READ, e);
	if (rc != 0 && e->kind == ERR_FORMAT) {
		s->anew = true;
		rc = open_first(s, like != NULL, STORE_ANEW, e);
	}
	if (rc != 0) {
		free(s);
		return -1;
	}
	s->about = *stored_about(s->image);
	*out = s;
	return 0;
}

void
reopened_free(struct reopened *s)
{
	if (s == NULL)
		return;
	stored_free(s->image);
	free(s);
}

const struct recipe_image *
reopened_about(const struct reopened *s)
{
	return &s->about;
}

int
reopened_header(
    struct reopened *s, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *e)
{
	return stored_header(s->image, i, out, e);
}

/* Read a chunk.  gc may remove packs that readers use; it has copied what is in use to
 * other packs before, so the image is opened again.  What looks like damage may be an
 * error of the index, so an index is made anew, once. */
int
reopened_chunk(struct reopened *s, uint32_t i, void *out, struct err *e)
{
	struct stored *again;
	struct err ignored; /* the first error says more */
	int rc = stored_chunk(s->image, i, out, e);
	bool damaged = rc != 0 && e->kind == ERR_FORMAT && !s->anew;

	if (rc == 0 || (e->os != ENOENT && !damaged))
		return rc;
	s->anew = s->anew || damaged;
	if (open_same(&again, s, damaged ? STORE_ANEW : STORE_READ, &ignored) != 0)
		return rc;
	stored_free(s->image);
	s->image = again;
	return stored_chunk(s->image, i, out, e);
}
