#include "imageunzip/raw.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/cli/cli_guard.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/image/format/format.h"
#include "common/image/format/kind.h"

static void
tidy(void *new_file)
{
	output_remove(new_file);
}

/* -N: the chunks as they are, checked on their way. */
int
raw_copy(struct run *r, const char *target, struct err *e)
{
	struct disk *d;
	struct err closing;
	uint64_t at = 0;
	int rc = 0;
	void *buf = malloc(NDZ_CHUNK_BYTES);

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	if (output_check_replace(target, &kind_image, r->o->install.force, e) != 0 ||
	    disk_open(&d, target,
		DISK_WRITE | DISK_CREATE | DISK_TRUNC |
		    (r->o->install.force ? DISK_FORCE : 0),
		e) != 0) {
		free(buf);
		return -1;
	}
	bool remove = disk_kind(d) == DISK_FILE && strcmp(target, "-") != 0;
	cli_guard_set(remove ? tidy : NULL, (void *)(uintptr_t)target);
	while ((rc = image_next(r->image, buf, NULL, e)) == 1) {
		rc = disk_write(d, buf, NDZ_CHUNK_BYTES, at, e);
		at += NDZ_CHUNK_BYTES;
		if (rc != 0 || (rc = cancel_check(e)) != 0)
			break;
	}
	if (rc == 0)
		rc = disk_sync(d, e);
	if (disk_close(d, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	cli_guard_set(NULL, NULL);
	if (rc != 0 && remove)
		output_remove(target);
	free(buf);
	return rc;
}
