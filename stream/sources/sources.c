/* sources.c: opens what place.h names.  The plugin and streamdisk call this, in one thread. */
#include "stream/sources/sources.h"

#include "common/disk/ahead.h"
#include "common/disk/disk_nbd.h"
#include "common/disk/output.h"
#include "common/disk/ptable.h"
#include "common/image/format/format.h"
#include "common/image/format/kind.h"
#include "common/image/read/source.h"
#include "common/net/web/http.h"
#include "emustore/store/store_disk.h"
#include "stream/session/session.h"
#include "stream/sources/place.h"
#include "stream/sources/several.h"

int
sources_add(struct sources_config *cfg, const char *place, struct err *e)
{
	if (cfg->n == SOURCES_MAX)
		return err_set(e, ERR_USAGE, "there are more than %d sources", SOURCES_MAX);
	cfg->places[cfg->n++] = place;
	return 0;
}

int
sources_add_delta(struct sources_config *cfg, const char *place, struct err *e)
{
	if (cfg->ndeltas == SOURCES_DELTAS_MAX)
		return err_set(e, ERR_USAGE, "there are more than %d deltas",
		    SOURCES_DELTAS_MAX);
	cfg->deltas[cfg->ndeltas++] = place;
	return 0;
}

static int
check_place(const struct sources_config *cfg, const char *place, struct err *e)
{
	struct place p;

	if (place_parse(&p, place, e) != 0)
		return -1;
	if (p.kind == PLACE_STORE && cfg->store == NULL)
		return err_set(
		    e, ERR_USAGE, "\"%s\" is in a store, but no store is given", place);
	return 0;
}

/* Whether a place is a session: looking at a session would mean to join it. */
static bool
has_session(const struct sources_config *cfg)
{
	struct place p;
	struct err e;

	for (size_t i = 0; i < cfg->n; i++)
		if (place_parse(&p, cfg->places[i], &e) == 0 && p.kind == PLACE_SESSION)
			return true;
	return false;
}

/* A key that protects nothing is refused: whoever gives it counts on it. */
static int
check_key(const struct sources_config *cfg, struct err *e)
{
	if (cfg->group_key == NULL)
		return 0;
	if (!has_session(cfg))
		return err_set(e, ERR_USAGE,
		    "%s: a group key protects what a session sends, and no source is one "
		    "(frisbee://)",
		    cfg->group_key);
	return session_check_key(cfg->group_key, e);
}

/* The i-th place, deltas included; NULL: there is none. */
static const char *
place_at(const struct sources_config *cfg, size_t i)
{
	if (i < cfg->n)
		return cfg->places[i];
	return i - cfg->n < cfg->ndeltas ? cfg->deltas[i - cfg->n] : NULL;
}

int
sources_check(const struct sources_config *cfg, struct err *e)
{
	const char *place;

	if (cfg->n == 0)
		return err_set(e, ERR_USAGE, "an image is needed");
	for (size_t i = 0; (place = place_at(cfg, i)) != NULL; i++)
		if (check_place(cfg, place, e) != 0)
			return -1;
	return check_key(cfg, e);
}

static int
check_apart(const char *place, const char *path, struct err *e)
{
	struct place p;

	if (place_parse(&p, place, e) != 0)
		return -1;
	if (p.kind != PLACE_FILE || !output_is_input(path, p.what))
		return 0;
	return err_set(e, ERR_USAGE, "%s: is the image %s, and cannot be the disk, too", path, p.what);
}

int
sources_check_apart(const struct sources_config *cfg, const char *path, struct err *e)
{
	const char *place;

	for (size_t i = 0; (place = place_at(cfg, i)) != NULL; i++)
		if (check_apart(place, path, e) != 0)
			return -1;
	return 0;
}

bool
sources_have_threads(const struct sources_config *cfg)
{
	const char *place;
	struct place p;
	struct err e;

	for (size_t i = 0; (place = place_at(cfg, i)) != NULL; i++)
		if (place_parse(&p, place, &e) == 0 &&
		    (p.kind == PLACE_STORE || p.kind == PLACE_SESSION))
			return true;
	return false;
}

