/* dry.c: what a dry run (--dry-run) reads from the image, and what it reports. main.c calls
 * this in the first thread. */
#include "imageunzip/dry.h"

#include "common/base/say.h"
#include "common/image/read/sectors.h"
#include "imageunzip/install/rehearsal_report.h"

void
dry_say(const char *sentence)
{
	say_text(stderr, "imageunzip: dry run: %s\n", sentence);
}

int
dry_read(void *arg, struct range r, void *buf, struct err *e)
{
	if (arg == NULL)
		return err_set(e, ERR_UNSUPPORTED, "the image is not read by sector");
	return sectors_read(arg, r, buf, e);
}

int
dry_report(const struct run *r, const char *target, const struct rehearsal_found *f,
    struct err *e)
{
	if (r->o->json)
		return rehearsal_json(f, r->report, e);
	if (!r->o->quiet)
		rehearsal_print(f, &r->o->install, image_name(r->image), target);
	return 0;
}
