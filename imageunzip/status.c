/* status.c: reports whether the installation on a target is complete (--status). main.c
 * calls this in the first thread. */
#include "imageunzip/status.h"

#include <stdio.h>

#include "common/base/number.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/disk/disk.h"
#include "common/target/boot_area.h"

static int
status_json(
    const char *uuid, const struct marker *m, struct err *unfinished, struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_bool(j, "unfinished", unfinished != NULL);
	if (unfinished != NULL) {
		json_string(j, "uuid", uuid);
		json_uint(j, "started_at", m->started);
		failure_put_err(j, unfinished, err_exit_status(unfinished));
		failure_told(unfinished);
	}
	json_end(j);
	return json_show(j, e);
}

static int
print_status(const struct opts *o, const char *name, bool unfinished,
    const struct marker *m, struct err *e)
{
	char uuid[2 * NDZ_UUID_BYTES + 1], began[32];
	struct err why;

	number_hex(m->uuid, NDZ_UUID_BYTES, uuid);
	if (unfinished)
		err_set(&why, ERR_IO,
		    "%s: the installation of image %s, begun on %s, is not complete",
		    name, uuid, human_time(m->started, began, sizeof began));
	if (o->json && status_json(uuid, m, unfinished ? &why : NULL, e) != 0)
		return -1;
	if (unfinished) {
		*e = why;
		return -1;
	}
	if (!o->json && !o->quiet)
		say_text(stdout, "%s: no installation is under way\n", name);
	return 0;
}

/* --status: fails when an installation is not complete. */
int
status_show(const struct opts *o, const char *path, struct err *e)
{
	struct marker m = { .started = 0 };
	struct range area = { 0, 0 };
	struct err ignored; /* it is only read */
	const struct only_list *only = &o->install.only;
	/* With both options, --only names the partition of the image, and -s that of the disk. */
	uint64_t slice = o->install.slice != 0 || only->n == 0 ? o->install.slice
	                                                       : only->number[0];
	struct disk *d;

	if (only->n > 1)
		return err_set(
		    e, ERR_USAGE, "--status reports on one partition at a time");
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = !disk_seekable(d) ? err_set(e, ERR_UNSUPPORTED, "%s: is not a disk", path)
	                           : install_area(d, slice, &area, e);
	if (rc == 0)
		rc = marker_read(d, area.off * SECTOR_BYTES, &m, e);
	disk_close(d, &ignored);
	return rc < 0 ? -1 : print_status(o, path, rc == 1, &m, e);
}