/* What a place holds: an image, or a disk that is no image. */
struct found {
	struct source image;
	struct disk *disk; /* NULL: it is an image */
};

/* An image that is behind a server: the headers of its chunks are read ahead. */
static int
source_of_far(struct source *out, struct disk *d, struct err *e)
{
	static const struct ahead_reads headers = {
		SOURCE_CHUNK_BYTES, NDZ_HEADER_BYTES, 64
	};

	return ahead_open(&d, d, &headers, e) == 0 ? source_of_disk(out, d, e) : -1;
}

static int
find_nbd(struct found *out, const char *uri, struct err *e)
{
	struct err ignored;

	if (disk_open_nbd(&out->disk, uri, e) != 0)
		return -1;
	int is = kind_is_image(out->disk, e);
	if (is == 0)
		return 0;
	struct disk *d = out->disk;
	out->disk = NULL;
	if (is > 0)
		return source_of_far(&out->image, d, e);
	disk_close(d, &ignored);
	return -1;
}

static int
find(struct found *out, const char *place, const struct sources_config *cfg,
    struct err *e)
{
	struct place p;
	struct disk *d;

	*out = (struct found){ .disk = NULL };
	if (place_parse(&p, place, e) != 0)
		return -1;
	if (p.kind == PLACE_NBD)
		return find_nbd(out, p.what, e);
	if (p.kind == PLACE_SESSION)
		return source_of_session(
		    &out->image, p.what, cfg->group_key, cfg->work, e);
	if (p.kind == PLACE_HTTP)
		return http_open(&d, p.what, e) == 0
		           ? source_of_far(&out->image, d, e)
		           : -1;
	int rc = p.kind == PLACE_STORE ? store_disk_open(&d, cfg->store, p.what, NULL, e)
	                               : disk_open(&d, p.what, DISK_READ, e);

	return rc == 0 ? source_of_disk(&out->image, d, e) : -1;
}

/* Find an image.  A disk that is no image is refused, and `why` ends the sentence. */
static int
find_image(struct source *out, const char *place, const struct sources_config *cfg,
    const char *why, struct err *e)
{
	struct found f;
	struct err ignored;

	if (find(&f, place, cfg, e) != 0)
		return -1;
	*out = f.image;
	if (f.disk == NULL)
		return 0;
	disk_close(f.disk, &ignored);
	return err_set(e, ERR_USAGE, "%s: is a disk, not an image, and so %s", place, why);
}

/* Find one of several sources of an image.  A session is joined without hearing anything of it, so it
 * is asked for what it sends. */
static int
find_member(struct source *out, const char *place, const struct sources_config *cfg,
    struct err *e)
{
	struct source_info info;

	if (find_image(out, place, cfg, "it cannot be one of several sources of an image", e) != 0)
		return -1;
	if (source_info(out, &info, e) == 0)
		return 0;
	source_close(out);
	return -1;
}

/* Open the places that can be opened.  Returns how many; *e is the error of the first place if
 * the first cannot be opened. */
static size_t
find_some(struct source *members, const struct sources_config *cfg,
    void (*warn)(const char *sentence), struct err *e)
{
	struct err one;
	size_t n = 0;

	for (size_t i = 0; i < cfg->n; i++) {
		if (find_member(&members[n], cfg->places[i], cfg, &one) == 0) {
			n++;
			continue;
		}
		if (n == i)
			*e = one;
		if (warn != NULL)
			warn(one.text);
	}
	return n;
}

/* Open the places: one image from one or several of them, or a disk. */
static int
find_base(struct found *out, const struct sources_config *cfg,
    void (*warn)(const char *sentence), struct err *e)
{
	struct source members[SOURCES_MAX];

	if (cfg->n == 1)
		return find(out, cfg->places[0], cfg, e);
	*out = (struct found){ .disk = NULL };
	size_t n = find_some(members, cfg, warn, e);
	if (n > 1)
		return source_of_several(&out->image, members, n, e);
	if (n == 0)
		return -1;
	out->image = members[0];
	return 0;
}

