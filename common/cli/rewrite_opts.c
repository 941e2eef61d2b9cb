/* rewrite_opts.c: the option table for programs that make an image of other images.  imagedelta
 * and imagerezip refer to it in their own tables, and cli.c reads it in the first thread. */
#include "common/cli/rewrite_opts.h"

#include <stddef.h>

#include "common/base/number.h"
#include "common/cli/cli_rows.h"
#include "common/image/write/rewrite.h"

static int
set_uuid(void *at, const char *arg, struct err *e)
{
	struct rewrite_config *c = at;

	c->how.has_uuid = true;
	return number_uuid(arg, c->how.uuid, e);
}

#define AT(field) offsetof(struct rewrite_config, field)

const struct cli_opt rewrite_opts[] = {
	{ 'j', "jobs", "N", "compress with N threads (default: one for each processor)",
	    CLI_UINT, AT(how.jobs), 1, 256, NULL },
	FLAG('3', "v3", "write version 3; fail if the image needs version 5", how.v3),
	FLAG('5', "v5", "write version 5", how.v5),
	{ 'u', "uuid", "HEX32", "set the UUID of the new image; makes version 5",
	    CLI_CALL, 0, 0, 0, set_uuid },
	FLAG('D', "no-sync", "do not wait until the image has reached the disk",
	    no_sync),
	FLAG(320, "force", "write even to a terminal, a disk, or over any file", force),
	FLAG('q', "quiet", "print neither progress nor a summary", quiet),
	FLAG(321, "json", "print the summary as JSON", json),
	{ 0 },
};
