/* main.c: imagezip stores the used part of a disk in an image. main() runs in the
 * first thread; the capture has threads of its own. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/say.h"
#include "common/cli/ask.h"
#include "common/cli/cli.h"
#include "common/cli/progress.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/layout/layout.h"
#include "imagezip/capture/capture.h"
#include "imagezip/capture/delta.h"
#include "imagezip/capture/estimate.h"
#include "imagezip/capture/readback.h"
#include "imagezip/capture/source.h"
#include "imagezip/into_store.h"
#include "imagezip/options.h"
#include "imagezip/report.h"
#include "imagezip/shrink/shrink.h"
#include "imagezip/since.h"
#include "imagezip/upload.h"

/* Write the signature to the file that -U names; the image is complete by then. */
static int
write_signature(const struct options *o, const struct sig *s, struct err *e)
{
	char *path;

	if (options_signature(o, &path, e) != 0)
		return -1;
	if (path == NULL)
		return 0;
	int rc = output_check_input(path, o->what.source, e);
	if (rc == 0)
		rc = sig_write(s, path, o->output, o->what.force, e);
	free(path);
	return rc;
}

/* Where the image goes: a file, a device, standard output, or a store. */
struct target {
	struct output out;
	struct into_store *store; /* or NULL */
	struct capture_to to;
	struct stored_as stored;
};

static int
open_target(struct target *t, const struct options *o, struct err *e)
{
	*t = (struct target){ .to.output = &t->out };
	return o->name != NULL ? into_store_open(&t->store, o->store, o->name,
				     o->what.how.jobs, &t->to, e)
	                       : output_open(&t->out, o->output, &kind_image,
				     o->what.force, e);
}

static void
abort_target(struct target *t)
{
	if (t->store == NULL)
		output_abort(&t->out);
}

static int
commit_target(struct target *t, const struct options *o, struct err *e)
{
	return t->store != NULL ? into_store_commit(t->store, &t->stored, e)
	                        : output_commit(&t->out, o->no_sync, e);
}

static int
verify_target(const struct target *t, const struct sig *stored, struct err *e)
{
	const struct output *out = &t->out;

	return disk_sync(out->disk, e) == 0
	           ? readback_check(out->partial != NULL ? out->partial : out->path, stored, e)
	           : -1;
}

/* The disk that is captured (d, with its layout l), and the source, which must not be in
 * use meanwhile. They are one disk, except with --shrink. */
struct job {
	const struct options *o;
	struct disk *source, *d;
	struct layout *source_layout, *l;
	const struct shrink_result *shrunk; /* NULL: without --shrink */
};

/* The image gets its name only when its signature is right, too, and with --verify only when it has been
 * read back. */
static int
complete(const struct job *j, struct target *t, struct delta *delta,
    struct capture_stats *s, struct err *e)
{
	const struct options *o = j->o;

	if (delta_merge(delta, &s->sig, e) != 0) {
		abort_target(t);
		return err_ctx(e, "%s", o->what.source);
	}
	if (source_check_end(j->source, j->source_layout, e) != 0) {
		abort_target(t);
		return -1;
	}
	if (o->verify && verify_target(t, &s->sig, e) != 0) {
		abort_target(t);
		return err_ctx(e, "--verify: there is no image");
	}
	if (commit_target(t, o, e) != 0)
		return -1;
	return write_signature(o, &s->sig, e);
}

static void
on_progress(void *bar, uint64_t data_bytes)
{
	progress_at(bar, data_bytes);
}

static void
on_chunk(void *arg)
{
	(void)arg;
	say_text(stderr, ".");
}

