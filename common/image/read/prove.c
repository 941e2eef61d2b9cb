/* prove.c: a chunk is proved to be what it should be.  A load calls this for each chunk that
 * came, in the thread that puts it into a sink; image_copy() calls it for two at a time. */
#include "common/image/read/prove.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/format.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/image/read/partial.h"

struct prover {
	struct opener *opener; /* or NULL */
	bool keep_encrypted, decrypts;
	struct decoder *decoder; /* for chunks without a digest; NULL: none came */
	/* Of the first chunk that was proved: */
	struct image_identity id;
	bool encrypted, is_signed;
};

int
prover_new(struct prover **out, const struct opener_config *keys, bool keep_encrypted,
    struct err *e)
{
	struct prover *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "a chunk's proof");
	p->keep_encrypted = keep_encrypted;
	p->decrypts = keys->decrypt != NULL;
	if (opener_new(&p->opener, keys, e) != 0) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void
prover_free(struct prover *p)
{
	if (p == NULL)
		return;
	opener_free(p->opener);
	decoder_free(p->decoder);
	free(p);
}

bool
prover_decrypts(const struct prover *p)
{
	return p != NULL && p->decrypts;
}

/* All chunks must be signed or encrypted as the first one that was proved is. */
static int
check_kind(struct prover *p, uint32_t number, const struct chunk *c, bool encrypted,
    struct err *e)
{
	if (c->ext.present && (uint32_t)c->h.index != number)
		return err_set(e, ERR_FORMAT,
		    "is not at its place: its header says that it is chunk %d",
		    c->h.index);
	if (p->id.known && p->encrypted != encrypted)
		return err_set(e, ERR_FORMAT, "is%s encrypted, unlike the chunks before it",
		    encrypted ? "" : " not");
	if (p->id.known && p->is_signed != c->ext.has_signature)
		return err_set(e, ERR_FORMAT, "is%s signed, unlike the chunks before it",
		    c->ext.has_signature ? "" : " not");
	if (image_identity_check(&p->id, &c->h, &c->ext, e) != 0)
		return -1;
	p->encrypted = encrypted;
	p->is_signed = c->ext.has_signature;
	return 0;
}

/* Check that a chunk without a digest can at least be decoded. */
static int
check_stream(struct prover *p, const struct chunk *c, const void *bytes, struct err *e)
{
	if (p->decoder == NULL)
		p->decoder = decoder_new();
	if (p->decoder == NULL)
		return err_nomem(e, "a decoder");
	return chunk_pieces(c, bytes, p->decoder, NULL, NULL, e);
}

/* Prove a chunk that is not all here: each fragment that came has a digest. */
static int
prove_part(const struct sink_chunk *put, const struct chunk *c, struct blockmap *bad,
    struct err *e)
{
	*bad = partial_damaged_others(c, put->bytes, put->part->same);
	if (blockmap_empty(bad))
		return 0;
	return err_set(e, ERR_FORMAT, "the digest of a fragment differs");
}

static int
prove_whole(struct prover *p, const struct chunk *c, const void *bytes,
    struct blockmap *bad, struct err *e)
{
	if (!c->ext.has_digest)
		return check_stream(p, c, bytes, e);
	if (chunk_check_digest(c, bytes, e) == 0)
		return 0;
	*bad = partial_damaged(c, bytes);
	return -1;
}

/* Check an encrypted chunk that is kept as it is: only its header can be looked at. */
static int
prove_encrypted(struct prover *p, uint32_t number, struct chunk *c, struct err *e)
{
	c->ext = (struct ext){ .present = true };
	return check_kind(p, number, c, true, e);
}

int
prover_chunk(struct prover *p, const struct sink_chunk *put, struct blockmap *bad,
    struct err *e)
{
	struct chunk c;

	*bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (ndz_header_get(&c.h, put->bytes, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	bool encrypted = c.h.encrypted;
	if (encrypted && p->keep_encrypted && p->opener == NULL)
		return prove_encrypted(p, put->number, &c, e);
	/* Decryption also authenticates the chunk, and makes the rest readable. */
	if (encrypted && opener_open(p->opener, put->number, put->bytes, e) != 0)
		return -1;
	if (chunk_parse(&c, put->bytes, e) != 0)
		return -1;
	int rc = sink_is_partial(put) ? prove_part(put, &c, bad, e)
	                              : prove_whole(p, &c, put->bytes, bad, e);
	if (rc == 0 && !encrypted)
		rc = opener_open(p->opener, put->number, put->bytes, e);
	if (rc == 0)
		rc = check_kind(p, put->number, &c, encrypted, e);
	chunk_free(&c);
	return rc;
}

bool
prover_blames_chunk(const struct err *e)
{
	return e->kind != ERR_NOMEM && e->kind != ERR_IO && e->kind != ERR_CANCELLED;
}

void
prove_digests(const void *const chunk[2], bool good[2])
{
	struct chunk c[2] = { 0 };
	uint8_t digest[2][EXT_DIGEST_BYTES];
	bool parsed[2];
	struct err ignored;

	for (unsigned i = 0; i < 2; i++)
		parsed[i] = chunk[i] != NULL &&
		            chunk_parse(&c[i], chunk[i], &ignored) == 0;
	if (parsed[0] && parsed[1] && c[0].ext.has_digest && c[1].ext.has_digest) {
		ext_chunk_digests(
		    &c[0].h, chunk[0], digest[0], &c[1].h, chunk[1], digest[1]);
		for (unsigned i = 0; i < 2; i++)
			good[i] = memcmp(digest[i], c[i].ext.digest,
				      sizeof digest[i]) == 0;
	} else {
		for (unsigned i = 0; i < 2; i++)
			good[i] = !parsed[i] ||
			          chunk_check_digest(&c[i], chunk[i], &ignored) == 0;
	}
	for (unsigned i = 0; i < 2; i++)
		if (parsed[i])
			chunk_free(&c[i]);
}
