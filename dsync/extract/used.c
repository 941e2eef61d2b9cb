/* used.c: asks imagezip's layout which bytes of a device are used, and remembers which were never
 * sent.  extract.c and dsync's comparison call this, in one thread. */
#include "dsync/extract/used.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/disk/output.h"
#include "common/layout/layout.h"
#include "dsync/change/lines.h"

static int
in_bytes(const struct rangeset *sectors, uint64_t device_bytes, struct rangeset *to,
    struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(sectors); i++) {
		struct range r = rangeset_get(sectors, i);
		rc = rangeset_add(to,
		    range_clip((struct range){ r.off * SECTOR_BYTES, r.len * SECTOR_BYTES }, 0,
		        device_bytes),
		    e);
	}
	return rc;
}

int
used_find(struct disk *d, struct rangeset *used, struct err *e)
{
	const struct capture_what what = { .source = disk_name(d), .store_outside = true,
		.no_relocs = true };
	uint64_t bytes = disk_size_bytes(d);
	struct layout l;

	rangeset_init(used);
	if (layout_make(&l, d, &what, e) != 0)
		return -1;
	int rc = in_bytes(&l.store, bytes, used, e);
	uint64_t seen = l.total * SECTOR_BYTES;
	if (rc == 0 && seen < bytes)
		rc = rangeset_add(used, (struct range){ seen, bytes - seen }, e);
	layout_free(&l);
	rangeset_seal(used);
	if (rc != 0)
		rangeset_free(used);
	return rc;
}

static char *
name_file(const char *state_path, struct err *e)
{
	char *path;

	if (asprintf(&path, "%s.unsent", state_path) >= 0)
		return path;
	err_nomem(e, state_path);
	return NULL;
}

int
used_read_unsent(
    const char *state_path, uint64_t device_bytes, struct rangeset *unsent, struct err *e)
{
	char *path = name_file(state_path, e);
	int rc = path != NULL ? 0 : -1;

	if (rc == 0 && (access(path, F_OK) == 0 || errno != ENOENT))
		rc = lines_read(path, device_bytes, unsent, e);
	rangeset_seal(unsent);
	free(path);
	return rc;
}

static bool
begins_as_ours(const uint8_t *head)
{
	return memcmp(head, "# never sent", 12) == 0;
}

static int
write_lines(struct output *o, const struct rangeset *unsent, struct err *e)
{
	static const char title[] = "# never sent: first sector and count\n";
	char line[60];
	int rc = output_write(o, title, sizeof title - 1, e);

	for (size_t i = 0; rc == 0 && i < rangeset_count(unsent); i++) {
		struct range r = rangeset_get(unsent, i);
		int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 "\n",
		    r.off / SECTOR_BYTES, (r.len + SECTOR_BYTES - 1) / SECTOR_BYTES);
		rc = output_write(o, line, (size_t)n, e);
	}
	return rc;
}

static int
write_file(const char *path, const struct rangeset *unsent, struct err *e)
{
	static const struct output_kind kind = { "a list of dsync", 12, begins_as_ours };
	struct output o;

	if (output_open(&o, path, &kind, false, e) != 0)
		return -1;
	if (write_lines(&o, unsent, e) == 0)
		return output_commit(&o, false, e);
	output_abort(&o);
	return -1;
}

int
used_write_unsent(const char *state_path, const struct rangeset *unsent, struct err *e)
{
	char *path = name_file(state_path, e);
	int rc = path != NULL ? 0 : -1;

	if (rc == 0 && rangeset_count(unsent) > 0)
		rc = write_file(path, unsent, e);
	else if (rc == 0 && unlink(path) != 0 && errno != ENOENT)
		rc = err_os(e, "%s", path);
	free(path);
	return rc;
}