/* 0, EXIT_LOST_SECTORS with a whole image, or -1. */
static int
capture(const struct job *j, struct delta *delta, uint64_t started, struct err *e)
{
	const struct options *o = j->o;
	struct layout *l = j->l;
	struct capture_stats s;
	struct target target;
	struct progress progress;
	const struct capture_watch watch = { .progress = on_progress,
		.chunk = o->dots ? on_chunk : NULL,
		.arg = &progress };
	bool endless = l->total == UINT64_MAX;

	if (open_target(&target, o, e) != 0)
		return -1;
	progress_begin(&progress, "imagezip",
	    endless ? 0 : rangeset_total(&l->store) * SECTOR_BYTES,
	    o->progress_fd == UINT64_MAX ? -1 : (int)o->progress_fd,
	    o->quiet || o->dots);
	int rc = capture_run(j->d, l, &o->what, delta, &target.to, &watch, &s, e);
	progress_end(&progress, s.made.data_bytes);
	if (o->dots)
		say_text(stderr, "\n");
	if (rc == 0)
		rc = complete(j, &target, delta, &s, e);
	else
		abort_target(&target);
	if (rc == 0)
		rc = rangeset_union(&s.lost, &delta->lost, e);
	if (rc == 0)
		rc = imagezip_summary(o, l, &s, delta, j->shrunk,
		    target.store != NULL ? &target.stored : NULL,
		    (double)(clock_us() - started) / 1e6, e);
	into_store_close(target.store);
	report_lost(o, &s);
	if (rc == 0 && rangeset_count(&s.lost) > 0)
		rc = EXIT_LOST_SECTORS;
	rangeset_free(&s.lost);
	if (rc >= 0 && o->since_state != NULL)
		since_note(o->since_state, &s.sig);
	sig_free(&s.sig);
	return rc;
}

/* Capture, after comparing with the signature of -H. -i does not come here, since it
 * reports what a full image would hold. */
static int
capture_changes(const struct job *j, struct err *e)
{
	uint64_t started = clock_us();
	struct delta delta;

	if (delta_find(&delta, j->d, j->l, &j->o->what, e) != 0)
		return -1;
	int rc = capture(j, &delta, started, e);
	delta_free(&delta);
	return rc;
}

static int
info(const struct job *j, struct err *e)
{
	return estimate_layout(j->l, j->d, &j->o->what, e) == 0
	           ? report_layout(j->l, j->o, j->shrunk, e)
	           : -1;
}

/* An older image is replaced when nobody can be asked, or the answer is yes. */
static int
check_image_replaced(const struct options *o, struct err *e)
{
	bool pipe = strcmp(o->what.source, "-") == 0 || strcmp(o->output, "-") == 0;

	return output_check_replace(o->output, &kind_image, o->what.force, e) == 0
	           ? ask_replace(o->output, o->what.force || pipe, e)
	           : -1;
}

/* Fails when an existing file may not be replaced, before anything is read. */
static int
check_replaced(const struct options *o, struct err *e)
{
	char *sig = NULL;

	if (o->what.look_only)
		return 0;
	if ((o->output != NULL && check_image_replaced(o, e) != 0) ||
	    options_signature(o, &sig, e) != 0)
		return -1;
	int rc = sig != NULL ? output_check_replace(sig, &kind_signature, o->what.force, e)
	                     : 0;
	free(sig);
	return rc;
}

/* Fails when a file that is written is also read, or is written twice. */
static int
check_names(const struct options *o, struct err *e)
{
	bool sig = o->sig_new != NULL && o->sig_new[0] != '\0';

	if (o->what.look_only)
		return 0;
	if ((o->output != NULL && output_check_input(o->output, o->what.source, e) != 0) ||
	    (o->output != NULL && o->what.sig_old != NULL &&
		output_check_input(o->output, o->what.sig_old, e) != 0) ||
	    (sig && output_check_input(o->sig_new, o->what.source, e) != 0))
		return -1;
	if (sig && o->output != NULL && strcmp(o->sig_new, o->output) == 0)
		return err_set(e, ERR_USAGE, "-U %s: is the image's name", o->sig_new);
	return 0;
}

/* Report or capture what the layout says. */
static int
act(const struct job *j, struct err *e)
{
	const struct options *o = j->o;

	if (!o->quiet)
		report_warnings(j->l);
	if (o->debug && !o->quiet)
		report_confinement(j->l);
	return o->what.look_only ? info(j, e) : capture_changes(j, e);
}

