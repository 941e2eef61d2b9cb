/* copy.c: the chunks of an image are put into a sink.  imageunzip and emustore call this; all of
 * it runs in the caller's thread. */
#include "common/image/read/copy.h"

#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/image/format/format.h"
#include "common/image/read/prove.h"

struct copy {
	struct image *image;
	struct sink *sink;
	const struct copy_config *cfg;
	bool prove;      /* digests are checked */
	uint32_t at;     /* the next chunk of the image */
	uint32_t copied; /* chunks */
};

/* A chunk on its way to the sink. */
struct fetched {
	void *buf; /* or NULL */
	uint32_t number;
};

static void
skip_unwanted(struct copy *c)
{
	if (c->cfg->wanted == NULL)
		return;
	while (c->at < image_chunks(c->image) && !c->cfg->wanted[c->at])
		c->at++;
	image_go_to(c->image, c->at);
}

/* Fetch the next chunk.  Returns 1, 0 at the end, or -1. */
static int
fetch(struct copy *c, struct fetched *f, struct err *e)
{
	skip_unwanted(c);
	*f = (struct fetched){ malloc(NDZ_CHUNK_BYTES), c->at };
	if (f->buf == NULL)
		return err_nomem(e, "a chunk");
	int rc = image_next(c->image, f->buf, NULL, e);
	c->at += rc == 1;
	if (rc <= 0) {
		free(f->buf);
		f->buf = NULL;
	}
	return rc;
}

static void
released(void *arg, const void *bytes)
{
	(void)arg;
	free((void *)(uintptr_t)bytes);
}

static int
prove(struct copy *c, struct fetched *f, struct proved *good[2], struct err *e)
{
	struct sink_chunk chunk[2];
	unsigned n = 0;

	for (; n < 2 && f[n].buf != NULL; n++)
		chunk[n] = (struct sink_chunk){ .number = f[n].number,
			.length = NDZ_CHUNK_BYTES,
			.bytes = f[n].buf,
			.released = released };
	return prove_read(chunk, n, c->prove, good, e);
}

/* Put a chunk; the buffer of a good one belongs to the sink afterwards. */
static int
put(struct copy *c, struct fetched *f, struct proved *good, struct err *e)
{
	if (good == NULL)
		return err_set(e, ERR_FORMAT,
		    "%s: chunk %u: the digest of the chunk is wrong",
		    image_name(c->image), f->number);
	f->buf = NULL;
	c->copied++;
	if (sink_put(c->sink, good, e) == 0)
		return 0;
	if (c->cfg->name_image && e->kind != ERR_CANCELLED)
		err_ctx(e, "%s", image_name(c->image));
	return -1;
}

/* Copy two chunks where digests are checked, else one.  Returns 1 when there may be more, 0
 * at the end, or -1.  An error of the second chunk is returned after the first was put. */
static int
copy_some(struct copy *c, struct err *e)
{
	struct fetched f[2] = { { NULL, 0 }, { NULL, 0 } };
	struct proved *good[2] = { NULL, NULL };
	struct err why;
	int rc = fetch(c, &f[0], e);

	if (rc != 1)
		return rc;
	if (c->prove)
		rc = fetch(c, &f[1], &why);
	int done = prove(c, f, good, e);
	if (done == 0)
		done = put(c, &f[0], good[0], e);
	if (done == 0 && f[1].buf != NULL)
		done = put(c, &f[1], good[1], e);
	else
		proved_give_back(good[1]);
	free(f[0].buf);
	free(f[1].buf);
	if (done == 0 && rc < 0)
		*e = why;
	return done != 0 ? -1 : rc;
}

static int
tell(struct copy *c, struct err *e)
{
	return c->cfg->copied != NULL ? c->cfg->copied(c->cfg->arg, c->copied, e) : 0;
}

int
image_copy(
    struct image *img, struct sink *sink, const struct copy_config *cfg, struct err *e)
{
	struct copy c = { .image = img,
		.sink = sink,
		.cfg = cfg,
		.prove = cfg->check_digests && !image_is_proved(img) };
	int rc;

	while ((rc = copy_some(&c, e)) == 1)
		if (tell(&c, e) != 0 || cancel_check(e) != 0)
			return -1;
	return rc == 0 ? tell(&c, e) : -1;
}
