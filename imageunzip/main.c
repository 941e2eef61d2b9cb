/* main.c: imageunzip installs an image on a disk, on a partition, in a file or into
 * a pipe. main() runs in the first thread; the installation has threads of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/say.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/read/image_view.h"
#include "common/image/read/sectors.h"
#include "common/layout/fitplan.h"
#include "common/net/web/http.h"
#include "emustore/store/store_disk.h"
#include "imageunzip/cli/install_opts.h"
#include "imageunzip/dry.h"
#include "imageunzip/install/install_from.h"
#include "imageunzip/install/install_sink.h"
#include "imageunzip/raw.h"
#include "imageunzip/report.h"
#include "imageunzip/run.h"
#include "imageunzip/status.h"
#include "imageunzip/uuid.h"

/* Refuse a delta onto a target that does not exist, because there would be no base. */
static int
check_delta_target(const char *target, struct err *e)
{
	if (strcmp(target, "-") == 0 || access(target, F_OK) == 0 || errno != ENOENT)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is not there, and the image is a delta, which can only be installed "
	    "on the disk or file that its base was installed on; imagedelta --onto "
	    "makes a whole image of both",
	    target);
}

static void
feeding_begins(void *arg, uint64_t sectors)
{
	struct run *r = arg;

	progress_begin(&r->progress, "imageunzip", sectors * SECTOR_BYTES,
	    r->o->progress_fd == UINT64_MAX ? -1 : (int)r->o->progress_fd,
	    r->o->quiet || r->o->dots || r->o->gb_dots);
}

static int
chunks_fed(void *arg, uint32_t chunks, struct err *e)
{
	struct run *r = arg;

	(void)e; /* only a warning */
	r->fed = chunks;
	progress_at(&r->progress, install_bytes_covered(r->install));
	report_dots(r);
	return 0;
}

/* Put all chunks into the sink, and end or close it. */
static int
install_image(struct run *r, const struct survey *v, struct err *e)
{
	const struct install_from_watch watch = { feeding_begins, chunks_fed, r };
	struct sink_sum sum = { 0 };

	r->install = sink_install(&r->sink);
	int rc = install_from(&r->sink, r->image, v, &watch, e);
	bool put = rc == 0;

	if (put)
		rc = sink_end(&r->sink, &sum, e);
	/* Errors of the installation itself do not name the image yet. */
	if (sink_close(&r->sink, &sum, e) || (put && rc != 0))
		err_ctx(e, "%s", image_name(r->image));
	if (rc != 0 && !r->o->crc_only)
		sink_add_left(sum.left, e);
	progress_end(&r->progress, rc == 0 ? sum.bytes_covered : 0);
	if (r->o->dots || r->o->gb_dots)
		say_text(stderr, "\n");
	return rc;
}

/* The stream for -C: it computes the CRC-32 of what is written. */
static ssize_t
crc_write(void *ctx, const void *buf, size_t len, uint64_t off)
{
	uLong *crc = ctx;

	(void)off;
	*crc = crc32_z(*crc, buf, len);
	return (ssize_t)len;
}

static int
open_target(struct run *r, struct install_sink_config *cfg, struct err *e)
{
	static const struct disk_ops crc_ops = { .pwrite = crc_write };

	if (r->o->crc_only && disk_open_ops(&cfg->disk, "checksum", DISK_STREAM, UINT64_MAX,
				  &crc_ops, &r->crc, e) != 0)
		return -1;
	return sink_to_install(&r->sink, cfg, e);
}

/* Configure the installation of a delta: a file keeps what the base stored in it. */
static int
settle_delta(const struct ext *first, struct install_config *cfg, const char *target,
    struct err *e)
{
	if (!ext_is_delta(first))
		return 0;
	cfg->resize = !cfg->in_place && cfg->slice == 0 && cfg->only.n == 0 && cfg->fit == NULL;
	cfg->in_place = true;
	return check_delta_target(target, e);
}

/* Is the image in a file of this machine, or in a pipe? */
static bool
is_here(const struct opts *o, const char *name)
{
	return o->store == NULL && !http_is(name);
}

/* Open the file of an image that is in a store or on a web server. */
static int
open_elsewhere(struct disk **out, const struct opts *o, const char *name, struct err *e)
{
	return o->store != NULL ? store_disk_open(out, o->store, name, NULL, e)
	                        : http_open(out, name, e);
}

