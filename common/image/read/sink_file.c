/* sink_file.c: writes chunks unchanged, each to its place in a file, or one after
 * the other to a pipe.  The owner of the sink calls this, and chunks are written in
 * that thread. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/replace.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/image/read/prove.h"
#include "common/image/read/source.h"

struct file_sink {
	struct sink_file_config cfg;
	struct disk *disk; /* NULL: the sink was ended */
	bool removable;    /* the file is removed when it does not become whole */
	bool begun;        /* a write has at least begun */
	uint64_t bytes;
};

static const char *
tidy(void *path)
{
	output_remove(path);
	return sink_left_text(SINK_LEFT_NO_FILE, true);
}

static void
guard(const struct file_sink *f, const char *(*how)(void *))
{
	if (f->cfg.guard != NULL)
		f->cfg.guard(how, (void *)(uintptr_t)f->cfg.path);
}

static void
info(void *self, struct sink_info *i)
{
	const struct file_sink *f = self;

	i->in_order = disk_kind(f->disk) == DISK_STREAM;
}

static int
put(void *self, struct proved *proved, struct err *e)
{
	const struct sink_chunk *c = proved_chunk(proved);
	struct file_sink *f = self;

	f->begun = true;
	int rc = disk_write(f->disk, c->bytes, c->length,
	    (uint64_t)c->number * SOURCE_CHUNK_BYTES, e);
	if (rc == 0)
		f->bytes += c->length;
	if (rc == 0 && f->cfg.written != NULL)
		f->cfg.written(f->cfg.arg, c->number);
	proved_free(proved);
	return rc;
}

/* Closes the file, and removes a new one that is not whole. */
static int
close_file(struct file_sink *f, bool whole, struct sink_sum *sum, struct err *e)
{
	int rc = disk_close(f->disk, e);

	f->disk = NULL;
	guard(f, NULL);
	if (rc == 0 && whole)
		return 0;
	if (f->removable)
		output_remove(f->cfg.path);
	sum->left = f->removable ? SINK_LEFT_NO_FILE
	            : f->begun   ? SINK_LEFT_PART
	                         : SINK_LEFT_AS_WAS;
	return rc;
}

static int
end(void *self, struct sink_sum *sum, struct err *e)
{
	struct file_sink *f = self;
	struct err closing;
	int rc = disk_sync(f->disk, e);

	*sum = (struct sink_sum){ f->bytes, f->bytes, SINK_LEFT_UNSAID };
	if (close_file(f, rc == 0, sum, &closing) != 0 && rc == 0) {
		*e = closing;
		rc = -1;
	}
	if (rc == 0 && f->removable)
		rc = replace_sync_name(f->cfg.path, e); /* the file may be new */
	return rc;
}

static bool
close_sink(void *self, struct sink_sum *sum, struct err *why)
{
	struct file_sink *f = self;
	struct err ignored;

	(void)why; /* sink_put() has returned the sink's own error */
	if (f->disk != NULL)
		close_file(f, false, sum, &ignored);
	free(f);
	return false;
}

/* Takes the room for the whole file, so that a filesystem that is too full says so now, and not when
 * others already use what is here. */
static int
take_room(struct file_sink *f, struct err *e)
{
	if (f->cfg.room_bytes == 0 || !f->removable ||
	    fallocate(disk_fd(f->disk), FALLOC_FL_KEEP_SIZE, 0, (off_t)f->cfg.room_bytes) == 0 ||
	    (errno != ENOSPC && errno != EDQUOT && errno != EFBIG))
		return 0;
	return err_os(e, "%s: room for %" PRIu64 " bytes", f->cfg.path, f->cfg.room_bytes);
}

int
sink_to_file(struct sink *out, const struct sink_file_config *cfg, struct err *e)
{
	static const struct sink_ops ops = {
		.info = info, .put = put, .end = end, .close = close_sink
	};
	struct file_sink *f = calloc(1, sizeof *f);

	if (f == NULL)
		return err_nomem(e, cfg->path);
	f->cfg = *cfg;
	if (disk_open(&f->disk, cfg->path,
		DISK_WRITE | DISK_CREATE | DISK_TRUNC | (cfg->force ? DISK_FORCE : 0),
		e) != 0) {
		free(f);
		return -1;
	}
	f->removable = disk_kind(f->disk) == DISK_FILE && strcmp(cfg->path, "-") != 0;
	if (f->removable)
		guard(f, tidy);
	*out = (struct sink){ &ops, f };
	if (take_room(f, e) == 0)
		return 0;
	struct sink_sum none;
	close_sink(f, &none, NULL);
	return -1;
}
