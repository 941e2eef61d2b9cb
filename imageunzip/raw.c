/* raw.c: copies an image into a file as it is (-N). main.c calls this in the first
 * thread. */
#include "imageunzip/raw.h"

#include "common/cli/cli_guard.h"
#include "common/cli/failure.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/read/copy.h"

int
raw_copy(struct run *r, const char *target, struct err *e)
{
	const struct sink_file_config cfg = { .path = target,
		.force = r->o->install.force,
		.guard = cli_guard_set };
	static const struct copy_config all;
	struct sink_sum sum = { 0 };
	struct sink sink;

	if (output_check_replace(target, &kind_image, cfg.force, e) != 0 ||
	    sink_to_file(&sink, &cfg, e) != 0)
		return -1;
	int rc = image_copy(r->image, &sink, &all, e);
	if (rc == 0)
		rc = sink_end(&sink, &sum, e);
	sink_close(&sink, &sum, e);
	if (rc != 0)
		sink_add_left(sum.left, e);
	return rc == 0 && r->o->json ? failure_none_show_on(r->report, e) : rc;
}
