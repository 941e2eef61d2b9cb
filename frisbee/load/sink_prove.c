/* Is a chunk what the server has?  If not, which blocks of it should come again?  Called
 * by sink.c in the sink's thread for each chunk, before anything is done with it. */
#include "frisbee/load/sink_impl.h"

#include "common/image/format/format.h"
#include "common/wire/parity.h"

/* A chunk that has no digest must decode at least. */
static int
check_stream(struct sink *s, const struct chunk *c, const uint8_t *bytes, struct err *e)
{
	if (s->decoder == NULL)
		s->decoder = decoder_new();
	if (s->decoder == NULL)
		return err_nomem(e, "a decoder");
	return chunk_pieces(c, bytes, s->decoder, NULL, NULL, e);
}

/* Of a chunk that is not all here, each fragment that came has a digest. */
static int
prove_part(struct sink *s, struct filled *f, const struct chunk *c, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	f->bad = partial_damaged_others(
	    c, sink_buffer(s, buf), planner_plan(s->planner, buf)->same);
	if (blockmap_empty(&f->bad))
		return 0;
	return err_set(e, ERR_FORMAT, "the digest of a fragment differs");
}

static int
prove_whole(struct sink *s, struct filled *f, const struct chunk *c, struct err *e)
{
	const uint8_t *bytes = sink_buffer(s, (uint32_t)(f - s->filled));

	if (!c->ext.has_digest)
		return check_stream(s, c, bytes, e);
	if (chunk_check_digest(c, bytes, e) == 0)
		return 0;
	f->bad = partial_damaged(c, bytes);
	return -1;
}

/* An encrypted chunk that is kept as it is: its header is all that can be looked at. */
static int
prove_sealed(struct sink *s, const struct filled *f, struct chunk *c, struct err *e)
{
	c->ext = (struct ext){ .present = true };
	return sink_kind_check(&s->kind, f->chunk, c, true, e);
}

/* The chunk is what the server has, as far as anything can tell, and was decrypted; or it
 * is damaged in the blocks f->bad. */
int
sink_prove(struct sink *s, struct filled *f, struct err *e)
{
	uint8_t *bytes = sink_buffer(s, (uint32_t)(f - s->filled));
	struct chunk c;

	f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (f->parity && parity_decode(bytes, f->parity_at, e) != 0)
		return -1;
	if (!sink_is_image(s))
		return 0; /* any file: there is nothing to prove it by */
	if (ndz_header_get(&c.h, bytes, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	bool encrypted = c.h.encrypted;
	if (encrypted && s->cfg.as_image && s->proof == NULL)
		return prove_sealed(s, f, &c, e);
	/* What authenticates its encryption proves it, and shows the rest. */
	if (encrypted && proof_chunk(s->proof, f->chunk, bytes, e) != 0)
		return -1;
	if (chunk_parse(&c, bytes, e) != 0)
		return -1;
	int rc = f->partial ? prove_part(s, f, &c, e) : prove_whole(s, f, &c, e);
	if (rc == 0 && !encrypted)
		rc = proof_chunk(s->proof, f->chunk, bytes, e);
	if (rc == 0)
		rc = sink_kind_check(&s->kind, f->chunk, &c, encrypted, e);
	chunk_free(&c);
	return rc;
}

/* All of it comes again; the first time only what is damaged, but no digest covers every
 * block (padding), and parity spreads what is wrong in one. */
int
sink_send_back(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	bool other_reason = e->kind == ERR_NOMEM || e->kind == ERR_IO ||
	                    e->kind == ERR_CANCELLED;

	if (!sink_is_image(s) || other_reason) {
		mailbox_put(s->box, SINK_FREE, buf);
		return err_ctx(e, "chunk %u", f->chunk);
	}
	bool known = s->damaged != NULL && f->chunk < s->nchunks;
	if (!known || s->damaged[f->chunk])
		f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (known)
		s->damaged[f->chunk] = true;
	f->why = *e;
	mailbox_put(s->box, SINK_DAMAGED, buf);
	return 0;
}