static int
open_image(struct image **out, const struct opts *o, const char *name,
    struct opener *opener, struct err *e)
{
	struct disk *d;

	if (is_here(o, name))
		return image_open_proved(out, name, opener, e);
	if (open_elsewhere(&d, o, name, e) != 0)
		return -1;
	return image_open_disk(out, d, opener, e);
}

static int
open_stored(struct sectors **out, const struct opts *o, const char *name,
    struct opener *opener, struct err *e)
{
	struct disk *d;

	if (is_here(o, name))
		return sectors_open_proved(out, name, opener, e);
	if (open_elsewhere(&d, o, name, e) != 0)
		return -1;
	return sectors_open_disk(out, d, opener, e);
}

/* Is a system suspended on the image's disk?  The image is opened once more, to be read by
 * sector; what cannot be read shows when it is installed. */
static bool
is_suspended(void *arg, char where[BEHIND_WHERE_CAP])
{
	const struct run *r = arg;
	struct sectors *data;
	struct image_view v;
	struct ptable t;
	struct disk *d = NULL;
	struct err ignored;
	bool is = false;

	if (open_stored(&data, r->o, r->name, r->opener, &ignored) != 0)
		return false;
	if (image_view_open(&d, &v, data, &ignored) == 0 && ptable_read(&t, d, &ignored) == 0) {
		is = behind_suspended(d, &t, where);
		ptable_free(&t);
	}
	disk_close(d, &ignored);
	sectors_close(data);
	return is;
}

/* What an image in a file is asked before it is installed. */
static void
can_look(struct run *r, struct install_config *cfg)
{
	if (image_seekable(r->image)) {
		cfg->suspended = is_suspended;
		cfg->suspended_arg = r;
	}
}

static int
install_onto(struct run *r, const struct survey *v, const char *target, struct err *e)
{
	struct install_stats s = { 0 };
	struct install_sink_config cfg = { .install = r->o->install,
		.target = target,
		.stats = &s };
	uint64_t started = clock_us();

	r->crc = crc32(0, NULL, 0);
	install_tells_user(&cfg.install, r->o->quiet);
	can_look(r, &cfg.install);
	if (settle_delta(&v->first, &cfg.install, target, e) != 0 ||
	    open_target(r, &cfg, e) != 0 || install_image(r, v, e) != 0)
		return -1;
	if (r->o->crc_only && !r->o->json)
		say_text(stdout, "%08lx\n", r->crc);
	int rc = imageunzip_summary(r, &s, (double)(clock_us() - started) / 1e6, e);
	lost_free(&s.lost);
	return rc;
}

static int
install_target(struct run *r, const char *target, struct err *e)
{
	struct survey v;

	if (r->o->install.state != NULL && !image_seekable(r->image))
		return err_set(e, ERR_USAGE, "--state needs an image that is a file");
	if (survey_image(&v, r->image, e) != 0)
		return -1;
	int rc = install_onto(r, &v, target, e);
	survey_free(&v);
	return rc;
}

/* Rehearse; `data` is the image, to be read by sector. */
static int
rehearse_onto(struct run *r, const struct survey *v, const char *target,
    struct sectors *data, struct err *e)
{
	const struct rehearsal_source source = { dry_read, data, v->total_sectors,
		v->needed_sectors };
	struct install_config cfg = r->o->install;
	struct rehearsal_found found = { .nparts = 0 };

	install_tells_user(&cfg, r->o->quiet);
	if (!r->o->quiet)
		cfg.say = dry_say;
	if (settle_delta(&v->first, &cfg, target, e) != 0 ||
	    sink_to_rehearsal(&r->sink, &cfg, target, &source, &found, e) != 0)
		return -1;
	int rc = install_image(r, v, e);
	if (rc == 0)
		rc = dry_report(r, target, &found, e);
	rehearsal_found_free(&found);
	return rc;
}

/* Do a --dry-run. The image is opened a second time, to be read by sector. */
static int
rehearse(struct run *r, const char *name, const char *target, struct opener *opener,
    struct err *e)
{
	struct sectors *data = NULL;
	struct survey v;
	struct err why;

	if (!image_seekable(r->image))
		return err_set(
		    e, ERR_USAGE, "--dry-run needs an image that is a file");
	if (survey_image(&v, r->image, e) != 0)
		return -1;
	/* An image that cannot be read by sector can be installed anyway. */
	if (open_stored(&data, r->o, name, opener, &why) != 0)
		data = NULL;
	int rc = rehearse_onto(r, &v, target, data, e);
	survey_free(&v);
	sectors_close(data);
	return rc;
}

