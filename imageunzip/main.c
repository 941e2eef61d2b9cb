/* imageunzip: put an image onto a disk, a partition, a file or a pipe. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/cli_guard.h"
#include "common/base/cli_rows.h"
#include "common/base/json.h"
#include "common/base/progress.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/install/head.h"
#include "common/install/install.h"
#include "common/ndz/chunk.h"
#include "common/ndz/format.h"
#include "common/ndz/image.h"
#include "common/ndz/tiling.h"
#include "common/store/store_disk.h"

enum {
	DOT_BYTES = 1000000000,
	PLACE_SECTORS = 32, /* with less free space a chunk is not looked at */
	OFFERS_MAX = 32,    /* chunks read for the sake of it */
};

struct opts {
	struct install_config install;
	bool dots, gb_dots, raw_chunks, crc_only, quiet, json, status;
	uint64_t progress_fd; /* UINT64_MAX: the terminal */
	const char *uuid;
	const char *store;
};

/* Long-only options from 300 on. */
enum { OPT_PROGRESS = 300, OPT_JSON, OPT_STATUS, OPT_STORE };

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'p', "pattern", "N", "fill the free space with this 32-bit number", CLI_CALL,
	    AT(install), 0, 0, install_set_pattern },
	FLAG('o', "dots", "a dot for each chunk", dots),
	FLAG('O', "gb-dots", "a dot for each GB of the disk", gb_dots),
	FLAG('N', "raw-chunks", "copy the chunks themselves, undecoded", raw_chunks),
	FLAG('C', "crc", "write nothing; print the CRC-32 of the installed disk",
	    crc_only),
	{ 'u', "uuid", "HEX32", "the image must have this UUID", CLI_STR, AT(uuid), 0,
	    0, NULL },
	{ OPT_STORE, "store", "DIR", "the image is the one of that name in this store",
	    CLI_STR, AT(store), 0, 0, NULL },
	FLAG('q', "quiet", "no summary and no progress", quiet),
	FLAG(OPT_STATUS, "status", "only say whether the target is being installed",
	    status),
	FLAG(OPT_JSON, "json", "print the summary as JSON", json),
	{ OPT_PROGRESS, "progress", "FD",
	    "report progress as lines \"DONE TOTAL\" there", CLI_UINT, AT(progress_fd),
	    0, 1 << 20, NULL },
	REFUSED('r', "N", "not built yet: read retries"),
	REFUSED('I', NULL, "not built yet: pipes always get their holes as zeros"),
	REFUSED('M', "SECTOR", "not built yet: a highest sector"),
	REFUSED('E', NULL, "not built yet: discarding free space"),
	REFUSED('F', NULL, "not built yet: random order of chunks"),
	REFUSED('c', NULL, "not built yet: Emulab's signed images; see --verify-key"),
	REFUSED('a', "KEY", "not built yet: Emulab's signed images; see --verify-key"),
	REFUSED(
	    'e', "CIPHER", "not built yet: Emulab's encrypted images; see --decrypt"),
	REFUSED('k', "KEY", "not built yet: Emulab's encrypted images; see --decrypt"),
	{ 0 },
};

static const struct cli_program prog = {
	.name = "imageunzip",
	.guarded = true,
	.synopsis = "[options] image|- [target|-]",
	.about = "Install an image made by imagezip.  Every chunk is checked before it "
		 "is written.",
	.examples =
	    "  imageunzip disk.ndz /dev/sdb           a whole disk\n"
	    "  imageunzip -s 2 -D 131 root.ndz /dev/sdb   into partition 2, type "
	    "Linux\n"
	    "  imageunzip disk.ndz disk.img           a new sparse file\n"
	    "  imageunzip --store /srv/store ubuntu24:3 /dev/sdb   from a store\n"
	    "  cat disk.ndz | imageunzip - - | ...    through pipes\n"
	    "  imageunzip --verify-key lab.pub disk.ndz /dev/sdb   only if it is "
	    "signed\n"
	    "  imageunzip --status /dev/sdb           is its installation complete?\n",
	.tables = { { install_opts, AT(install), NULL },
	    { proof_opts, AT(install.proof), "Proof" }, { own_opts, 0, "Program" } },
};

