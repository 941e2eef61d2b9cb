#include "common/ndz/encode.h"

#include <assert.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/ndz/deflate.h"

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

struct encode {
	const struct encode_config *cfg;
	struct packer *packer;
	struct pipeline *pipe;
	struct ordered *work;
	struct pool *jobs;
};

/* 1 a job with something in it, 0 the end, -1. */
static int
fill_job(const struct encode_config *cfg, struct job *j, struct err *e)
{
	size_t at = 0;

	for (j->n = 0; j->n < JOB_WINDOWS; j->n++) {
		struct fragment *f = &j->fragments[j->n];
		f->nregions = f->nrelocs = 0;
		ssize_t n = cfg->next(cfg->arg, f, j->raw + at, e);
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
	struct encode *c = arg;
	void *p;
	int rc = 0;

	while (pool_get(c->jobs, &p) == QUEUE_OK) {
		rc = fill_job(c->cfg, p, e);
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
	struct encode *c = arg;
	struct compressor z = { deflater_new(c->cfg->level), EVP_MD_CTX_new(),
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
pack_job(struct encode *c, struct job *j, struct err *e)
{
	const struct encode_config *cfg = c->cfg;
	size_t at = 0;

	for (unsigned i = 0; i < j->n; i++) {
		const struct fragment *f = &j->fragments[i];
		if (packer_add(c->packer, f, e) != 0)
			return -1;
		/* Behind those that are out is the one that it is in. */
		if (cfg->packed != NULL && cfg->packed(cfg->arg, f, j->raw + at, j->raw_bytes[i],
		    packer_chunks(c->packer), e) != 0)
			return -1;
		at += j->raw_bytes[i];
	}
	return 0;
}

/* The calling thread's part. */
static int
pack_all(struct encode *c, struct err *e)
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
start(struct encode *c, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t n = c->cfg->jobs != 0 ? c->cfg->jobs : cpus > 0 ? (size_t)cpus : 1;

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
encode_all(const struct encode_config *cfg, struct packer *packer, struct err *e)
{
	struct encode c = { .cfg = cfg, .packer = packer };
	int rc = start(&c, e);

	if (rc == 0)
		rc = pack_all(&c, e);
	pipeline_free(c.pipe);
	ordered_free(c.work);
	pool_free(c.jobs);
	return rc;
}
