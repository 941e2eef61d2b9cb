/* ranges.c: the source of change "ranges": a file of the user says which sectors have changed.
 * The extract calls this, in its first thread.  A file that cannot be understood is an error,
 * because its author did not mean that all of the device has changed. */
#include <stdlib.h>

#include "dsync/change/change.h"
#include "dsync/change/lines.h"

struct ranges {
	struct rangeset changed; /* bytes */
};

static void
ranges_close(void *self)
{
	struct ranges *r = self;

	rangeset_free(&r->changed);
	free(r);
}

static int
ranges_open(void **self, const struct change_job *job, struct change_about *about,
    struct err *e)
{
	struct ranges *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "ranges");
	about->block_bytes = SECTOR_BYTES;
	if ((job->args[0] != '\0'
	            ? lines_read(job->args, job->device_bytes, &r->changed, e)
	            : err_set(e, ERR_USAGE, "--since=ranges: the file is missing")) != 0) {
		ranges_close(r);
		return -1;
	}
	*self = r;
	return 0;
}

static int
ranges_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct ranges *r = self;

	(void)base;
	return same_sink_add_all_but(sink, &r->changed, e);
}

const struct change_kind change_ranges = {
	.name = "ranges",
	.args = "FILE",
	.about = "lines of a first sector and a count",
	.open = ranges_open,
	.same = ranges_same,
	.close = ranges_close,
};
