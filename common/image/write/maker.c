/* maker.c: makes every new image, whatever it is made from: it decides its version and
 * UUID and what chunk 0 says about it, and passes windows on until they are in the
 * output.
 *
 * imagezip/capture/capture.c calls this for a disk, rewrite.c and chain_source.c for
 * other images, in the thread that makes the image.
 */
#include "common/image/write/maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/madeat.h"
#include "common/image/write/encode.h"
#include "common/image/write/packer.h"

struct maker {
	struct maker_config cfg;
	struct output *output; /* from maker_run() on; borrowed, or NULL */
	struct packer *packer;
	struct sealer *sealer; /* or NULL */
	uint64_t data_bytes;
};

int
maker_check(const struct maker_choice *c, struct err *e)
{
	if (c->v3 && (c->v5 || c->has_uuid))
		return err_set(e, ERR_USAGE,
		    "-3 cannot be combined with -5 or -u: version 3 has no UUID");
	if (c->v3 && c->codec.codec->id != CODEC_DEFLATE)
		return err_set(e, ERR_USAGE, "-3 cannot be combined with --codec=%s",
		    c->codec.codec->name);
	return sealer_check(&c->sealer, c->has_uuid, c->v3, e);
}

/* Version 3 holds sector numbers of 32 bits, and nothing but deflate in the clear. */
static int
choose_version(const struct maker_config *c, unsigned *version, struct err *e)
{
	const struct maker_choice *how = c->how;
	bool large = c->total != UINT64_MAX && c->total > UINT32_MAX;
	bool own = how->codec.codec->id != CODEC_DEFLATE || how->sealer.encrypt != NULL;
	bool must = how->v5 || how->has_uuid || large || own;

	if (how->v3 && large)
		return err_set(e, ERR_USAGE, "-3: %s is too large for version 3",
		    c->source);
	*version = must || (c->prefer_v5 && !how->v3) ? 5 : 3;
	return 0;
}

/* A UUID in the header is the user's choice, and stays what it is.  The UUID in the
 * extension tells chunks of one file from those of another, so a new file has a new one; a
 * file that is signed or encrypted always has. */
static void
choose_uuid(const struct maker_config *c, struct packer_config *p)
{
	const struct maker_choice *how = c->how;
	bool sealed = how->sealer.sign != NULL || how->sealer.encrypt != NULL;
	const uint8_t *uuid = how->has_uuid ? how->uuid : sealed ? NULL : c->keep_uuid;

	if (uuid == NULL) {
		sealer_uuid(p->uuid);
		return;
	}
	memcpy(p->uuid, uuid, sizeof p->uuid);
	if (p->version == 5)
		memcpy(p->header_uuid, uuid, sizeof p->header_uuid);
}

static struct ext_image
describe(const struct maker_config *c)
{
	struct ext_image image = c->image;

	image.made_at = made_at();
	snprintf(image.tool, sizeof image.tool, "%s %s", c->program, SUITE_VERSION);
	return image;
}

/* Seal a chunk that the packer has finished, and write it or give it to take(). */
static int
emit(void *arg, const void *chunk, struct err *e)
{
	struct maker *m = arg;

	if (m->cfg.chunk != NULL)
		m->cfg.chunk(m->cfg.arg);
	if (sealer_seal(m->sealer, &chunk, e) != 0)
		return -1;
	if (m->output == NULL)
		return m->cfg.take(m->cfg.taker, chunk, e);
	return output_write(m->output, chunk, NDZ_CHUNK_BYTES, e);
}

static int
open_packer(struct maker *m, struct err *e)
{
	const struct maker_config *c = &m->cfg;
	struct packer_config p = { .codec = c->how->codec,
		.image = describe(c),
		.state = c->state,
		.base = c->base,
		.freed = c->freed,
		.basis = c->basis,
		.tail = c->tail,
		.reach = c->reach,
		.content = c->how->windows != MAKER_ALIGNED,
		.emit = emit,
		.arg = m };

	if (choose_version(c, &p.version, e) != 0)
		return -1;
	choose_uuid(c, &p);
	packer_config_seal(&p, &c->how->sealer);
	return packer_new(&m->packer, &p, e);
}

int
maker_new(struct maker **out, const struct maker_config *cfg, struct err *e)
{
	struct maker *m = calloc(1, sizeof *m);

	if (m == NULL)
		return err_nomem(e, "an image");
	m->cfg = *cfg;
	if (sealer_new(&m->sealer, &cfg->how->sealer, e) != 0 || open_packer(m, e) != 0) {
		maker_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void
maker_free(struct maker *m)
{
	if (m == NULL)
		return;
	packer_free(m->packer);
	sealer_free(m->sealer);
	free(m);
}

static int
packed(void *arg, const struct window *w, const void *raw, size_t n, uint32_t chunk,
    struct err *e)
{
	struct maker *m = arg;

	m->data_bytes += n;
	const struct maker_packed p = {
		.window = w, .raw = raw, .chunk = chunk, .data_bytes = m->data_bytes
	};
	if (m->cfg.packed != NULL && m->cfg.packed(m->cfg.arg, &p, e) != 0)
		return -1;
	return cancel_check(e);
}

static ssize_t
next(void *arg, struct window *w, void *buf, struct err *e)
{
	struct maker *m = arg;

	return m->cfg.next(m->cfg.arg, w, buf, e);
}

int
maker_run(struct maker *m, struct output *out, struct err *e)
{
	const struct maker_choice *how = m->cfg.how;
	bool content = how->windows != MAKER_ALIGNED, single = how->windows == MAKER_STORE;
	const struct encode_config cfg = { .codec = how->codec,
		.jobs = how->jobs,
		.known = m->cfg.known,
		.next = next,
		.packed = packed,
		.content = content,
		.single = single,
		/* The chunks of a delta have room left for lists of freed sectors. */
		.split = content && !single && m->cfg.freed == NULL,
		.zones = m->cfg.zones,
		.filler = m->cfg.filler,
		.arg = m };

	m->output = out;
	return encode_all(&cfg, m->packer, e);
}

int
maker_end(struct maker *m, const struct maker_ending *end, struct err *e)
{
	const struct ndz_reloc r = { .type = NDZ_RELOC_SHORT_SECTOR,
		.sector = end->total - 1,
		.size = end->short_bytes };

	if (end->short_bytes != 0 && packer_add_reloc(m->packer, &r, e) != 0)
		return -1;
	if (packer_note_lost(m->packer, end->lost, e) != 0)
		return -1;
	return packer_finish(m->packer, end->total, e);
}

struct maker_totals
maker_totals(const struct maker *m)
{
	if (m == NULL)
		return (struct maker_totals){ 0 };
	return (struct maker_totals){ .data_bytes = m->data_bytes,
		.chunks = packer_chunks(m->packer) };
}
