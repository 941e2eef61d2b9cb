/* imageunzip: put an image onto a disk, a partition, a file or a pipe. */
#include <stdio.h>

#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/ndz/tiling.h"
#include "common/store/store_disk.h"
#include "imageunzip/feed.h"
#include "imageunzip/raw.h"
#include "imageunzip/report.h"
#include "imageunzip/run.h"
#include "imageunzip/status.h"
#include "imageunzip/uuid.h"

static void
warn(const char *sentence)
{
	fprintf(stderr, "imageunzip: warning: %s\n", sentence);
}

static void
say(const char *sentence)
{
	fprintf(stderr, "imageunzip: %s\n", sentence);
}

/* The size of the installed disk and its last used sector, where the headers
 * can be looked at first. */
static int
survey(struct image *img, uint64_t *total, uint64_t *needed, struct err *e)
{
	struct tiling tiling;
	struct ndz_header h;
	struct range gap;
	int rc = 0;

	*total = *needed = 0;
	tiling_init(&tiling);
	for (uint32_t i = 0; image_seekable(img) && i < image_chunks(img) && rc == 0;
	     i++) {
		rc = image_header(img, i, &h, e);
		if (rc != 0)
			break; /* it names the file and the chunk */
		uint64_t end = range_end(h.regions[h.nregions - 1]);
		*needed = end > *needed ? end : *needed;
		*total = h.lastsect > *total ? h.lastsect : *total;
		rc = tiling_add(&tiling, i, &h, e);
	}
	if (rc == 0 && tiling_check(&tiling, &gap, e) != 0)
		rc = err_ctx(e, "%s", image_name(img));
	tiling_free(&tiling);
	return rc;
}

/* After install_open*(): feed, and end it one way or the other. */
static int
install_image(struct run *r, uint64_t total, uint64_t needed, struct install_stats *s,
    struct err *e)
{
	int rc = install_check_fit(r->install, needed, e);

	install_expect(r->install, image_chunks(r->image));

	progress_begin(&r->progress, "imageunzip", total * SECTOR_BYTES,
	    r->o->progress_fd == UINT64_MAX ? -1 : (int)r->o->progress_fd,
	    r->o->quiet || r->o->dots || r->o->gb_dots);
	if (rc == 0)
		rc = feed_all(r, e);
	if (rc != 0 && !install_failed(r->install)) {
		install_abort(r->install);
	} else {
		rc = install_finish(r->install, s, e);
		if (rc != 0)
			err_ctx(e, "%s", image_name(r->image));
	}
	progress_end(&r->progress, rc == 0 ? s->bytes_covered : 0);
	if (r->o->dots || r->o->gb_dots)
		fputc('\n', stderr);
	return rc;
}

/* -C: a stream that adds up what passes. */
static ssize_t
crc_write(void *ctx, const void *buf, size_t len, uint64_t off)
{
	uLong *crc = ctx;

	(void)off;
	*crc = crc32_z(*crc, buf, len);
	return (ssize_t)len;
}

static int
open_target(
    struct run *r, const struct install_config *cfg, const char *target, struct err *e)
{
	static const struct disk_ops crc_ops = { .pwrite = crc_write };
	struct disk *d;

	if (!r->o->crc_only)
		return install_open(&r->install, cfg, target, e);
	if (disk_open_ops(
		&d, "checksum", DISK_STREAM, UINT64_MAX, &crc_ops, &r->crc, e) != 0)
		return -1;
	return install_open_disk(&r->install, cfg, d, false, e);
}

static int
install_target(struct run *r, const char *target, struct err *e)
{
	struct install_config cfg = r->o->install;
	struct install_stats s = { 0 };
	uint64_t total, needed, started = clock_us();

	r->crc = crc32(0, NULL, 0);
	cfg.warn = warn;
	cfg.say = r->o->quiet ? NULL : say;
	if (cfg.state != NULL && !image_seekable(r->image))
		return err_set(e, ERR_USAGE, "--state needs an image that is a file");
	int delta = image_is_delta(r->image, e);
	if (delta < 0)
		return -1;
	/* What the base left in a file must stay there. */
	cfg.resize = delta == 1 && !cfg.in_place && cfg.slice == 0;
	cfg.in_place |= delta == 1;
	if (survey(r->image, &total, &needed, e) != 0 ||
	    open_target(r, &cfg, target, e) != 0 ||
	    install_image(r, total, needed, &s, e) != 0)
		return -1;
	if (r->o->crc_only && !r->o->json)
		printf("%08lx\n", r->crc);
	int rc = report_summary(r, &s, (double)(clock_us() - started) / 1e6, e);
	lost_free(&s.lost);
	return rc;
}

static int
open_image(struct image **out, const struct opts *o, const char *name,
    struct proof *proof, struct err *e)
{
	struct disk *d;

	if (o->store == NULL)
		return image_open_proved(out, name, proof, e);
	if (store_disk_open(&d, o->store, name, NULL, e) != 0)
		return -1;
	return image_open_disk(out, d, proof, e);
}

static int
unzip(const struct opts *o, const char *image, const char *target, struct err *e)
{
	struct run r = { .o = o,
		.report = o->crc_only ? stdout : output_report(target) };
	struct proof *proof;

	if (o->store == NULL && output_is_input(target, image))
		return err_set(e, ERR_USAGE, "%s: is the image itself", target);
	if (proof_new(&proof, &o->install.proof, e) != 0)
		return -1;
	int rc = open_image(&r.image, o, image, proof, e);
	if (rc == 0) {
		rc = uuid_check(&r, e);
		if (rc == 0)
			rc = o->raw_chunks ? raw_copy(&r, target, e)
			                   : install_target(&r, target, e);
		image_close(r.image);
	}
	proof_free(proof);
	return rc;
}

/* What the operands ask for. */
static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	const char *target = n == 2 ? operands[1] : "-";

	if (o->status)
		return n == 1 ? status_show(o, operands[0], e)
		              : err_set(e, ERR_USAGE, "--status takes one disk");
	if (n < 1 || n > 2 || (o->crc_only && n > 1))
		return err_set(e, ERR_USAGE, "an image and a target are needed%s",
		    o->crc_only ? ", with -C no target" : "");
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