struct run {
	const struct opts *o;
	struct image *image;
	struct install *install;
	struct progress progress;
	FILE *report; /* --json goes there */
	uLong crc;    /* -C */
	bool proved;  /* chunks are, whole */
	uint32_t fed, chunk_dots;
	uint64_t dotted; /* bytes that dots were printed for */
};

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

static void
print_dots(struct run *r)
{
	uint64_t covered = r->install != NULL ? install_bytes_covered(r->install) : 0;

	for (; r->o->dots && r->chunk_dots < r->fed; r->chunk_dots++)
		fputc('.', stderr);
	for (; r->o->gb_dots && covered - r->dotted >= DOT_BYTES;
	     r->dotted += DOT_BYTES)
		fputc('.', stderr);
}

static void
free_chunk(void *arg, const void *chunk)
{
	(void)arg;
	free((void *)(uintptr_t)chunk);
}

/* A chunk on its way to the installation. */
struct fetched {
	uint8_t *buf; /* or NULL */
	uint32_t number;
};

/* The next chunk: 1, 0 the end, -1. */
static int
fetch(struct run *r, struct fetched *f, struct err *e)
{
	*f = (struct fetched){ malloc(NDZ_CHUNK_BYTES), r->fed };
	if (f->buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = image_next(r->image, f->buf, NULL, e);
	r->fed += rc == 1;
	if (rc <= 0) {
		free(f->buf);
		f->buf = NULL;
	}
	return rc;
}

/* Is each what its digest says?  Two take little longer than one. */
static void
check_digests(const struct fetched f[2], bool good[2])
{
	struct chunk c[2] = { 0 };
	uint8_t digest[2][EXT_DIGEST_BYTES];
	struct err later; /* what cannot be parsed is refused when it is fed */
	bool parsed[2];

	for (unsigned i = 0; i < 2; i++)
		parsed[i] = f[i].buf != NULL &&
		            chunk_parse(&c[i], f[i].buf, &later) == 0;
	if (parsed[0] && parsed[1] && c[0].ext.has_digest && c[1].ext.has_digest) {
		ext_chunk_digests(
		    &c[0].h, f[0].buf, digest[0], &c[1].h, f[1].buf, digest[1]);
		for (unsigned i = 0; i < 2; i++)
			good[i] = memcmp(digest[i], c[i].ext.digest,
				      sizeof digest[i]) == 0;
	} else {
		for (unsigned i = 0; i < 2; i++)
			good[i] = !parsed[i] ||
			          chunk_check_digest(&c[i], f[i].buf, &later) == 0;
	}
	for (unsigned i = 0; i < 2; i++)
		if (parsed[i])
			chunk_free(&c[i]);
}

/* Gives the buffer away.  Only when the first chunk was fed it is known whether a
 * state is of this image. */
static int
feed_one(struct run *r, struct fetched *f, bool good, struct err *e)
{
	uint8_t *buf = f->buf;

	if (buf == NULL)
		return 0;
	f->buf = NULL;
	if (!good) {
		free(buf);
		return err_set(e, ERR_FORMAT,
		    "%s: chunk %u: the digest of the chunk is wrong",
		    image_name(r->image), f->number);
	}
	int rc;
	if (install_has(r->install, f->number)) {
		rc = install_pass(r->install, f->number, buf, e);
		free(buf);
	} else {
		rc = install_feed(r->install, f->number, buf, free_chunk, NULL, e);
	}
	if (rc == 0)
		return 0;
	if (e->kind != ERR_CANCELLED)
		err_ctx(e, "%s", image_name(r->image));
	return -1;
}

/* Two of them: 1 fed, 0 the end, -1.  What is wrong with the second is told when the
 * first is on its way. */
static int
feed_two(struct run *r, struct err *e)
{
	struct fetched f[2] = { 0 };
	bool good[2] = { true, true };
	struct err why;
	int rc = fetch(r, &f[0], e);

	if (rc != 1)
		return rc;
	rc = fetch(r, &f[1], &why);
	if (!r->proved)
		check_digests(f, good);
	int fed = feed_one(r, &f[0], good[0], e);
	if (fed == 0 && rc == 1)
		fed = feed_one(r, &f[1], good[1], e);
	for (unsigned i = 0; i < 2; i++)
		free(f[i].buf);
	if (fed == 0 && rc < 0)
		*e = why;
	return fed != 0 ? -1 : rc;
}

static bool
has_free_space(const struct ndz_header *h)
{
	uint64_t stored = 0;

	for (unsigned i = 0; i < h->nregions; i++)
		stored += h->regions[i].len;
	return h->lastsect - h->firstsect >= stored + PLACE_SECTORS;
}

/* --state=target: free space may come late in the image, and the state not. */
static int
offer_chunks(struct run *r, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	uint32_t n = image_chunks(r->image), tried = 0;
	struct ndz_header h;
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = r->fed;
	     rc == 0 && i < n && tried < OFFERS_MAX && install_lacks_place(r->install);
	     i++) {
		rc = image_header(r->image, i, &h, e);
		if (rc != 0 || !has_free_space(&h))
			continue;
		tried++;
		rc = image_read(r->image, i, buf, e);
		if (rc == 0)
			rc = install_offer(r->install, i, buf, e);
	}
	free(buf);
	return rc;
}

