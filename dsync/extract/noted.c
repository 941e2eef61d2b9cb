/* noted.c: reads and writes the lists of ranges that lie beside a file of states.  extract.c calls
 * this, in one thread. */
#include "dsync/extract/noted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/disk/output.h"
#include "dsync/change/lines.h"

enum { MARK_BYTES = 12 /* of a title: by these a list is known */ };

static const struct list {
	const char *suffix, *title;
} lists[] = {
	[NOTED_UNSENT] = { "unsent", "# never sent: first sector and count\n" },
	[NOTED_DIFFERS] = { "differs", "# the copy differs: first sector and count\n" },
};

static char *
name_file(const char *state_path, enum noted what, struct err *e)
{
	char *path;

	if (asprintf(&path, "%s.%s", state_path, lists[what].suffix) >= 0)
		return path;
	err_nomem(e, state_path);
	return NULL;
}

int
noted_read(const char *state_path, enum noted what, uint64_t device_bytes, struct rangeset *to,
    struct err *e)
{
	char *path = name_file(state_path, what, e);
	int rc = path != NULL ? 0 : -1;

	if (rc == 0 && (access(path, F_OK) == 0 || errno != ENOENT))
		rc = lines_read(path, device_bytes, to, e);
	rangeset_seal(to);
	rangeset_clip(to, 0, device_bytes); /* the last sector may be short */
	free(path);
	return rc;
}

static bool
begins_as_ours(const uint8_t *head)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (memcmp(head, lists[i].title, MARK_BYTES) == 0)
			return true;
	return false;
}

static int
write_lines(struct output *o, const char *title, const struct rangeset *bytes, struct err *e)
{
	char line[60];
	int rc = output_write(o, title, strlen(title), e);

	for (size_t i = 0; rc == 0 && i < rangeset_count(bytes); i++) {
		struct range r = rangeset_get(bytes, i);
		int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 "\n",
		    r.off / SECTOR_BYTES, (r.len + SECTOR_BYTES - 1) / SECTOR_BYTES);
		rc = output_write(o, line, (size_t)n, e);
	}
	return rc;
}

static int
write_file(const char *path, const char *title, const struct rangeset *bytes, struct err *e)
{
	static const struct output_kind kind = { "a list of dsync", MARK_BYTES, begins_as_ours };
	struct output o;

	if (output_open(&o, path, &kind, false, e) != 0)
		return -1;
	if (write_lines(&o, title, bytes, e) == 0)
		return output_commit(&o, false, e);
	output_abort(&o);
	return -1;
}

int
noted_write(const char *state_path, enum noted what, const struct rangeset *bytes, struct err *e)
{
	char *path = name_file(state_path, what, e);
	int rc = path != NULL ? 0 : -1;

	if (rc == 0 && rangeset_count(bytes) > 0)
		rc = write_file(path, lists[what].title, bytes, e);
	else if (rc == 0 && unlink(path) != 0 && errno != ENOENT)
		rc = err_os(e, "%s", path);
	free(path);
	return rc;
}
