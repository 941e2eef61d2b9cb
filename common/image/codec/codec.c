/* codec.c: the table of codecs, and decoders that take fragments of any of them.
 * Everything that compresses or reads fragments calls this; a decoder belongs to one
 * thread at a time. */
#include "common/image/codec/codec.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"

static const struct codec *const codecs[] = { &codec_deflate, &codec_igzip,
	&codec_zstd };

enum { CODECS = sizeof codecs / sizeof codecs[0] };

const struct codec *
codec_by_id(unsigned id)
{
	switch (id) {
	case CODEC_DEFLATE:
		return &codec_deflate;
	case CODEC_ZSTD:
		return &codec_zstd;
	default:
		return NULL;
	}
}

static const struct codec *
by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < CODECS; i++)
		if (strlen(codecs[i]->name) == len &&
		    memcmp(codecs[i]->name, name, len) == 0)
			return codecs[i];
	return NULL;
}

int
codec_parse(struct codec_choice *out, const char *text, struct err *e)
{
	const char *colon = strchr(text, ':');
	const struct codec *c = by_name(
	    text, colon != NULL ? (size_t)(colon - text) : strlen(text));
	uint64_t level;

	if (c == NULL)
		return err_set(e, ERR_USAGE,
		    "no codec is called \"%s\": deflate:0-9, igzip or "
		    "zstd:1-19",
		    text);
	level = (uint64_t)c->level_default;
	if (colon != NULL && number_uint(colon + 1, (uint64_t)c->level_min,
				 (uint64_t)c->level_max, &level, e) != 0)
		return err_ctx(e, "%s", text);
	if (c->lacks != NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: this program was built without %s", c->name, c->lacks);
	*out = (struct codec_choice){ c, (int)level, false };
	return 0;
}

struct decoder {
	struct inflater *inflater;
	void *states[CODEC_ID_MAX + 1]; /* made when first needed */
};

struct decoder *
decoder_new(void)
{
	struct decoder *d = calloc(1, sizeof *d);

	if (d == NULL)
		return NULL;
	/* The decoder of deflate also inflates whole streams. */
	d->inflater = d->states[CODEC_DEFLATE] = codec_deflate.decoder_new();
	if (d->inflater == NULL) {
		free(d);
		return NULL;
	}
	return d;
}

void
decoder_free(struct decoder *d)
{
	if (d == NULL)
		return;
	for (unsigned id = 0; id <= CODEC_ID_MAX; id++)
		if (d->states[id] != NULL)
			codec_by_id(id)->decoder_free(d->states[id]);
	free(d);
}

int
decoder_fragment(struct decoder *d, const struct codec *c, const void *in,
    size_t in_bytes, void *out, size_t n, struct err *e)
{
	void **state = &d->states[c->id];

	if (*state == NULL && (*state = c->decoder_new()) == NULL)
		return err_nomem(e, "a decoder");
	return c->decode(*state, in, in_bytes, out, n, e);
}

struct inflater *
decoder_inflater(struct decoder *d)
{
	return d->inflater;
}