static int
show_plan(const struct fitplan *p, const struct run *r, struct err *e)
{
	struct json *j;

	if (!r->o->json) {
		fitplan_print(p);
		return 0;
	}
	j = json_new();
	json_object(j, NULL);
	fitplan_json(p, j);
	json_end(j);
	return json_show_on(j, r->report, e);
}

/* Find out the plan of --fit, and print it: --plan. */
static int
find_plan(struct run *r, const char *target, struct err *e)
{
	static const struct rehearsal_source nothing = { .read = dry_read };
	struct rehearsal_found found = { .nparts = 0 };
	struct install_config cfg = r->o->install;
	bool *wanted = NULL;
	uint64_t sectors;

	install_tells_user(&cfg, true);
	can_look(r, &cfg);
	if (!image_seekable(r->image))
		return err_set(e, ERR_USAGE, "--plan needs an image that is a file");
	if (cfg.fit == NULL)
		cfg.fit = "";
	if (sink_to_rehearsal(&r->sink, &cfg, target, &nothing, &found, e) != 0)
		return -1;
	struct install *in = sink_install(&r->sink);
	install_read_from(in, r->image);
	int rc = install_choose(in, &wanted, &sectors, e);
	if (rc == 0)
		rc = show_plan(install_plan(in), r, e);
	free(wanted);
	struct err why = *e;
	sink_close(&r->sink, NULL, &why);
	rehearsal_found_free(&found);
	return rc;
}

static int
unzip(const struct opts *o, const char *image, const char *target, struct err *e)
{
	struct run r = { .o = o,
		.name = image,
		.report = o->crc_only || o->dry_run || o->plan ? stdout : output_report(target) };
	struct opener *opener;

	if (is_here(o, image) && output_is_input(target, image))
		return err_set(e, ERR_USAGE, "%s: is the image itself", target);
	if (opener_new(&opener, &o->install.opener, e) != 0)
		return -1;
	r.opener = opener;
	int rc = open_image(&r.image, o, image, opener, e);
	if (rc == 0) {
		rc = uuid_check(&r, e);
		if (rc == 0)
			rc = o->plan      ? find_plan(&r, target, e)
			     : o->dry_run ? rehearse(&r, image, target, opener, e)
			     : o->raw_chunks ? raw_copy(&r, target, e)
			                     : install_target(&r, target, e);
		image_close(r.image);
	}
	opener_free(opener);
	if (rc != 0)
		kind_note_swapped(target, "target", e);
	return rc;
}

/* Check the operands and options, and do what they ask for. */
static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	const char *target = n == 2 ? operands[1] : "-";

	if (o->status)
		return cli_operands(operands, n, 1, 1, "--status takes one disk", e) == 0
		           ? status_show(o, operands[0], e)
		           : -1;
	if (o->dry_run && (o->crc_only || o->raw_chunks))
		return err_misuse(e, "--dry-run describes an installation and cannot "
				     "be used with -C or -N");
	if (o->plan && (n != 2 || o->dry_run || o->crc_only || o->raw_chunks))
		return err_misuse(e, "--plan needs the image and its target, and cannot be "
				     "used with --dry-run, -C or -N");
	if (o->dry_run && n < 2)
		return err_misuse(e, "--dry-run needs the image and its target");
	if (cli_operands(operands, n, 1, o->crc_only ? 1 : 2,
		o->crc_only ? "an image is needed, with -C no target"
			    : "an image and a target are needed", e) != 0)
		return -1;
	if (o->crc_only && o->raw_chunks)
		return err_misuse(e, "-C is a checksum of the installed disk and cannot be "
				     "used with -N");
	if (o->crc_only && o->install.only.n > 0)
		return err_misuse(e, "-C is a checksum of the whole disk and cannot be "
				     "used with --only");
	if (o->raw_chunks && install_check_raw(&o->install, e) != 0)
		return -1;
	return unzip(o, operands[0], target, e);
}

int
main(int argc, char **argv)
{
	struct opts o = { .progress_fd = UINT64_MAX,
		.install = { .state_s = INSTALL_STATE_S } };

	return cli_main(&imageunzip_program, argc, argv, &o, act);
}
