/* main.c: imagehash makes signatures of images, and compares disks with images.
 * main() and all that it calls run in the first thread. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/say.h"
#include "common/cli/failure.h"
#include "common/cli/progress.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/format/reloc.h"
#include "common/image/write/sigimage.h"
#include "tools/imagehash/compare.h"
#include "tools/imagehash/fitted.h"
#include "tools/imagehash/options.h"
#include "tools/imagehash/report.h"

/* What fix() needs to change data as an installation into a partition does, and to say how far it
 * is. */
struct fixer {
	struct sectors *image;
	struct range slice; /* sectors of the disk: the partition; empty: nothing is changed */
	struct progress bar;
	uint64_t done_bytes;
};

/* fix() of sig_of_image(): apply the relocations of sectors r to their data. */
static int
fix(void *arg, struct range r, void *data, struct err *e)
{
	struct fixer *f = arg;
	size_t n;
	const struct ndz_reloc *x = sectors_relocs(f->image, &n);

	f->done_bytes += r.len * SECTOR_BYTES;
	progress_at(&f->bar, f->done_bytes);
	if (f->slice.len == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (x[i].sector < r.off || x[i].sector >= range_end(r) ||
		    !reloc_changes(&x[i], f->slice))
			continue;
		size_t at = (size_t)(x[i].sector - r.off) * SECTOR_BYTES + x[i].offset;
		size_t bytes = r.len * SECTOR_BYTES;
		if (at > bytes || reloc_apply(&x[i], f->slice, (uint8_t *)data + at,
				      bytes - at, e) != 0)
			return at > bytes ? err_set(e, ERR_FORMAT,
						"a relocation reaches beyond the end "
						"of its sector")
			                  : -1;
	}
	return 0;
}

/* The first sector of a whole disk's image is none of a partition's. */
static int
check_part(const struct sectors *image, const struct options *o, struct err *e)
{
	if (!ext_is_partitioned(sectors_ext(image)))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: is the image of a whole disk, and -s compares the image of a partition: "
	    "without -s, the sectors that differ in partition %" PRIu64 " are listed with "
	    "all others (with --fit, if the disk has it at another place)",
	    o->image, o->slice);
}

/* Make the signature, with this hash and size of blocks, of the image as it would be
 * after an installation onto the target t (NULL: as it is stored).  In a partition,
 * relocations are applied.  The tail counts only on a whole disk that is as large as
 * the one that the tail comes from. */
static int
hash_image(struct sig *s, const struct options *o, enum sig_hash hash,
    uint64_t block_sectors, const struct target *t, struct err *e)
{
	bool part = t != NULL && o->slice != 0;
	struct fixer f = { 0 };

	if (sectors_open(&f.image, o->image, e) != 0)
		return -1;
	if (part)
		f.slice = t->slice;
	int rc = part ? check_part(f.image, o, e) : 0;
	if (rc == 0 && t != NULL &&
	    (part || t->slice.len != sectors_ext(f.image)->tail.disk_sectors))
		rc = sectors_drop_tail(f.image, e);
	progress_begin(&f.bar, "imagehash",
	    rangeset_total(sectors_stored(f.image)) * SECTOR_BYTES, -1, o->quiet || o->json);
	if (rc == 0)
		rc = sig_of_image(s, f.image, hash, (uint32_t)block_sectors, fix, &f, e);
	progress_end(&f.bar, 0);
	sectors_close(f.image);
	return rc;
}

/* Read the signature file o->image, or make the signature of the image of that name. */
static int
get_signature(
    struct sig *s, const struct options *o, const struct target *t, struct err *e)
{
	int is = sig_is_file(o->image, e);

	if (is < 0)
		return -1;
	return is == 1 ? sig_read(s, o->image, e)
	               : hash_image(s, o, o->hash, o->block_bytes / SECTOR_BYTES, t, e);
}

static int
create(const struct options *o, const char *path, struct err *e)
{
	struct sig s = { 0 };
	int rc = output_check_input(path, o->image, e);

	if (rc == 0)
		rc = output_check_replace(path, &kind_signature, o->force, e);
	if (rc == 0)
		rc = hash_image(&s, o, o->hash, o->block_bytes / SECTOR_BYTES, NULL, e);
	if (rc == 0)
		rc = sig_write(&s, path, o->image, o->force, e);
	sig_free(&s);
	return rc;
}

static int
report(const struct options *o, struct err *e)
{
	struct sig s = { 0 };
	int rc = get_signature(&s, o, NULL, e);

	if (rc == 0)
		rc = imagehash_signature(o, &s, e);
	sig_free(&s);
	return rc;
}

