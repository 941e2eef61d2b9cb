/* ranges.c: the source of change "ranges": a file of the user says which sectors have changed.
 * The extract calls this, in its first thread.  A file that cannot be understood is an error,
 * because its author did not mean that all of the device has changed.  Each line has:
 *
 *	FIRST COUNT	sectors of 512 bytes; # begins a comment
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "dsync/change/change.h"

enum { LINE_BYTES = 256 };

struct ranges {
	const char *path; /* borrowed */
	uint64_t device_bytes;
	struct rangeset changed; /* bytes */
};

/* Parse one line; its sectors are added as bytes. */
static int
take_line(char *line, uint64_t device_bytes, struct rangeset *to, struct err *e)
{
	uint64_t first, count;
	char *rest;

	line[strcspn(line, "#\n")] = '\0';
	char *word = strtok_r(line, " \t\r", &rest), *second = strtok_r(NULL, " \t\r", &rest);
	if (word == NULL)
		return 0;
	if (second == NULL || strtok_r(NULL, " \t\r", &rest) != NULL)
		return err_set(
		    e, ERR_FORMAT, "must have a first sector and a number of sectors");
	if (number_uint(word, 0, INT64_MAX, &first, e) != 0 ||
	    number_uint(second, 1, INT64_MAX, &count, e) != 0)
		return -1;
	uint64_t sectors = (device_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	if (!range_within((struct range){ first, count }, sectors))
		return err_set(e, ERR_FORMAT, "reaches beyond the end of the device");
	return rangeset_add(
	    to, (struct range){ first * SECTOR_BYTES, count * SECTOR_BYTES }, e);
}

static int
read_lines(struct ranges *r, FILE *f, struct err *e)
{
	char line[LINE_BYTES];
	int rc = 0;

	for (unsigned n = 1; rc == 0 && fgets(line, sizeof line, f) != NULL; n++) {
		if (strlen(line) == sizeof line - 1)
			rc = err_set(e, ERR_FORMAT, "is too long");
		else
			rc = take_line(line, r->device_bytes, &r->changed, e);
		if (rc != 0)
			err_ctx(e, "%s: line %u", r->path, n);
	}
	if (rc == 0 && ferror(f))
		rc = err_os(e, "%s", r->path);
	rangeset_seal(&r->changed);
	return rc;
}

static int
read_file(struct ranges *r, struct err *e)
{
	if (r->path[0] == '\0')
		return err_set(e, ERR_USAGE, "--since=ranges: the file is missing");
	FILE *f = fopen(r->path, "re");
	if (f == NULL)
		return err_os(e, "%s", r->path);
	int rc = read_lines(r, f, e);
	fclose(f);
	return rc;
}

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
	*r = (struct ranges){ .path = job->args, .device_bytes = job->device_bytes };
	about->block_bytes = SECTOR_BYTES;
	if (read_file(r, e) == 0) {
		*self = r;
		return 0;
	}
	ranges_close(r);
	return -1;
}

static int
ranges_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct ranges *r = self;

	(void)base;
	return same_but(sink, &r->changed, e);
}

const struct change_kind change_ranges = {
	.name = "ranges",
	.args = "FILE",
	.about = "lines of a first sector and a count",
	.open = ranges_open,
	.same = ranges_same,
	.close = ranges_close,
};