static int
feed_all(struct run *r, struct err *e)
{
	int rc;

	/* A proof covers the digests, too. */
	r->proved = r->o->install.proof.verify_key != NULL ||
	            r->o->install.proof.decrypt != NULL;
	install_trust_digests(r->install);
	while ((rc = feed_two(r, e)) == 1) {
		if (r->fed == 2 && install_lacks_place(r->install) &&
		    offer_chunks(r, e) != 0)
			return -1;
		progress_at(&r->progress, install_bytes_covered(r->install));
		print_dots(r);
		if (cli_check_signal(e) != 0)
			return -1;
	}
	print_dots(r);
	return rc;
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

static int
summary(
    const struct run *r, const struct install_stats *s, double seconds, struct err *e)
{
	char written[32], covered[32], rate[32];

	if (r->o->json) {
		struct json *j = json_new();
		if (j == NULL)
			return err_nomem(e, "the summary");
		json_object(j, NULL);
		json_uint(j, "chunks", s->chunks);
		json_uint(j, "bytes_written", s->bytes_written);
		json_uint(j, "bytes_same", s->bytes_same);
		json_uint(j, "bytes_filled", s->bytes_filled);
		json_uint(j, "bytes_covered", s->bytes_covered);
		json_uint(j, "stale_signatures_wiped", s->stale_wiped);
		lost_json(&s->lost, j);
		if (r->o->crc_only)
			json_uint(j, "crc32", r->crc);
		json_double(j, "seconds", seconds);
		json_end(j);
		return json_show_on(j, r->report, e);
	}
	if (!r->o->quiet)
		fprintf(stderr,
		    "imageunzip: %s of data onto %s of disk in %.1f s (%s/s)\n",
		    cli_human_bytes(s->bytes_written, written, sizeof written),
		    cli_human_bytes(s->bytes_covered, covered, sizeof covered), seconds,
		    cli_human_bytes((uint64_t)((double)s->bytes_written /
					       (seconds > 0 ? seconds : 1)),
			rate, sizeof rate));
	return 0;
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

static void
tidy(void *new_file)
{
	unlink(new_file);
}

/* -N: the chunks as they are, checked on their way. */
static int
copy_chunks(struct run *r, const char *target, struct err *e)
{
	struct disk *d;
	struct err closing;
	uint64_t at = 0;
	int rc = 0;
	void *buf = malloc(NDZ_CHUNK_BYTES);

	if (buf == NULL)
		return err_nomem(e, "a chunk");
	if (disk_open(&d, target,
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
		if (rc != 0 || (rc = cli_check_signal(e)) != 0)
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
		unlink(target);
	free(buf);
	return rc;
}

/* The extension area's, where there is one; zeros: the image has none. */
static int
read_uuid(struct image *img, uint8_t uuid[NDZ_UUID_BYTES], struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	struct ndz_header h;
	struct chunk c;
	struct err later;
	int rc = buf != NULL ? image_header(img, 0, &h, e) : err_nomem(e, "a chunk");

	if (rc == 0)
		rc = image_read(img, 0, buf, e);
	if (rc == 0) {
		memcpy(uuid, h.uuid, NDZ_UUID_BYTES);
		if (chunk_parse(&c, buf, &later) == 0) {
			if (c.ext.has_uuid)
				memcpy(uuid, c.ext.uuid, NDZ_UUID_BYTES);
			chunk_free(&c);
		}
	}
	free(buf);
	return rc;
}

/* -u: only where the first header can be seen before anything is written. */
static int
check_uuid(const struct run *r, struct err *e)
{
	uint8_t want[NDZ_UUID_BYTES];
	static const uint8_t none[NDZ_UUID_BYTES];
	uint8_t is[NDZ_UUID_BYTES];

	if (r->o->uuid == NULL)
		return 0;
	if (cli_uuid(r->o->uuid, want, e) != 0)
		return err_ctx(e, "-u");
	if (!image_seekable(r->image))
		return err_set(e, ERR_USAGE, "-u needs an image that is a file");
	if (read_uuid(r->image, is, e) != 0)
		return -1;
	if (memcmp(is, none, sizeof is) == 0)
		return err_set(e, ERR_FORMAT, "%s: has no UUID that -u could compare",
		    image_name(r->image));
	if (memcmp(want, is, sizeof want) != 0)
		return err_set(
		    e, ERR_FORMAT, "%s: its UUID is another one", image_name(r->image));
	return 0;
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
	int rc = summary(r, &s, (double)(clock_us() - started) / 1e6, e);
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
		rc = check_uuid(&r, e);
		if (rc == 0)
			rc = o->raw_chunks ? copy_chunks(&r, target, e)
			                   : install_target(&r, target, e);
		image_close(r.image);
	}
	proof_free(proof);
	return rc;
}

static int
print_status(const struct opts *o, const char *name, bool unfinished,
    const struct mark *m, struct err *e)
{
	char uuid[2 * NDZ_UUID_BYTES + 1];

	for (unsigned i = 0; i < NDZ_UUID_BYTES; i++)
		snprintf(uuid + 2 * i, 3, "%02x", m->uuid[i]);
	if (o->json) {
		struct json *j = json_new();
		if (j == NULL)
			return err_nomem(e, "the status");
		json_object(j, NULL);
		json_bool(j, "unfinished", unfinished);
		if (unfinished) {
			json_string(j, "uuid", uuid);
			json_uint(j, "started", m->started);
		}
		json_end(j);
		int rc = json_print(j, stdout, e);
		json_free(j);
		if (rc != 0)
			return -1;
	}
	if (unfinished)
		return err_set(e, ERR_IO,
		    "%s: the installation of image %s, begun %" PRIu64
		    " s after 1970, is not complete",
		    name, uuid, m->started);
	if (!o->json && !o->quiet)
		printf("%s: no installation is under way\n", name);
	return 0;
}

/* --status: fails when an installation is not complete. */
static int
show_status(const struct opts *o, const char *path, struct err *e)
{
	struct mark m = { .started = 0 };
	struct range area = { 0, 0 };
	struct err ignored; /* it is only read */
	struct disk *d;

	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = !disk_seekable(d) ? err_set(e, ERR_USAGE, "%s: is no disk", path)
	                           : install_area(d, o->install.slice, &area, e);
	if (rc == 0)
		rc = head_read_mark(d, area.off * SECTOR_BYTES, &m, e);
	disk_close(d, &ignored);
	return rc < 0 ? -1 : print_status(o, path, rc == 1, &m, e);
}

/* What the operands ask for. */
static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;
	const char *target = n == 2 ? operands[1] : "-";

	if (o->status)
		return n == 1 ? show_status(o, operands[0], e)
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

	return cli_main(&prog, argc, argv, &o, act);
}
