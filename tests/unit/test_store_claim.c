/* Claims: a writer gets a version of an image only if nobody else has claimed it, and
 * if it has not been put meanwhile, and it leaves no claim that was refused.  Who meets
 * another writer waits by lot. */
#include <string.h>
#include <time.h>

#include "emustore/objects/folder.h"
#include "emustore/store/store_impl.h"
#include "tests/unit/scratch.h"

static struct err e;
static struct store s;
static unsigned waits;
static long last_ns;

/* The C library's function: here nobody waits. */
int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	(void)clock, (void)flags, (void)left;
	waits++;
	last_ns = t->tv_sec * 1000000000 + t->tv_nsec;
	return 0;
}

static void
put(const char *key)
{
	T_CHECK(s.objects->ops->put(s.objects->ctx, key, "x", 1, &e) == 0);
}

static size_t
claims(void)
{
	struct listing l = { 0 };

	T_CHECK(listing_get(&l, s.objects, KEYS_CLAIMS, NULL, &e) == 0);
	size_t n = l.n;
	listing_free(&l);
	return n;
}

/* Claims the version.  Returns what claim_image() has returned; a claim that was got is
 * given up. */
static int
claim(const struct store_name *n)
{
	size_t before = claims();
	char key[KEY_BYTES];
	int rc = claim_image(&s, n, true, key, &e);

	T_CHECK(claims() == before + (rc == 1));
	if (rc == 1)
		T_CHECK(s.objects->ops->remove(s.objects->ctx, key, &e) == 0);
	return rc;
}

/* Two that would always wait for the same time would meet again. */
static bool
waits_by_lot(const struct store_name *n)
{
	bool differs = false;

	for (int i = 0; i < 20; i++) {
		long before = last_ns;
		T_CHECK(claim(n) == 0);
		differs |= i > 0 && last_ns != before;
	}
	return differs;
}

int
main(void)
{
	struct store_name one = { .name = "lab", .version = 1 }, two = one;
	char key[KEY_BYTES];
	bool made;

	two.version = 2;
	scratch_init();
	T_CHECK(folder_make(in_scratch("bucket"), &made, &e) == 0);
	T_CHECK(folder_open(&s.objects, in_scratch("bucket"), &e) == 0);
	T_CHECK(folder_make_parts(s.objects, &e) == 0);
	T_CHECK(claim(&one) == 1);
	key_of_image(&one, key);
	put(key);
	T_CHECK(claim(&one) == 0);
	T_CHECK(claim(&two) == 1);
	T_CHECK(waits == 0); /* nobody else was there */
	put(KEYS_CLAIMS "lab/0000000002/0123456789abcdef");
	T_CHECK(claim(&two) == 0);
	T_CHECK(waits == 1);
	T_CHECK(waits_by_lot(&two));
	objects_release(s.objects);
	scratch_done();
	return t_done();
}
