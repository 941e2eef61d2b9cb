/* install_decode.c: decodes chunks that nothing but decoding proves, in parallel, before
 * they are proved and fed.  The sink of the installation calls this in the thread that feeds
 * chunks; install_proving_stage() is a thread. */
#include <stdlib.h>

#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "imageunzip/install/install_impl.h"

/* A chunk from install_decode() until it is fed or given back. */
struct proof {
	struct install *in;
	struct proved *chunk; /* NULL: the slot is free */
	void *raw;
	bool whole; /* raw holds all its data; else it was only checked */
	sink_decoded_fn *decoded;
	void *arg;
};

static int
decode(struct proof *f, struct decoder *dec, struct err *e)
{
	const struct chunk *c = proved_parsed(f->chunk, e);
	const void *bytes = proved_chunk(f->chunk)->bytes;

	f->whole = c->raw_bytes <= f->in->raw_bytes;
	return f->whole ? chunk_decode(c, bytes, dec, f->raw, e)
	                : chunk_pieces(c, bytes, dec, NULL, NULL, e);
}

int
install_proving_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct decoder *dec = NULL;
	struct err why;
	void *item;

	install_give_way(in);
	while (queue_get(in->to_decode, &item) == QUEUE_OK) {
		struct proof *f = item;
		if (dec == NULL && (dec = decoder_new()) == NULL)
			return err_nomem(e, "a decoder");
		int rc = decode(f, dec, &why);
		f->decoded(f->arg, rc == 0 ? NULL : &why); /* it may be another's now */
	}
	decoder_free(dec);
	return 0;
}

/* One buffer at least stays for what was proved, so the thread that feeds never waits for a
 * buffer that only it can give back. */
bool
install_decode_prepare(struct install *in, size_t buffers)
{
	if (buffers == 1)
		return true;
	in->proofs = calloc(buffers - 1, sizeof *in->proofs);
	in->to_decode = queue_new(buffers - 1);
	if (in->proofs == NULL || in->to_decode == NULL)
		return false;
	in->nproofs = buffers - 1;
	pipeline_attach_queue(in->pipe, in->to_decode);
	return true;
}

bool
install_decodes(const struct install *in)
{
	return in->nproofs > 0;
}

static struct proof *
free_slot(struct install *in)
{
	for (size_t i = 0; i < in->nproofs; i++)
		if (in->proofs[i].chunk == NULL)
			return &in->proofs[i];
	return NULL;
}

static void
drop(void *proof)
{
	struct proof *f = proof;

	pool_put(f->in->raws, f->raw);
	f->chunk = NULL;
}

bool
install_decode(struct install *in, struct proved *c, sink_decoded_fn *decoded, void *arg)
{
	struct proof *f = free_slot(in);
	void *raw;

	if (f == NULL || pool_get(in->raws, &raw) != QUEUE_OK)
		return false;
	*f = (struct proof){
		.in = in, .chunk = c, .raw = raw, .decoded = decoded, .arg = arg
	};
	proved_keep(c, f, drop);
	queue_put(in->to_decode, f);
	return true;
}

void
install_take_decoded(struct job *j)
{
	struct proof *f = proved_take(j->proved);

	if (f == NULL)
		return;
	j->decoded = f->whole && j->how == JOB_WHOLE;
	if (j->decoded) {
		j->raw = f->raw;
		f->chunk = NULL;
	} else {
		drop(f);
	}
}

void
install_decode_stop(struct install *in)
{
	for (struct proof *f = in->proofs; f < in->proofs + in->nproofs; f++)
		if (f->chunk != NULL && proved_take(f->chunk) != NULL)
			drop(f);
}

void
install_decode_free(struct install *in)
{
	queue_free(in->to_decode);
	free(in->proofs);
}
