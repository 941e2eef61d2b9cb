/* claim.c: lets only one writer make an image of one name and version, with any server:
 * some servers overwrite an object although they are asked not to, and some only say that
 * they refuse.
 *
 * A writer makes an object of its own, claims/NAME/VERSION/ID, and lists the claims of
 * this version afterwards.  If there is no other claim, and no such image, this writer is
 * the only one: a writer that comes later sees the claim, or the image, since a claim is
 * removed only when the image is there.  If there is another claim, the writer removes its
 * own; both writers may do so, and try the next version, each after a while that is drawn
 * by lot.  gc removes the claims of writers that died.
 *
 * Called by writer.c, only for buckets, in the thread of the writer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/random_bytes.h"
#include "common/base/timed.h"
#include "emustore/store/given.h"
#include "emustore/store/store_impl.h"

enum { LOT_TIMES = 4 };

static void
key_of_claim(const struct store_name *n, const char *id, char key[KEY_BYTES])
{
	snprintf(key, KEY_BYTES, KEYS_CLAIMS "%s/%010" PRIu32 "/%s", n->name, n->version, id);
}

/* Count the claims of a version.  Behind its folder are also those of images whose names begin like the
 * version's key: lab/0000000001, where this is lab:1. */
static size_t
count_claims(const struct listing *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += strchr(l->v[i].key, '/') == NULL;
	return n;
}

/* Is this writer's claim the only one, and is there no image?  If `fresh`: was there
 * never one?  That is asked last: an image that was made and removed since had its number
 * noted before.  1, 0, -1.  *met: the list has another claim, or not yet this one. */
static int
is_alone(struct store *s, const struct store_name *n, bool fresh, bool *met,
    struct err *e)
{
	struct listing claims = { 0 }, images = { 0 };
	char folder[KEY_BYTES], image[KEY_BYTES];

	key_of_claim(n, "", folder);
	key_of_image(n, image);
	int rc = listing_get(&claims, s->objects, folder, NULL, e);
	if (rc == 0)
		rc = listing_get(&images, s->objects, image, NULL, e);
	bool there = images.n > 0 && images.v[0].key[0] == '\0';
	*met = rc == 0 && count_claims(&claims) != 1;
	if (rc == 0)
		rc = !*met && !there;
	if (rc == 1 && fresh && (rc = given_has(s, n, e)) >= 0)
		rc = !rc;
	listing_free(&claims);
	listing_free(&images);
	return rc;
}

/* Writers whose requests a server answers by turns would meet at each version that they
 * try.  So who has met another one waits, by lot up to some times as long as its claim
 * has taken; meanwhile a list that is late may catch up, too. */
static void
wait_by_lot(uint64_t took_us)
{
	uint64_t lot;

	random_bytes(&lot, sizeof lot);
	timed_sleep(lot % (LOT_TIMES * took_us + 1));
}

int
claim_image(struct store *s, const struct store_name *n, bool fresh, char key[KEY_BYTES],
    struct err *e)
{
	char id[KEY_RANDOM_CHARS + 1];
	uint64_t began = clock_us();
	struct err ignored;
	bool met;

	key_random(id);
	key_of_claim(n, id, key);
	if (s->objects->ops->put(s->objects->ctx, key, "claim\n", 6, e) != 0)
		return -1;
	int rc = is_alone(s, n, fresh, &met, e);
	if (rc != 1)
		s->objects->ops->remove(s->objects->ctx, key, &ignored);
	if (rc == 0 && met)
		wait_by_lot(clock_us() - began);
	return rc;
}
