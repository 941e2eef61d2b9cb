/* install_open.c: begins an installation: it opens the target and starts the threads; and
 * frees all of it at the end. install_sink.c and rehearsal.c call
 * this, in the thread that feeds chunks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/disk/inuse.h"
#include "common/disk/output.h"
#include "common/image/read/imgtable.h"
#include "imageunzip/install/fit.h"
#include "imageunzip/install/guess.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/slice_hold.h"

/* Remove a new file as drop_new_file() does, while the threads go on. A file with a state
 * stays. */
static const char *
tidy(void *arg)
{
	const struct install *in = arg;
	bool drops = in->unlink_path != NULL && in->cfg.state == NULL && !in->must_empty;

	if (drops)
		output_remove(in->unlink_path);
	return sink_left_text(install_left(in, drops), true);
}

static void
guard(const struct install *in, const char *(*how)(void *), const struct install *arg)
{
	if (in->cfg.guard != NULL)
		in->cfg.guard(how, (void *)(uintptr_t)arg);
}

static void
place_free(struct place *p)
{
	resume_close(&p->resume);
	free_space_free(&p->free_space);
	tiling_free(&p->tiling);
	gate_free(&p->gate);
}

void
install_free(struct install *in)
{
	guard(in, NULL, NULL);
	pipeline_free(in->pipe);
	ordered_free(in->work);
	install_decode_free(in);
	pool_free(in->raws);
	decoder_free(in->writer_decoder);
	for (unsigned i = 0; i < in->n; i++)
		place_free(&in->place[i]);
	lost_free(&in->lost);
	guess_free(in->guess);
	imgtable_free(in->table);
	ext_free(&in->first);
	part_search_free(in);
	fit_free(in->fit);
	free(in->place);
	free(in->unlink_path);
	free(in);
}

int
install_close(struct install *in, struct err *e)
{
	for (unsigned i = 0; i < in->n; i++)
		target_close(&in->place[i].target);
	int rc = disk_close(in->disk, e);
	if (hold_end(in->hold) != 0 && rc == 0)
		rc = err_os(e, "the partition could not be given back");
	in->disk = NULL;
	in->hold = NULL;
	return rc;
}

/* Begin a place: the whole target, or the partition of this number. */
static int
open_place(struct install *in, unsigned number, bool fresh, struct err *e)
{
	const struct install_config *cfg = &in->cfg;
	struct place *p = &in->place[in->n];

	*p = (struct place){ .in = in, .number = number, .known = number == 0 };
	if (target_init(&p->target, in->disk, cfg,
		cfg->slice != 0 ? (unsigned)cfg->slice : number, fresh, e) != 0)
		return -1;
	in->n++;
	p->resume.target = &p->target;
	state_slot_init(&p->resume.slot);
	free_space_init(&p->free_space);
	tiling_init(&p->tiling);
	p->target.free_space = &p->free_space;
	free_space_attach(&p->free_space, &p->target);
	gate_init(&p->gate, &p->target);
	return 0;
}

static int
open_places(struct install *in, bool fresh, struct err *e)
{
	const struct only_list *only = &in->cfg.only;

	in->place = calloc(ONLY_MAX, sizeof *in->place);
	if (in->place == NULL)
		return err_nomem(e, "an installation");
	if (only->n == 0)
		return open_place(in, 0, fresh, e) == 0 ? fit_begin(in, e) : -1;
	if (imgtable_new(&in->table, e) != 0)
		return -1;
	for (unsigned i = 0; i < only->n; i++)
		if (open_place(in, only->number[i], fresh, e) != 0)
			return -1;
	return 0;
}

int
install_open_disk(struct install **out, const struct install_config *cfg,
    struct disk *d, bool fresh, struct err *e)
{
	struct install *in = calloc(1, sizeof *in);
	struct err ignored;

	if (in == NULL) {
		disk_close(d, &ignored);
		return err_nomem(e, "an installation");
	}
	in->cfg = *cfg;
	in->disk = d;
	in->is_stream = disk_kind(d) == DISK_STREAM;
	/* A stream must be written in order. */
	if (in->is_stream)
		in->cfg.no_writer = false;
	if (target_check_options(cfg, e) != 0 || open_places(in, fresh, e) != 0 ||
	    install_threads_start(in, e) != 0) {
		(void)install_close(in, &ignored);
		install_free(in);
		return -1;
	}
	*out = in;
	return 0;
}

static unsigned
open_flags(const struct install_config *cfg, const char *path, bool whole, bool held)
{
	unsigned flags = DISK_WRITE;

	if (strcmp(path, "-") != 0)
		flags |= DISK_READ;
	if (whole)
		flags |= DISK_CREATE;
	if (held)
		flags |= DISK_HELD;
	return cfg->force ? flags | DISK_FORCE : flags;
}

