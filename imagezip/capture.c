#include "imagezip/capture.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/ndz/deflate.h"
#include "common/ndz/packer.h"
#include "imagezip/windows.h"

enum {
	JOB_WINDOWS = 16,
	JOB_BYTES = JOB_WINDOWS * FRAGMENT_WINDOW_BYTES,
	OUT_BYTES = JOB_WINDOWS * (FRAGMENT_WINDOW_BYTES + 1024),
	SPARE_JOBS = 4,		/* read ahead, and waiting for the packer */
};

struct job {
	unsigned n;			/* windows in it */
	struct fragment fragments[JOB_WINDOWS];
	uint32_t raw_bytes[JOB_WINDOWS];
	uint8_t raw[JOB_BYTES];
	uint8_t out[OUT_BYTES];
};

struct capture {
	const struct options *o;
	struct layout *layout;
	struct windows windows;
	struct output *output;
	struct progress *progress;
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *jobs;
	struct packer *packer;
	uint64_t data_bytes;
};

/* 1 a job with something in it, 0 the end, -1. */
static int
fill_job(struct capture *c, struct job *j, struct err *e)
{
	size_t at = 0;

	for (j->n = 0; j->n < JOB_WINDOWS; j->n++) {
		ssize_t n = windows_next(&c->windows, &j->fragments[j->n], j->raw + at, e);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		j->raw_bytes[j->n] = (uint32_t)n;
		at += (size_t)n;
	}
	return j->n > 0;
}

static int
reader_stage(void *arg, struct err *e)
{
	struct capture *c = arg;
	void *p;
	int rc = 0;

	while (pool_get(c->jobs, &p) == QUEUE_OK) {
		rc = fill_job(c, p, e);
		if (rc == 1 && ordered_submit(c->work, p) == QUEUE_OK)
			continue;
		pool_put(c->jobs, p);
		break;
	}
	if (rc >= 0)
		ordered_close(c->work);
	return rc < 0 ? -1 : 0;
}