/* Report or capture the disk as it would be if it were smaller (--shrink). */
static int
act_on_smaller(struct job j, struct err *e)
{
	struct shrink *s;
	struct layout *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, "the layout");
	/* A source that is one filesystem, by -l for example, is not searched for a
	 * partition table: its first sector may hold a remnant of one. */
	const struct shrink_how how = {
		.bare = j.source_layout->kind == EXT_KIND_PARTITION,
		.drop_end = j.o->what.skip_outside,
		.keep_gaps = j.o->what.store_gaps,
		.spare_bytes = j.o->margin_bytes
	};
	int rc = shrink_begin(&s, j.source, &how, e);
	if (rc == 0) {
		j.d = shrink_disk(s);
		j.shrunk = shrink_result(s);
		if (!j.o->quiet)
			report_shrunk(j.o, j.shrunk);
		rc = layout_make(l, j.d, &j.o->what, e);
		if (rc == 0) {
			j.l = l;
			rc = act(&j, e);
			layout_free(l);
		}
		shrink_end(s);
	}
	free(l);
	return rc;
}

static int
check_and_act(
    const struct options *o, struct disk *d, struct layout *l, struct err *e)
{
	const struct job j = {
		.o = o, .source = d, .source_layout = l, .d = d, .l = l
	};

	if (source_check_parts(d, l, &o->what, e) != 0 ||
	    source_check_use(d, l, &o->what, e) != 0)
		return -1;
	return o->shrink ? act_on_smaller(j, e) : act(&j, e);
}

static int
look_and_act(const struct options *o, struct err *e)
{
	struct disk *d;
	struct err closing;
	struct layout *l = calloc(1, sizeof *l);

	if (l == NULL)
		return err_nomem(e, "the layout");
	int rc = source_open(&d, o->what.source, e);
	if (rc == 0) {
		rc = source_check_size(d, e);
		if (rc == 0)
			rc = source_check_kind(d, &o->what, e);
		if (rc == 0)
			rc = source_check_whole(d, &o->what, e);
		if (rc == 0)
			rc = check_replaced(o, e);
		if (rc == 0)
			rc = layout_make(l, d, &o->what, e);
		if (rc == 0) {
			rc = check_and_act(o, d, l, e);
			layout_free(l);
		}
		disk_close(d, &closing); /* only read: nothing to lose */
	}
	free(l);
	return rc;
}

/* Send the image to a master server, through a connection in place of standard output. */
static int
send_to_master(const struct options *o, struct err *e)
{
	struct upload u;

	if (upload_begin(&u, o->to, o->token, e) != 0)
		return -1;
	int rc = look_and_act(o, e);
	return upload_end(&u, rc, e);
}

static int
make_image(const struct options *o, struct err *e)
{
	return o->to != NULL && o->name == NULL && !o->what.look_only
	           ? send_to_master(o, e)
	           : look_and_act(o, e);
}

/* Make an image of what has changed since the last image, as a source of change says. */
static int
make_delta(struct options *o, struct err *e)
{
	char warning[512];
	int rc = since_begin(&o->since_state, o, warning, e);

	if (rc == 0 && warning[0] != '\0')
		say_text(stderr, "imagezip: %s: %s\n", o->what.source, warning);
	if (rc == 0)
		rc = make_image(o, e);
	/* Only now has a master server said that it has taken the image. */
	if (rc >= 0 && since_keep(o->since_state, e) != 0)
		rc = err_ctx(
		    e, "the image is complete, but the next one will not be a delta to it");
	since_end(o->since_state);
	return rc;
}

static int
run(void *opts, char **operands, int n, struct err *e)
{
	struct options *o = opts;

	if (imagezip_settle(o, operands, n, e) != 0 || check_names(o, e) != 0)
		return -1;
	return o->changed_since != NULL ? make_delta(o, e) : make_image(o, e);
}

int
main(int argc, char **argv)
{
	struct options o = { .what = { .min_free = 64,
				 .retries = 3,
				 .how.codec = CODEC_DEFAULT,
				 .delta_percent = 100 },
		.progress_fd = UINT64_MAX,
		.margin_bytes = RESIZE_SPARE_DEFAULT };

	return cli_main(&imagezip_program, argc, argv, &o, run);
}
