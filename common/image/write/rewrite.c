/* rewrite.c: windows of images that are read become a new image in a file, and the result is
 * reported.
 *
 * Called by imagedelta and imagerezip, in the thread that they begin with, and by
 * chain_source.c in the thread that makes its chunks. */
#include "common/image/write/rewrite.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/number.h"
#include "common/base/say.h"
#include "common/base/zero.h"
#include "common/disk/output.h"
#include "common/image/format/kind.h"
#include "common/image/read/layers.h"
#include "common/image/read/sectors_table.h"

const struct rewrite_config rewrite_defaults = { .how.codec = CODEC_DEFAULT };

static int
check(const struct rewrite_config *c, const char *output, struct err *e)
{
	if (maker_check(&c->how, e) != 0)
		return -1;
	if (c->json && output_report(output) != stdout)
		return err_set(e, ERR_USAGE,
		    "--json and the image cannot both go to standard output");
	return 0;
}

int
rewrite_inputs(const struct rewrite_config *c, char *const inputs[], size_t n,
    const char *output, rewrite_make *make, const void *arg, struct err *e)
{
	struct opener *opener = NULL;

	if (check(c, output, e) != 0)
		return -1;
	struct sectors **v = calloc(n, sizeof(struct sectors *));
	int rc = v != NULL ? opener_new(&opener, &c->opener, e) : err_nomem(e, "images");
	for (size_t i = 0; i < n && rc == 0; i++) {
		rc = output_check_input(output, inputs[i], e);
		if (rc == 0)
			rc = sectors_open_proved(&v[i], inputs[i], opener, e);
	}
	if (rc == 0)
		rc = make(arg, v, n, output, e);
	for (size_t i = 0; i < n && v != NULL; i++)
		sectors_close(v[i]);
	free(v);
	opener_free(opener);
	return rc;
}

/* The UUID in the header of the image that is written again, or NULL. */
static const uint8_t *
kept_uuid(const struct rewrite_source *src)
{
	const uint8_t *uuid = sectors_header(src->like)->uuid;

	return src->same_image && !is_zero(uuid, NDZ_UUID_BYTES) ? uuid : NULL;
}

static struct ext_image
describe(const struct rewrite_source *src)
{
	const struct ext *x = sectors_ext(src->like);

	if (x->has_image)
		return x->image;
	return (struct ext_image){ .sector_bytes = SECTOR_BYTES,
		.source_bytes = src->total * SECTOR_BYTES };
}

/* done() of struct rewrite_source. */
static int
same_done(void *layers, struct err *e)
{
	return layers_done(layers, e);
}

int
rewrite_same(struct rewrite_source *src, struct sectors *image, struct layers *l,
    struct err *e)
{
	const struct ext *x = sectors_ext(image);

	*src = (struct rewrite_source){ .program = src->program,
		.like = image,
		.same_image = true,
		.total = sectors_total(image),
		.data_sectors = rangeset_total(layers_stored(l)),
		.base = x->base,
		.freed = ext_is_delta(x) ? sectors_freed(image) : NULL,
		.basis = sectors_basis(image),
		.tail = x->tail,
		.lost = layers_lost(l),
		.next = layers_next,
		.done = same_done,
		.arg = l };
	return sectors_state(image, &src->state, e);
}

struct maker_config
rewrite_as(const struct maker_choice *how, const struct rewrite_source *src)
{
	return (struct maker_config){ .how = how,
		.program = src->program,
		.source = sectors_name(src->like),
		.total = src->total,
		.prefer_v5 = sectors_header(src->like)->version == 5,
		.keep_uuid = kept_uuid(src),
		.image = describe(src),
		.state = src->state,
		.base = src->base,
		.freed = src->freed,
		.basis = src->basis,
		.tail = src->tail,
		.reach = sectors_ext(src->like)->reach,
		.next = src->next,
		.arg = src->arg };
}

int
rewrite_zones(struct cut_zones *zones, const struct maker_choice *how,
    const struct rewrite_source *src, struct err *e)
{
	if (how->windows == MAKER_ALIGNED)
		return 0;
	return sectors_zones(src->like, zones, e);
}

int
rewrite_image(struct maker *m, const struct rewrite_source *src, struct output *out,
    struct err *e)
{
	const struct maker_ending end = { .total = src->total, .lost = src->lost };

	if (maker_run(m, out, e) != 0 || src->done(src->arg, e) != 0)
		return -1;
	return maker_end(m, &end, e);
}

static int
write_file(struct maker *m, const struct rewrite_config *c,
    const struct rewrite_source *src, const char *path, struct err *e)
{
	struct output out;

	if (output_open(&out, path, &kind_image, c->force, e) != 0)
		return -1;
	if (rewrite_image(m, src, &out, e) != 0) {
		output_abort(&out);
		return -1;
	}
	return output_commit(&out, c->no_sync, e);
}

static int
summary(const struct rewrite_config *c, const struct rewrite_source *src,
    const struct maker_totals *made, double seconds, struct err *e)
{
	uint64_t image_bytes = (uint64_t)made->chunks * NDZ_CHUNK_BYTES;
	char data[32], image[32];

	if (c->json) {
		struct json *j = json_new();
		json_object(j, NULL);
		json_uint(j, "sectors", src->total);
		json_uint(j, "data_bytes", made->data_bytes);
		json_uint(j, "image_bytes", image_bytes);
		json_uint(j, "chunks", made->chunks);
		json_string(j, "codec", c->how.codec.codec->name);
		json_double(j, "seconds", seconds);
		json_end(j);
		return json_show(j, e);
	}
	if (!c->quiet)
		say_text(stderr, "%s: %s of data in an image of %s, %.1f s\n",
		    src->program, human_bytes(made->data_bytes, data, sizeof data),
		    human_bytes(image_bytes, image, sizeof image), seconds);
	return 0;
}

/* What is told how far the new image is, and what it is made of. */
struct told {
	const struct rewrite_config *config;
	const struct rewrite_source *src;
};

static ssize_t
told_next(void *arg, struct window *w, void *buf, struct err *e)
{
	const struct told *t = arg;

	return t->src->next(t->src->arg, w, buf, e);
}

static int
told_packed(void *arg, const struct maker_packed *p, struct err *e)
{
	const struct told *t = arg;

	(void)e;
	if (t->config->progress != NULL)
		t->config->progress(t->config->progress_arg, p->data_bytes,
		    t->src->data_sectors * SECTOR_BYTES);
	return 0;
}

int
rewrite_save(const struct rewrite_config *c, const struct rewrite_source *src,
    const char *output, struct err *e)
{
	uint64_t started = clock_us();
	struct maker_config cfg = rewrite_as(&c->how, src);
	struct told told = { c, src };
	struct cut_zones zones = { 0 };
	struct maker *m;

	if (rewrite_zones(&zones, &c->how, src, e) != 0)
		return -1;
	cfg.zones = &zones;
	cfg.next = told_next;
	cfg.packed = told_packed;
	cfg.arg = &told;
	if (maker_new(&m, &cfg, e) != 0) {
		cut_zones_free(&zones);
		return -1;
	}
	int rc = write_file(m, c, src, output, e);
	const struct maker_totals made = maker_totals(m);
	if (rc == 0)
		rc = summary(c, src, &made, (double)(clock_us() - started) / 1e6, e);
	maker_free(m);
	cut_zones_free(&zones);
	return rc;
}
