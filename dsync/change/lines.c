/* lines.c: reads a text file of ranges.  The source of change "ranges" and the extract call this, in
 * one thread.  Each line has:
 *
 *	FIRST COUNT	sectors of 512 bytes; # begins a comment
 */
#include "dsync/change/lines.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/base/readable.h"

enum { LINE_BYTES = 256 };

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
	    number_uint(second, 1, INT64_MAX, &count, e) != 0) {
		e->kind = ERR_FORMAT;
		return -1;
	}
	uint64_t sectors = (device_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	if (!range_within((struct range){ first, count }, sectors))
		return err_set(e, ERR_FORMAT, "reaches beyond the end of the device");
	return rangeset_add(
	    to, (struct range){ first * SECTOR_BYTES, count * SECTOR_BYTES }, e);
}

static int
read_lines(FILE *f, const char *path, uint64_t device_bytes, struct rangeset *to,
    struct err *e)
{
	char line[LINE_BYTES];
	int rc = 0;

	for (unsigned n = 1; rc == 0 && fgets(line, sizeof line, f) != NULL; n++) {
		if (strlen(line) == sizeof line - 1)
			rc = err_set(e, ERR_FORMAT, "is too long");
		else
			rc = take_line(line, device_bytes, to, e);
		if (rc != 0)
			err_ctx(e, "%s: line %u", path, n);
	}
	if (rc == 0 && ferror(f))
		rc = err_os(e, "%s", path);
	rangeset_seal(to);
	return rc;
}

int
lines_read(const char *path, uint64_t device_bytes, struct rangeset *to, struct err *e)
{
	int fd = readable_open(path, e);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && f == NULL) {
		err_os(e, "%s", path);
		close(fd);
	}
	if (f == NULL)
		return -1;
	int rc = read_lines(f, path, device_bytes, to, e);
	fclose(f);
	return rc;
}
