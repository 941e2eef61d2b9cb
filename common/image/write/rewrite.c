#include "common/image/write/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/madeat.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/write/packer.h"

const struct rewrite_config rewrite_defaults = { .codec = CODEC_DEFAULT };

int
rewrite_check(const struct rewrite_config *c, const char *output, struct err *e)
{
	if (c->v3 && (c->v5 || c->has_uuid))
		return err_set(
		    e, ERR_USAGE, "-3 excludes -5 and -u: version 3 has no UUID");
	if (c->v3 && c->codec.codec->id != CODEC_DEFLATE)
		return err_set(
		    e, ERR_USAGE, "-3 excludes --codec=%s", c->codec.codec->name);
	if (seal_check(&c->seal, c->has_uuid, c->v3, e) != 0)
		return -1;
	if (c->json && output_report(output) != stdout)
		return err_set(e, ERR_USAGE,
		    "--json goes to standard output, and so does the image");
	return 0;
}

struct run {
	const struct rewrite_source *src;
	struct output out;
	struct packer *packer;
	struct seal *seal; /* or NULL */
	uint64_t data_bytes;
};

static ssize_t
next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct run *r = arg;

	return r->src->next(r->src->arg, w, buf, e);
}

static int
packed(void *arg, const struct window *w, const void *raw, size_t n, uint32_t chunk,
    struct err *e)
{
	struct run *r = arg;

	(void)w, (void)raw, (void)chunk;
	r->data_bytes += n;
	return cancel_check(e);
}

static int
emit(void *arg, const void *chunk, struct err *e)
{
	struct run *r = arg;

	if (seal_chunk(r->seal, &chunk, e) != 0)
		return -1;
	return output_write(&r->out, chunk, NDZ_CHUNK_BYTES, e);
}

static int
choose_version(const struct rewrite_config *c, const struct rewrite_source *src,
    unsigned *version, struct err *e)
{
	bool large = src->total > UINT32_MAX,
	     own = c->codec.codec->id != CODEC_DEFLATE || c->seal.encrypt != NULL;

	if (c->v3 && large)
		return err_set(e, ERR_USAGE, "-3: %s is too large for version 3",
		    sectors_name(src->like));
	*version = c->v5 || c->has_uuid || large || own      ? 5
	           : c->v3                                   ? 3
	           : sectors_header(src->like)->version == 5 ? 5
	                                                     : 3;
	return 0;
}

/* A UUID in the header is the user's: it stays what it is.  The other one tells
 * chunks of one file from those of another, so a new file has a new one; and so has
 * always one that is signed or encrypted. */
static int
choose_uuid(const struct rewrite_config *c, const struct rewrite_source *src,
    struct packer_config *cfg, struct err *e)
{
	static const uint8_t none[NDZ_UUID_BYTES];
	const uint8_t *header = sectors_header(src->like)->uuid;

	bool sealed = c->seal.sign != NULL || c->seal.encrypt != NULL;
	if (c->has_uuid)
		memcpy(cfg->uuid, c->uuid, sizeof cfg->uuid);
	else if (!sealed && src->same_image && memcmp(header, none, sizeof none) != 0)
		memcpy(cfg->uuid, header, sizeof cfg->uuid);
	else
		return seal_uuid(cfg->uuid, e);
	if (cfg->version == 5)
		memcpy(cfg->header_uuid, cfg->uuid, sizeof cfg->uuid);
	return 0;
}

static struct ext_image
describe(const struct rewrite_source *src)
{
	const struct ext *x = sectors_ext(src->like);
	struct ext_image image = x->image;

	if (!x->has_image)
		image = (struct ext_image){ .sector_bytes = SECTOR_BYTES,
			.source_bytes = src->total * SECTOR_BYTES };
	image.made_at = made_at();
	snprintf(image.tool, sizeof image.tool, "%s %s", src->program, SUITE_VERSION);
	return image;
}

static int
write_image(const struct rewrite_config *c, struct run *r, struct err *e)
{
	const struct rewrite_source *src = r->src;
	struct packer_config cfg = { .codec = c->codec,
		.image = describe(src),
		.state = src->state,
		.base = src->base,
		.freed = src->freed,
		.basis = src->basis,
		.tail = src->tail,
		.emit = emit,
		.arg = r };
	const struct encode_config enc = { .codec = c->codec,
		.jobs = c->jobs,
		.next = next,
		.packed = packed,
		.arg = r };

	if (choose_version(c, src, &cfg.version, e) != 0)
		return -1;
	if (choose_uuid(c, src, &cfg, e) != 0)
		return -1;
	packer_config_seal(&cfg, &c->seal);
	if (packer_new(&r->packer, &cfg, e) != 0 ||
	    encode_all(&enc, r->packer, e) != 0 || src->done(src->arg, e) != 0 ||
	    packer_note_lost(r->packer, src->lost, e) != 0)
		return -1;
	return packer_finish(r->packer, src->total, e);
}

static int
summary(
    const struct rewrite_config *c, const struct run *r, double seconds, struct err *e)
{
	uint32_t chunks = packer_chunks(r->packer);
	uint64_t image_bytes = (uint64_t)chunks * NDZ_CHUNK_BYTES;
	char data[32], image[32];

	if (c->json) {
		struct json *j = json_new();
		if (j == NULL)
			return err_nomem(e, "the summary");
		json_object(j, NULL);
		json_uint(j, "sectors", r->src->total);
		json_uint(j, "data_bytes", r->data_bytes);
		json_uint(j, "image_bytes", image_bytes);
		json_uint(j, "chunks", chunks);
		json_string(j, "codec", c->codec.codec->name);
		json_double(j, "seconds", seconds);
		json_end(j);
		return json_show(j, e);
	}
	if (!c->quiet)
		say(stderr, "%s: %s of data in an image of %s, %.1f s\n",
		    r->src->program, human_bytes(r->data_bytes, data, sizeof data),
		    human_bytes(image_bytes, image, sizeof image), seconds);
	return 0;
}

int
rewrite(const struct rewrite_config *c, const struct rewrite_source *src,
    const char *output, struct err *e)
{
	struct run r = { .src = src };
	uint64_t started = clock_us();

	if (seal_new(&r.seal, &c->seal, e) != 0)
		return -1;
	if (output_open(&r.out, output, &kind_image, c->force, e) != 0) {
		seal_free(r.seal);
		return -1;
	}
	int rc = write_image(c, &r, e);
	if (rc == 0)
		rc = output_commit(&r.out, c->no_sync, e);
	else
		output_abort(&r.out);
	if (rc == 0)
		rc = summary(c, &r, (double)(clock_us() - started) / 1e6, e);
	packer_free(r.packer);
	seal_free(r.seal);
	return rc;
}
