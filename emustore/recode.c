/* recode.c: puts an image into a store that need not come out of it byte for byte: the
 * image is encoded again with another codec, so that it shares its data with images of
 * that codec.  transfer.c calls it in the first thread; the maker of the new image has
 * threads of its own, in which put_known() is called. */
#include "common/image/read/layers.h"
#include "common/image/write/rewrite.h"
#include "emustore/emustore.h"
#include "emustore/store/put.h"

static int
check_unsigned(const struct sectors *image, struct err *e)
{
	if (!sectors_ext(image)->has_signature)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is signed, and would not be signed any more in another codec",
	    sectors_name(image));
}

static int
make_all(const struct options *o, struct put *p, const struct rewrite_source *src,
    const struct cut_zones *zones, struct err *e)
{
	const struct precompressed known = { .find = put_known, .arg = p };
	struct maker_choice how = o->how;
	struct maker *m;

	how.jobs = o->jobs;
	if (how.windows == MAKER_USUAL)
		how.windows = MAKER_STORE;
	struct maker_config cfg = rewrite_as(&how, src);
	cfg.zones = zones;
	cfg.take = put_copy;
	cfg.taker = p;
	cfg.known = &known;
	if (maker_new(&m, &cfg, e) != 0)
		return -1;
	int rc = rewrite_image(m, src, NULL, e);
	maker_free(m);
	return rc;
}

static int
make_of(const struct options *o, struct put *p, struct sectors *image, struct err *e)
{
	struct rewrite_source src = { .program = "emustore" };
	struct cut_zones zones = { 0 };
	struct layers *l;

	if (check_unsigned(image, e) != 0 || layers_new(&l, &image, 1, e) != 0)
		return -1;
	int rc = rewrite_same(&src, image, l, e);
	if (rc == 0)
		rc = rewrite_zones(&zones, &o->how, &src, e);
	if (rc == 0)
		rc = make_all(o, p, &src, &zones, e);
	cut_zones_free(&zones);
	layers_free(l);
	return rc;
}

int
recode_image(const struct options *o, struct put *p, const char *path, struct err *e)
{
	struct sectors *image;

	if (sectors_open(&image, path, e) != 0)
		return -1;
	int rc = make_of(o, p, image, e);
	sectors_close(image);
	return rc;
}
