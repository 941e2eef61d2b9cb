/* Numbers of versions: which were given is known, whatever their order, from about one
 * object for each name, and a writer that chose one that was given meanwhile does not get
 * it. */
#include <string.h>

#include "emustore/objects/folder.h"
#include "emustore/store/given.h"
#include "emustore/store/store_impl.h"
#include "tests/unit/scratch.h"

static struct err e;
static struct store s;

static bool
give(const char *name, uint32_t version)
{
	struct store_name n = { .version = version };

	snprintf(n.name, sizeof n.name, "%s", name);
	return given_add(&s, &n, &e) == 0;
}

static int
has(const char *name, uint32_t version)
{
	struct store_name n = { .version = version };

	snprintf(n.name, sizeof n.name, "%s", name);
	return given_has(&s, &n, &e);
}

static uint32_t
highest(const char *name)
{
	uint32_t version = 99;

	T_CHECK(given_highest(&s, name, &version, &e) == 0);
	return version;
}

/* The keys of all objects of numbers, each behind a space. */
static const char *
keys(void)
{
	static char text[400];
	struct listing l = { 0 };

	text[0] = '\0';
	T_CHECK(listing_get(&l, s.objects, KEYS_GIVEN, NULL, &e) == 0);
	for (size_t i = 0; i < l.n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), " %s", l.v[i].key);
	listing_free(&l);
	return text;
}

static void
test_ranges(void)
{
	T_CHECK(highest("lab") == 0 && has("lab", 1) == 0);
	T_CHECK(give("lab", 1) && give("lab", 3));
	T_CHECK(strcmp(keys(), " lab/-0000000001-0000000001 lab/-0000000003-0000000003") == 0);
	T_CHECK(has("lab", 1) == 1 && has("lab", 2) == 0 && has("lab", 3) == 1);
	T_CHECK(give("lab", 2) && give("lab", 2));
	T_CHECK(strcmp(keys(), " lab/-0000000001-0000000003") == 0);
	T_CHECK(highest("lab") == 3 && has("lab", 4) == 0);
	T_CHECK(give("lab", INT32_MAX) && highest("lab") == INT32_MAX && has("lab", 4) == 0);
}

/* Of two writers that have replaced the same object, none has lost a number. */
static void
test_two_writers(void)
{
	struct objects *o = s.objects;

	T_CHECK(give("web", 1));
	T_CHECK(o->ops->put(o->ctx, KEYS_GIVEN "web/-0000000001-0000000002", "x", 1, &e) == 0);
	T_CHECK(o->ops->put(o->ctx, KEYS_GIVEN "web/-0000000001-0000000003", "x", 1, &e) == 0);
	T_CHECK(o->ops->put(o->ctx, KEYS_GIVEN "web/-0000000009-000000000x", "x", 1, &e) == 0);
	T_CHECK(highest("web") == 3 && has("web", 2) == 1);
	T_CHECK(give("web", 4) && has("web", 2) == 1 && highest("web") == 4);
	T_CHECK(give("web/a", 8) && highest("web") == 4);
}

static void
test_claim(void)
{
	struct store_name n = { .name = "claimed", .version = 1 };
	char key[KEY_BYTES];

	T_CHECK(give("claimed", 1));
	T_CHECK(claim_image(&s, &n, true, key, &e) == 0);
	T_CHECK(claim_image(&s, &n, false, key, &e) == 1);
}

int
main(void)
{
	bool made;

	scratch_init();
	T_CHECK(folder_make(in_scratch("store"), &made, &e) == 0);
	T_CHECK(folder_open(&s.objects, in_scratch("store"), &e) == 0);
	T_CHECK(folder_make_parts(s.objects, &e) == 0);
	test_ranges();
	test_two_writers();
	test_claim();
	objects_release(s.objects);
	scratch_done();
	return t_done();
}