bool
install_makes_file(const struct install_config *cfg, const char *path)
{
	struct stat st;

	if (cfg->slice != 0 || cfg->only.n > 0 || cfg->in_place || cfg->skip_same)
		return false;
	/* With these options, the table is adapted to an existing file, so the file is
	 * not replaced. */
	return !(cfg->fix_gpt || cfg->grow || cfg->fit != NULL) || stat(path, &st) != 0 ||
	       !S_ISREG(st.st_mode) || st.st_size == 0;
}

static void
warn_unseen(const struct install_config *cfg, const char *path)
{
	char text[INUSE_UNSEEN_BYTES];

	if (cfg->warn != NULL)
		cfg->warn(inuse_unseen_text(path, text));
}

/* hold: of the partitions that are installed to, or NULL. */
static int
open_held(struct install **out, const struct install_config *cfg, const char *path,
    struct disk_hold *hold, struct err *e)
{
	bool whole = install_makes_file(cfg, path);
	bool to_stdout = strcmp(path, "-") == 0;
	struct disk *d;

	if (disk_open(&d, path, open_flags(cfg, path, whole, hold != NULL), e) != 0)
		return -1;
	if (disk_unseen(d) || hold_unseen(hold))
		warn_unseen(cfg, path);
	bool fresh = whole && disk_kind(d) == DISK_FILE;
	uint64_t held_bytes = fresh ? disk_size_bytes(d) : 0;
	bool holds_data = held_bytes > 0;
	char *unlink_path = fresh && !to_stdout ? strdup(path) : NULL;
	if (install_open_disk(out, cfg, d, fresh, e) != 0) {
		if (unlink_path != NULL && !holds_data)
			output_remove(unlink_path);
		free(unlink_path);
		return -1;
	}
	struct install *in = *out;
	in->unlink_path = unlink_path;
	in->holds_data = holds_data;
	in->held_bytes = held_bytes;
	in->hold = hold;
	for (unsigned i = 0; i < in->n; i++)
		in->place[i].target.hold = hold;
	return 0;
}

/* A new file has no partition. */
static int
check_has_parts(const struct install_config *cfg, const char *path, struct err *e)
{
	if ((cfg->slice == 0 && cfg->only.n == 0) || access(path, F_OK) == 0 ||
	    errno != ENOENT || strcmp(path, "-") == 0)
		return 0;
	return err_os(e,
	    "%s: %s installs into a partition of a disk that is there (streamdisk --ro "
	    "--partition shows a partition of an image as a file)",
	    path, cfg->slice != 0 ? "-s" : "--only");
}

static int
open_target(struct install **out, const struct install_config *cfg, const char *path,
    struct err *e)
{
	struct disk_hold *hold;

	if (target_check_options(cfg, e) != 0)
		return -1;
	if (cfg->only.n > 0 && strcmp(path, "-") == 0)
		return err_set(e, ERR_USAGE,
		    "--only installs into a partition of a disk, and a pipe has none");
	if (check_has_parts(cfg, path, e) != 0 || slice_hold(&hold, path, cfg, e) != 0)
		return -1;
	if (open_held(out, cfg, path, hold, e) == 0)
		return 0;
	hold_end(hold);
	return -1;
}

/* The state must be another file than the target. */
static int
check_state_file(const struct install_config *cfg, const char *target, struct err *e)
{
	struct stat a, b;

	if (cfg->state == NULL || strcmp(cfg->state, "target") == 0)
		return 0;
	if (cfg->state[0] == '\0')
		return err_set(e, ERR_USAGE, "--state needs the name of a file");
	if (strcmp(cfg->state, target) != 0 &&
	    (stat(cfg->state, &a) != 0 || stat(target, &b) != 0 ||
		a.st_dev != b.st_dev || a.st_ino != b.st_ino))
		return 0;
	return err_set(e, ERR_USAGE,
	    "%s: is the target, and cannot be the file of --state; --state=target "
	    "keeps it in free space",
	    cfg->state);
}

/* Each place continues where it stopped; a state in a file is that of the only one. */
static int
attach_states(struct install *in, const struct resume *r, struct err *e)
{
	in->place->resume.state = r->state;
	for (unsigned i = 0; i < in->n; i++) {
		in->place[i].resume.in_target = r->in_target;
		if (resume_attach(&in->place[i].resume, &in->place[i].target, e) != 0)
			return -1;
	}
	return 0;
}

/* An installation replaces a regular file by a new one (install_makes_file()); every
 * other target keeps its length. */
int
install_open(struct install **out, const struct install_config *cfg, const char *path,
    struct err *e)
{
	struct resume r;

	if (check_state_file(cfg, path, e) != 0 || resume_open(&r, cfg, e) != 0)
		return -1;
	if (open_target(out, cfg, path, e) != 0) {
		state_close(r.state);
		return -1;
	}
	struct install *in = *out;
	/* While this is set, the file is not removed as an incomplete new file. */
	in->must_empty = in->holds_data;
	if (attach_states(in, &r, e) != 0) {
		install_abort(in);
		return -1;
	}
	in->must_empty = in->holds_data && !resume_pending(&in->place->resume);
	guard(in, tidy, in);
	return 0;
}