/* Open the deltas behind their base; images[] has room for all.  A failure closes all. */
static int
find_deltas(struct source images[], const struct source *base,
    const struct sources_config *cfg, struct err *e)
{
	images[0] = *base;
	for (size_t i = 0; i < cfg->ndeltas; i++) {
		if (find_image(&images[i + 1], cfg->deltas[i], cfg, "no delta", e) == 0)
			continue;
		for (size_t k = 0; k <= i; k++)
			source_close(&images[k]);
		return -1;
	}
	return 0;
}

/* The sectors of a disk in which zeros are contents: all up to the end of its last partition, and
 * those of the partition table; all sectors, if the table cannot be read. */
static int
find_contents(struct rangeset *contents, struct disk *d, struct err *e)
{
	struct ptable p;
	struct err ignored;
	uint64_t bytes = disk_size_bytes(d), end = 0;
	int rc = 0;

	if (ptable_read(&p, d, &ignored) == 0) {
		for (unsigned i = 0; i < p.nparts; i++)
			if (range_end(p.parts[i].sectors) > end)
				end = range_end(p.parts[i].sectors);
		rc = rangeset_union(contents, &p.own, e);
		ptable_free(&p);
	}
	if (end == 0)
		end = bytes / SECTOR_BYTES + (bytes % SECTOR_BYTES != 0);
	return rc == 0 ? rangeset_add(contents, (struct range){ 0, end }, e) : -1;
}

/* Add to what is stored those holes of a disk that are contents. */
static int
add_holes(struct rangeset *stored, struct disk *d, struct err *e)
{
	struct rangeset contents;

	rangeset_init(&contents);
	int rc = find_contents(&contents, d, e);
	rangeset_seal(&contents);
	if (rc == 0)
		rc = rangeset_union(stored, &contents, e);
	if (rc != 0)
		rangeset_free(stored);
	rangeset_free(&contents);
	return rc;
}

static int
export_disk(struct export **out, struct disk *d, const struct sources_config *cfg,
    const struct export_config *how, struct err *e)
{
	struct rangeset stored;
	struct err ignored;

	int rc = cfg->ndeltas == 0
	             ? disk_nbd_stored(d, &stored, e)
	             : err_set(e, ERR_USAGE, "%s: is a disk, not an image, and has no deltas",
	                   cfg->places[0]);
	if (rc == 0 && cfg->holes_are_contents)
		rc = add_holes(&stored, d, e);
	if (rc == 0)
		return export_open_disk(out, d, &stored, how, e);
	disk_close(d, &ignored);
	return -1;
}

int
sources_look(const struct sources_config *cfg, void (*warn)(const char *sentence),
    struct err *e)
{
	struct source images[1 + SOURCES_DELTAS_MAX];
	struct found base;
	struct err ignored;

	if (sources_check(cfg, e) != 0)
		return -1;
	if (has_session(cfg))
		return 0;
	if (find_base(&base, cfg, warn, e) != 0)
		return -1;
	if (base.disk != NULL) {
		disk_close(base.disk, &ignored);
		return 0;
	}
	if (find_deltas(images, &base.image, cfg, e) != 0)
		return -1;
	for (size_t i = 0; i <= cfg->ndeltas; i++)
		source_close(&images[i]);
	return 0;
}

int
sources_open(struct export **out, const struct sources_config *cfg,
    const struct export_config *how, void (*warn)(const char *sentence), struct err *e)
{
	struct source images[1 + SOURCES_DELTAS_MAX];
	struct found base;

	if (sources_check(cfg, e) != 0 || find_base(&base, cfg, warn, e) != 0)
		return -1;
	if (base.disk != NULL)
		return export_disk(out, base.disk, cfg, how, e);
	if (find_deltas(images, &base.image, cfg, e) != 0)
		return -1;
	return export_open(out, images, 1 + cfg->ndeltas, how, e);
}
