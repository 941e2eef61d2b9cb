/* sources.c: opens what place.h names.  The plugin and streamdisk call this, in one thread. */
#include "stream/sources/sources.h"

#include "common/disk/disk.h"
#include "emustore/store/store_disk.h"
#include "stream/http/http.h"
#include "stream/sources/place.h"
#include "stream/sources/several.h"

int
sources_check(const struct sources_config *cfg, struct err *e)
{
	struct place p;

	if (cfg->n == 0)
		return err_set(e, ERR_USAGE, "an image is needed");
	for (size_t i = 0; i < cfg->n; i++) {
		if (place_parse(&p, cfg->places[i], e) != 0)
			return -1;
		if (p.kind == PLACE_STORE && cfg->store == NULL)
			return err_set(e, ERR_USAGE,
			    "\"%s\" is in a store, and no store is named", cfg->places[i]);
	}
	return 0;
}

bool
sources_have_threads(const struct sources_config *cfg)
{
	struct place p;
	struct err e;

	for (size_t i = 0; i < cfg->n; i++)
		if (place_parse(&p, cfg->places[i], &e) == 0 && p.kind == PLACE_STORE)
			return true;
	return false;
}

static int
open_place(struct source *out, const struct place *p, const char *store, struct err *e)
{
	struct disk *d;

	if (p->kind == PLACE_HTTP)
		return source_of_http(out, p->what, e);
	int rc = p->kind == PLACE_STORE ? store_disk_open(&d, store, p->what, NULL, e)
	                                : disk_open(&d, p->what, DISK_READ, e);

	return rc == 0 ? source_of_disk(out, d, e) : -1;
}

/* Those that can be opened: how many; *e is of the first that cannot. */
static size_t
open_some(struct source *members, const struct sources_config *cfg,
    void (*warn)(const char *sentence), struct err *e)
{
	struct place p;
	struct err one;
	size_t n = 0;

	for (size_t i = 0; i < cfg->n; i++) {
		if (place_parse(&p, cfg->places[i], &one) == 0 &&
		    open_place(&members[n], &p, cfg->store, &one) == 0) {
			n++;
			continue;
		}
		if (n == i)
			*e = one;
		if (warn != NULL && cfg->n > 1)
			warn(one.text);
	}
	return n;
}

int
sources_open(struct source *out, const struct sources_config *cfg,
    void (*warn)(const char *sentence), struct err *e)
{
	struct source members[SOURCES_MAX];

	if (sources_check(cfg, e) != 0)
		return -1;
	size_t n = open_some(members, cfg, warn, e);
	if (n > 1)
		return source_of_several(out, members, n, e);
	if (n == 0)
		return -1;
	*out = members[0];
	return 0;
}
