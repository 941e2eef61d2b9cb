/* reopened.c: opens an image again when the store has changed under it, or when what this
 * machine keeps of its index may be wrong.  Called by store_disk.c and ahead.c. */
#include "emustore/store/reopened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reopened {
	const char *store, *name;
	struct stored *image;
	struct recipe_image about; /* as it was opened first */
	bool anew; /* by an index that was made for it */
};

static int
open_image(struct stored **out, const char *store, const char *name, unsigned access,
    struct err *e)
{
	struct store_name parsed;
	struct store s;

	if (store_name_get(&parsed, name, e) != 0 ||
	    store_open(&s, store, access, e) != 0)
		return -1;
	int rc = stored_open(out, &s, &parsed, e);
	store_close(&s);
	return rc;
}

/* The same image, not another that has got its name meanwhile. */
static int
open_same(
    struct stored **out, const struct reopened *s, unsigned access, struct err *e)
{
	const struct recipe_image *a = &s->about;

	if (open_image(out, s->store, stored_title(a).text, access, e) != 0)
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
	            : open_image(&s->image, s->store, s->name, access, e);
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

/* gc takes packs away from readers, and copies what is in use before.  And what looks like
 * damage may be the index's, once. */
int
reopened_chunk(struct reopened *s, uint32_t i, void *out, struct err *e)
{
	struct stored *again;
	struct err ignored; /* why it is needed says more */
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
