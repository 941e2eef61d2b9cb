/* into_store.c: puts an image that is captured into a store. main.c calls it in the first
 * thread; put_known() is called in the compressors' threads. */
#include "imagezip/into_store.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emustore/store/name.h"

static const char scheme[] = "store:";

struct into_store {
	struct store store;
	struct put *put;
	struct precompressed known;
	struct recipe_image about;
	struct put_stats stats;
};

const char *
into_store_name(const char *to)
{
	size_t n = sizeof scheme - 1;

	return to != NULL && strncmp(to, scheme, n) == 0 ? to + n : NULL;
}

static int
begin(struct into_store *s, const char *url, uint64_t jobs, struct err *e)
{
	const struct put_config cfg = { .jobs = jobs };

	if (store_open(&s->store, url, STORE_WRITE, e) != 0)
		return -1;
	s->about.put_at = (uint64_t)time(NULL);
	if (store_begin(&s->store, e) == 0 &&
	    put_begin(&s->put, &s->store, &s->about, &cfg, e) == 0)
		return 0;
	store_close(&s->store);
	return -1;
}

int
into_store_open(struct into_store **out, const char *store, const char *name,
    uint64_t jobs, struct capture_to *to, struct err *e)
{
	struct into_store *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "an image");
	if (store_name_get(&s->about.name, name, e) != 0 || begin(s, store, jobs, e) != 0) {
		free(s);
		return -1;
	}
	s->known = (struct precompressed){ .find = put_known, .arg = s->put };
	*to = (struct capture_to){ .take = put_copy,
		.taker = s->put,
		.level = put_level(s->put),
		.known = &s->known };
	*out = s;
	return 0;
}

int
into_store_commit(struct into_store *s, struct stored_as *stored, struct err *e)
{
	if (put_end(s->put, &s->about, &s->stats, e) != 0 ||
	    store_commit(&s->store, e) != 0)
		return -1;
	*stored = (struct stored_as){ &s->about, &s->stats };
	return 0;
}

void
into_store_close(struct into_store *s)
{
	if (s == NULL)
		return;
	put_free(s->put);
	store_close(&s->store);
	free(s);
}
