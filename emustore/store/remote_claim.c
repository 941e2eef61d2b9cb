/* remote_claim.c: one writer for one name, whatever the server: not all refuse to
 * overwrite when they are asked to, and some only say so.
 *
 * A writer makes an object of its own, claims/NAME/VERSION/ID, and then looks who else
 * has.  If nobody has, and there is no such image, it is the only one: another one that
 * came later sees its claim, or its image, since the claim goes only when the image is
 * there.  If somebody has, it takes its claim back; both may do so, and try the next
 * version.  gc removes claims of writers that died. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "emustore/store/remote_impl.h"

static int
make_key(
    char key[REMOTE_KEY_BYTES], const struct store_name *n, bool folder, struct err *e)
{
	uint64_t id[2] = { 0 };

	if (!folder && getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
		return err_os(e, "random bytes");
	int len = snprintf(
	    key, REMOTE_KEY_BYTES, "claims/%s/%010" PRIu32 "/", n->name, n->version);
	if (!folder)
		snprintf(key + len, REMOTE_KEY_BYTES - (size_t)len,
		    "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
	return 0;
}

/* Are we alone?  1, 0, -1. */
static int
is_alone(struct remote *r, const struct store_name *n, struct err *e)
{
	struct listing claims = { 0 }, images = { 0 };
	char folder[REMOTE_KEY_BYTES], image[REMOTE_KEY_BYTES];

	make_key(folder, n, true, e);
	key_of_image(n, image);
	int rc = listing_get(&claims, r->s3, folder, NULL, e);
	if (rc == 0)
		rc = listing_get(&images, r->s3, image, NULL, e);
	bool there = images.n > 0 && images.v[0].key[0] == '\0';
	if (rc == 0)
		rc = claims.n == 1 && !there;
	listing_free(&claims);
	listing_free(&images);
	return rc;
}

int
remote_claim(struct remote *r, const struct store_name *n, char key[REMOTE_KEY_BYTES],
    struct err *e)
{
	struct err ignored;

	if (make_key(key, n, false, e) != 0 || s3_put(r->s3, key, "claim\n", 6, e) != 0)
		return -1;
	int rc = is_alone(r, n, e);
	if (rc != 1)
		s3_delete(r->s3, key, &ignored);
	return rc;
}