static bool
all_zero(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* What one compressor thread owns. */
struct compressor {
	struct deflater *deflater;
	EVP_MD_CTX *md;
	EVP_MD *sha256;		/* fetched once: looking it up costs as much as hashing */
};

static void
compress_window(struct compressor *z, struct fragment *f, const uint8_t *raw, size_t n,
    uint8_t *out, size_t cap)
{
	uint8_t digest[EVP_MAX_MD_SIZE];

	f->zero = all_zero(raw, n);
	f->bytes = 0;
	if (f->zero)
		return;
	f->data = out;
	f->bytes = (uint32_t)deflater_fragment(z->deflater, raw, n, out, cap);
	f->adler = adler_of(raw, n);
	int ok = EVP_DigestInit_ex2(z->md, z->sha256, NULL) && EVP_DigestUpdate(z->md, raw, n) &&
	    EVP_DigestFinal_ex(z->md, digest, NULL);
	assert(ok);
	memcpy(f->digest, digest, sizeof f->digest);
}

static void
compress_job(struct compressor *z, struct job *j)
{
	size_t in = 0, out = 0;

	for (unsigned i = 0; i < j->n; i++) {
		compress_window(z, &j->fragments[i], j->raw + in, j->raw_bytes[i], j->out + out,
		    sizeof j->out - out);
		in += j->raw_bytes[i];
		out += j->fragments[i].bytes;
	}
}

static int
compressor_stage(void *arg, struct err *e)
{
	struct capture *c = arg;
	struct compressor z = { deflater_new((int)c->o->level), EVP_MD_CTX_new(),
		EVP_MD_fetch(NULL, "SHA256", NULL) };
	void *p;
	size_t ticket;
	int rc = 0;

	if (z.deflater == NULL || z.md == NULL || z.sha256 == NULL)
		rc = err_nomem(e, "a compressor");
	while (rc == 0 && ordered_begin(c->work, &p, &ticket) == QUEUE_OK) {
		compress_job(&z, p);
		ordered_done(c->work, ticket);
	}
	deflater_free(z.deflater);
	EVP_MD_CTX_free(z.md);
	EVP_MD_free(z.sha256);
	return rc;
}

static int
emit(void *arg, const void *chunk, struct err *e)
{
	struct capture *c = arg;

	if (c->o->dots)
		fputc('.', stderr);
	return output_write(c->output, chunk, NDZ_CHUNK_BYTES, e);
}

static int
pack_job(struct capture *c, struct job *j, struct err *e)
{
	for (unsigned i = 0; i < j->n; i++) {
		if (packer_add(c->packer, &j->fragments[i], e) != 0)
			return -1;
		c->data_bytes += j->raw_bytes[i];
	}
	progress_at(c->progress, c->data_bytes);
	return cli_check_signal(e);
}

/* The calling thread's part. */
static int
pack_all(struct capture *c, struct err *e)
{
	void *p;
	int rc = 0;

	while (rc == 0 && ordered_take(c->work, &p) == QUEUE_OK) {
		rc = pack_job(c, p, e);
		pool_put(c->jobs, p);
	}
	if (rc != 0)
		pipeline_fail(c->pipe, e);
	rc = pipeline_join(c->pipe, e);
	while (ordered_drain(c->work, &p))
		pool_put(c->jobs, p);
	return rc;
}

static int
finish(struct capture *c, struct err *e)
{
	uint32_t short_bytes = c->windows.short_bytes;
	uint64_t total = c->layout->total;

	if (short_bytes != 0 && !c->o->any_length)
		return err_set(e, ERR_USAGE, "%s: its length is not a multiple of 512; -f stores it as a "
		    "file", c->o->source);
	struct ndz_reloc r = { .type = NDZ_RELOC_SHORT_SECTOR, .sector = total - 1,
		.size = short_bytes };
	if (short_bytes != 0 && packer_add_reloc(c->packer, &r, e) != 0)
		return -1;
	if (packer_finish(c->packer, total, e) != 0)
		return err_ctx(e, "%s", c->o->source);
	return 0;
}

/* V3 holds sector numbers of 32 bits. */
static int
choose_version(const struct options *o, const struct layout *l, unsigned *version, struct err *e)
{
	bool large = l->total != UINT64_MAX && l->total > UINT32_MAX;

	*version = o->v5 || o->has_uuid || large ? 5 : 3;
	if (o->v3 && large)
		return err_set(e, ERR_USAGE, "-3: the source is too large for version 3");
	return 0;
}

static uint64_t
made_at(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");	/* reproducible images */
	struct err ignored;
	uint64_t t;

	if (epoch != NULL && cli_uint(epoch, 0, INT64_MAX, &t, &ignored) == 0)
		return t;
	return (uint64_t)time(NULL);
}

static int
open_packer(struct capture *c, struct disk *d, struct err *e)
{
	struct packer_config cfg = { .level = (int)c->o->level, .emit = emit, .arg = c };

	if (choose_version(c->o, c->layout, &cfg.version, e) != 0)
		return -1;
	if (c->o->has_uuid) {
		memcpy(cfg.header_uuid, c->o->uuid, sizeof cfg.header_uuid);
		memcpy(cfg.uuid, c->o->uuid, sizeof cfg.uuid);
	} else {
		uuid_generate(cfg.uuid);
	}
	cfg.image = (struct ext_image){ .kind = c->layout->kind, .made_at = made_at(),
		.source_bytes = disk_seekable(d) ? disk_size_bytes(d) : 0,
		.sector_bytes = disk_sector_bytes(d) };
	snprintf(cfg.image.tool, sizeof cfg.image.tool, "imagezip %s", SUITE_VERSION);
	layout_describe(c->layout, cfg.image.filesystems, sizeof cfg.image.filesystems);
	return packer_new(&c->packer, &cfg, e);
}

static int
start(struct capture *c, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = c->o->jobs != 0 ? c->o->jobs : cpus > 0 ? (size_t)cpus : 1;

	c->jobs = pool_new(n + SPARE_JOBS, sizeof(struct job));
	c->work = ordered_new(n + SPARE_JOBS);
	c->pipe = pipeline_new();
	if (c->jobs == NULL || c->work == NULL || c->pipe == NULL)
		return err_nomem(e, "buffers");
	pipeline_attach_ordered(c->pipe, c->work);
	pipeline_attach_pool(c->pipe, c->jobs);
	/* A thread that cannot be started cancels all; pack_all() tells why. */
	if (pipeline_start(c->pipe, reader_stage, c) == 0)
		while (n-- > 0 && pipeline_start(c->pipe, compressor_stage, c) == 0)
			;
	return 0;
}

int
capture_run(struct disk *d, struct layout *l, const struct options *o, struct output *out,
    struct progress *progress, struct capture_stats *s, struct err *e)
{
	struct capture c = { .o = o, .layout = l, .output = out, .progress = progress };

	*s = (struct capture_stats){ 0 };
	rangeset_init(&s->bad);
	windows_init(&c.windows, d, l, o->bad_as_zeros, &s->bad);
	int rc = open_packer(&c, d, e);
	if (rc == 0)
		rc = start(&c, e);
	if (rc == 0)
		rc = pack_all(&c, e);
	if (rc == 0)
		rc = finish(&c, e);
	s->data_bytes = c.data_bytes;
	s->total_sectors = l->total;
	s->chunks = c.packer != NULL ? packer_chunks(c.packer) : 0;
	pipeline_free(c.pipe);
	ordered_free(c.work);
	pool_free(c.jobs);
	packer_free(c.packer);
	return rc;
}