/* ERR_FORMAT unless both signatures have the same sectors and hashes. */
static int
check_same(
    const struct sig *file, const struct sig *image, const char *path, struct err *e)
{
	uint32_t sector;

	if (sig_is_same(file, image, &sector))
		return 0;
	if (file->n == 0)
		return err_set(e, ERR_FORMAT,
		    "%s: has no record of any block, so it is not the signature of the "
		    "image",
		    path);
	return err_set(e, ERR_FORMAT,
	    "%s: is not the signature of the image: both differ from sector %u on", path, sector);
}

static int
check_image(const struct options *o, const char *path, struct err *e)
{
	struct sig file = { 0 }, image = { 0 };
	int rc = sig_read(&file, path, e);

	if (rc == 0)
		rc = hash_image(&image, o, file.hash, file.block_sectors, NULL, e);
	if (rc == 0)
		rc = check_same(&file, &image, path, e);
	sig_free(&file);
	sig_free(&image);
	return rc;
}

static int
sanity(const struct options *o, const char *path, struct err *e)
{
	struct sig s = { 0 };
	int is = sig_is_file(o->image, e);

	if (is < 0)
		return -1;
	int rc = is == 0 ? check_image(o, path, e) : sig_read(&s, o->image, e);
	sig_free(&s);
	if (rc == 0 && o->json)
		return failure_none_show(e);
	if (rc == 0 && !o->quiet)
		say_text(stdout, "%s: %s\n", o->image,
		    is == 1 ? "the signature is consistent"
			    : "the signature file belongs to this image");
	return rc;
}

/* -c and -S, with the name of the signature file. */
static int
with_file(const struct options *o, struct err *e)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s", o->sig != NULL ? o->sig : o->image,
		o->sig != NULL ? "" : ".sig") < 0)
		return err_nomem(e, "a name");
	int rc = o->create ? create(o, path, e) : sanity(o, path, e);
	free(path);
	return rc;
}

static uint64_t
bytes_of(const struct sig *s)
{
	uint64_t sectors = 0;

	for (size_t i = 0; i < s->n; i++)
		sectors += s->records[i].count;
	return sectors * SECTOR_BYTES;
}

static int
compare_records(struct target *t, const struct sig *s, const struct options *o,
    struct difference *d, struct err *e)
{
	struct progress bar;

	progress_begin(&bar, "imagehash", bytes_of(s), -1, o->quiet || o->json);
	for (size_t i = 0; i < s->n; i++) {
		const struct sig_record *r = &s->records[i];
		int rc = target_differs(t, s, r, e);
		if (rc < 0 || cancel_check(e) != 0)
			return -1;
		d->blocks++;
		d->sectors += r->count;
		struct range sectors = { r->start, r->count };
		if (rc > 0 && difference_add(d, sectors, o->merge, e) != 0)
			return -1;
		progress_at(&bar, d->sectors * SECTOR_BYTES);
	}
	progress_end(&bar, 0);
	return 0;
}

/* Compare the disk with the signature, and report.  Returns 0, EXIT_DIFFERS or -1. */
static int
compare(const struct options *o, struct err *e)
{
	struct difference d = { 0 };
	struct fitted *fitted = NULL;
	struct target t;
	struct sig s = { 0 };

	if (compare_open(&t, o->disk, o->slice, o->any_length, e) != 0)
		return -1;
	int rc = o->fit ? fitted_open(&fitted, &t, o->image, e) : 0;
	if (rc == 0)
		rc = get_signature(&s, o, &t, e);
	if (rc != 0)
		kind_note_swapped(o->disk, "disk", e);
	/* Some programs write signatures without a record. */
	if (rc == 0 && s.n == 0)
		rc = err_set(e, ERR_REFUSED,
		    "%s: has no record of any block, so nothing was compared", o->image);
	if (rc == 0)
		rc = compare_records(&t, &s, o, &d, e);
	if (rc == 0)
		rc = report_difference(o, &s, &d, e);
	if (rc == 0 && d.different_blocks > 0)
		rc = EXIT_DIFFERS;
	difference_free(&d);
	sig_free(&s);
	fitted_close(fitted, &t);
	compare_close(&t);
	return rc;
}

static int
run(void *opts, char **operands, int n, struct err *e)
{
	struct options *o = opts;

	if (imagehash_settle(o, operands, n, e) != 0)
		return -1;
	if (o->report)
		return report(o, e);
	return o->create || o->sanity ? with_file(o, e) : compare(o, e);
}

int
main(int argc, char **argv)
{
	struct options o = { .hash = SIG_SHA1,
		.block_bytes = (uint64_t)SIG_BLOCK_SECTORS * SECTOR_BYTES };

	return cli_main(&imagehash_program, argc, argv, &o, run);
}
