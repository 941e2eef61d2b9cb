/* dry.c: a dry run (--dry-run): rehearses an installation and reports what it would do. main.c
 * calls this in the first thread; nothing is written. */
#include "imageunzip/dry.h"

#include <stdlib.h>

#include "common/base/say.h"
#include "common/image/read/sectors.h"
#include "imageunzip/install/from.h"
#include "imageunzip/install/rehearsal_report.h"

void
dry_say(const char *sentence)
{
	say(stderr, "imageunzip: dry run: %s\n", sentence);
}

int
dry_read(void *arg, struct range r, void *buf, struct err *e)
{
	if (arg == NULL)
		return err_set(e, ERR_UNSUPPORTED, "the image is not read by sector");
	return sectors_read(arg, r, buf, e);
}

static int
feed_first(struct run *r, struct rehearsal *re, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	int rc = buf != NULL ? image_next(r->image, buf, NULL, e)
	                     : err_nomem(e, "a chunk");

	if (rc == 1 && (rc = rehearsal_begin(re, buf, e)) != 0)
		err_ctx(e, "%s", image_name(r->image));
	free(buf);
	return rc;
}

/* Look into the image as the installation does before it feeds. */
static int
choose(struct run *r, struct rehearsal *re, const struct ext *first, struct err *e)
{
	struct install *in = rehearsal_install(re);
	uint64_t sectors;
	bool *wanted;

	if (!install_is_only(in) && first->reach != NULL)
		return 0;
	install_read_from(in, r->image);
	int rc = install_choose(in, &wanted, &sectors, e);
	free(wanted);
	return rc;
}

/* Feed chunk 0 whole, and of the others the headers, which survey_image() has checked.  The
 * rehearsal's errors do not name the image. */
static int
feed(struct run *r, struct rehearsal *re, struct err *e)
{
	struct ndz_header h;

	if (feed_first(r, re, e) != 0)
		return -1;
	for (uint32_t i = 1; i < image_chunks(r->image); i++) {
		if (image_header(r->image, i, &h, e) != 0)
			return -1;
		if (rehearsal_chunk(re, i, &h, e) != 0)
			return err_ctx(e, "%s", image_name(r->image));
	}
	return 0;
}

int
dry_run(struct run *r, const struct install_config *cfg, const char *target,
    const struct rehearsal_source *source, struct err *e)
{
	struct rehearsal_found f = { .nparts = 0 };
	struct rehearsal *re;

	if (rehearsal_open(&re, cfg, target, source, e) != 0)
		return -1;
	int rc = choose(r, re, source->first, e);
	if (rc == 0)
		rc = feed(r, re, e);
	if (rc == 0)
		rc = rehearsal_end(re, &f, e);
	if (rc == 0 && r->o->json)
		rc = rehearsal_json(&f, r->report, e);
	else if (rc == 0 && !r->o->quiet)
		rehearsal_print(&f, cfg, image_name(r->image), target);
	rehearsal_found_free(&f);
	rehearsal_free(re);
	return rc;
}
