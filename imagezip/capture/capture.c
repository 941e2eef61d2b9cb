#include "imagezip/capture/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/madeat.h"
#include "common/base/say.h"
#include "common/image/write/encode.h"
#include "common/image/write/packer.h"
#include "common/image/write/sighash.h"
#include "imagezip/capture/windows.h"

struct capture {
	const struct capture_what *o;
	struct layout *layout;
	struct windows windows;
	struct output *output;
	const struct capture_watch *watch;
	struct packer *packer;
	struct seal *seal;         /* or NULL */
	struct sigmaker *sigmaker; /* or NULL */
	uint64_t data_bytes;
};

static ssize_t
next_window(void *arg, struct window *w, void *buf, struct err *e)
{
	struct capture *c = arg;

	return windows_next(&c->windows, w, buf, e);
}

static int
emit(void *arg, const void *chunk, struct err *e)
{
	struct capture *c = arg;

	if (c->watch->chunk != NULL)
		c->watch->chunk(c->watch->arg);
	if (seal_chunk(c->seal, &chunk, e) != 0)
		return -1;
	return output_write(c->output, chunk, NDZ_CHUNK_BYTES, e);
}

static int
packed(void *arg, const struct window *w, const void *raw, size_t n, uint32_t chunk,
    struct err *e)
{
	struct capture *c = arg;

	if (c->sigmaker != NULL &&
	    sigmaker_add_window(c->sigmaker, w, raw, chunk, e) != 0)
		return err_ctx(e, "%s", c->o->source);
	c->data_bytes += n;
	/* A layout was checked before; a pipe tells only now. */
	if (c->o->limit_mb != 0 && c->data_bytes > c->o->limit_mb << 20)
		return err_set(e, ERR_REFUSED,
		    "%s: has more than the limit of %" PRIu64 " MB (-A)", c->o->source,
		    c->o->limit_mb);
	if (c->watch->progress != NULL)
		c->watch->progress(c->watch->arg, c->data_bytes);
	return cancel_check(e);
}

/* The image counts from its own sector 0. */
static int
note_lost(struct capture *c, struct rangeset *lost, struct err *e)
{
	struct lostset s;
	int rc = 0;

	lostset_init(&s);
	for (size_t i = 0; rc == 0 && i < rangeset_count(lost); i++) {
		struct range r = rangeset_get(lost, i);
		rc = rangeset_add(
		    &s.set, (struct range){ r.off - c->layout->base, r.len }, e);
	}
	s.sectors = rangeset_total(&s.set);
	if (rc == 0)
		rc = packer_note_lost(c->packer, &s, e);
	lostset_free(&s);
	return rc;
}

static int
finish(struct capture *c, struct rangeset *lost, struct err *e)
{
	uint32_t short_bytes = c->windows.short_bytes;
	uint64_t total = c->layout->total;

	if (short_bytes != 0 && !c->o->any_length)
		return err_set(e, ERR_USAGE,
		    "%s: its length is not a multiple of 512; -f stores it as a "
		    "file",
		    c->o->source);
	struct ndz_reloc r = {
		.type = NDZ_RELOC_SHORT_SECTOR, .sector = total - 1, .size = short_bytes
	};
	if (short_bytes != 0 && packer_add_reloc(c->packer, &r, e) != 0)
		return -1;
	if (note_lost(c, lost, e) != 0)
		return -1;
	if (packer_finish(c->packer, total, e) == 0)
		return 0;
	/* Errors of the output name it themselves. */
	return e->kind == ERR_IO ? -1 : err_ctx(e, "%s", c->o->source);
}

/* V3 holds sector numbers of 32 bits. */
static int
choose_version(
    const struct capture_what *o, const struct layout *l, unsigned *version, struct err *e)
{
	bool large = l->total != UINT64_MAX && l->total > UINT32_MAX;
	bool own = o->codec.codec->id != CODEC_DEFLATE || o->seal.encrypt != NULL;

	*version = o->v5 || o->has_uuid || large || own ? 5 : 3;
	if (o->v3 && large)
		return err_set(
		    e, ERR_USAGE, "-3: the source is too large for version 3");
	return 0;
}

/* Of a partition its own size, wherever it was read from; 0 of a pipe. */
static uint64_t
source_bytes(const struct layout *l, const struct disk *d)
{
	if (l->kind == EXT_KIND_PARTITION)
		return l->total * SECTOR_BYTES;
	return disk_seekable(d) ? disk_size_bytes(d) : 0;
}

static int
open_packer(struct capture *c, struct disk *d, struct delta *delta, struct err *e)
{
	struct packer_config cfg = { .codec = c->o->codec, .emit = emit, .arg = c };

	if (choose_version(c->o, c->layout, &cfg.version, e) != 0)
		return -1;
	if (c->o->has_uuid) {
		memcpy(cfg.header_uuid, c->o->uuid, sizeof cfg.header_uuid);
		memcpy(cfg.uuid, c->o->uuid, sizeof cfg.uuid);
	} else if (seal_uuid(cfg.uuid, e) != 0) {
		return -1;
	}
	cfg.tail = c->layout->outside.tail;
	packer_config_seal(&cfg, &c->o->seal);
	if (delta->on) {
		cfg.state = delta->state;
		cfg.base = delta->base;
		cfg.freed = &delta->freed;
		cfg.basis = &delta->basis;
	}
	cfg.image = (struct ext_image){ .kind = c->layout->kind,
		.made_at = made_at(),
		.source_bytes = source_bytes(c->layout, d),
		.sector_bytes = disk_sector_bytes(d) };
	if (c->layout->in_use[0] != '\0')
		cfg.image.flags |= EXT_IMAGE_LIVE;
	snprintf(cfg.image.tool, sizeof cfg.image.tool, "imagezip %s", SUITE_VERSION);
	layout_describe(c->layout, cfg.image.filesystems, sizeof cfg.image.filesystems);
	return packer_new(&c->packer, &cfg, e);
}

static int
open_sigmaker(struct capture *c, const struct delta *delta, struct err *e)
{
	if (!c->o->make_sig && !delta->on)
		return 0;
	return sigmaker_new(&c->sigmaker, delta->hash, delta->block_sectors, e);
}

int
capture_run(struct disk *d, struct layout *l, const struct capture_what *o,
    struct delta *delta, struct output *out,
    const struct capture_watch *watch,
    struct capture_stats *s, struct err *e)
{
	struct capture c = { .o = o, .layout = l, .output = out, .watch = watch };
	const struct encode_config cfg = { .codec = o->codec,
		.jobs = o->jobs,
		.next = next_window,
		.packed = packed,
		.arg = &c };

	*s = (struct capture_stats){ 0 };
	rangeset_init(&s->lost);
	windows_init(&c.windows, d, l, o, &s->lost);
	int rc = seal_new(&c.seal, &o->seal, e);
	if (rc == 0)
		rc = open_packer(&c, d, delta, e);
	if (rc == 0)
		rc = open_sigmaker(&c, delta, e);
	if (rc == 0)
		rc = encode_all(&cfg, c.packer, e);
	if (rc == 0)
		rc = finish(&c, &s->lost, e);
	windows_done(&c.windows);
	if (rc == 0 && c.sigmaker != NULL)
		rc = sigmaker_finish(c.sigmaker, &s->sig, e);
	s->data_bytes = c.data_bytes;
	s->total_sectors = l->total;
	s->chunks = c.packer != NULL ? packer_chunks(c.packer) : 0;
	sigmaker_free(c.sigmaker);
	packer_free(c.packer);
	seal_free(c.seal);
	return rc;
}
