/* prove.c: a chunk is proved to be what it should be.  A load calls this for each chunk that
 * came, in the thread that puts it into a sink; image_copy() calls it for two at a time.
 * Holders of a proved chunk are in any thread. */
#include "common/image/read/prove.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/format.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/image/read/partial.h"

struct proved {
	struct sink_chunk put;
	struct chunk c;
	bool parsed;    /* c is */
	bool any;       /* it need not be a chunk of an image */
	bool encrypted; /* it was, when it came */
	bool undecoded;
	void *data; /* proved_keep(), or NULL */
	void (*drop)(void *data);
	_Atomic unsigned reading, holding;
};

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

static int
proved_new(struct proved **out, const struct sink_chunk *put, struct err *e)
{
	struct proved *c = calloc(1, sizeof *c);

	if (c == NULL)
		return err_nomem(e, "a chunk");
	c->put = *put;
	c->reading = c->holding = 1;
	*out = c;
	return 0;
}

const struct sink_chunk *
proved_chunk(const struct proved *c)
{
	return &c->put;
}

struct chunk *
proved_parsed(struct proved *c, struct err *e)
{
	if (c->any) {
		err_set(e, ERR_FORMAT, "is of any file, and was not proved");
		return NULL;
	}
	if (!c->parsed && chunk_parse(&c->c, c->put.bytes, e) != 0)
		return NULL;
	c->parsed = true;
	return &c->c;
}

struct proved *
proved_hold(struct proved *c)
{
	c->reading++;
	c->holding++;
	return c;
}

void
proved_read(struct proved *c)
{
	if (--c->reading == 0 && c->put.released != NULL)
		c->put.released(c->put.arg, c->put.bytes);
}

void
proved_drop(struct proved *c)
{
	if (--c->holding > 0)
		return;
	if (c->data != NULL)
		c->drop(c->data);
	if (c->parsed)
		chunk_free(&c->c);
	free(c);
}

void
proved_free(struct proved *c)
{
	proved_read(c);
	proved_drop(c);
}

void
proved_give_back(struct proved *c)
{
	if (c != NULL)
		proved_drop(c);
}

void
proved_keep(struct proved *c, void *data, void (*drop)(void *data))
{
	c->data = data;
	c->drop = drop;
}

void *
proved_take(struct proved *c)
{
	void *data = c->data;

	c->data = NULL;
	return data;
}

bool
proved_undecoded(const struct proved *c)
{
	return c->undecoded;
}

/* Prove a chunk that is not all here: each fragment that came has a digest. */
static int
prove_part(const struct proved *c, struct blockmap *bad, struct err *e)
{
	*bad = partial_damaged_others(&c->c, c->put.bytes, c->put.part->same);
	if (!blockmap_empty(bad))
		return err_set(e, ERR_FORMAT, "the digest of a fragment differs");
	*bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	return chunk_header_proved(&c->c, c->put.bytes)
	           ? 0
	           : err_set(e, ERR_FORMAT, "the digest of the header is wrong");
}

static int
prove_whole(
    struct prover *p, const struct proved *c, struct blockmap *bad, struct err *e)
{
	if (!c->c.ext.has_digest)
		return check_stream(p, &c->c, c->put.bytes, e);
	if (chunk_check_digest(&c->c, c->put.bytes, e) == 0)
		return 0;
	*bad = partial_damaged(&c->c, c->put.bytes);
	return -1;
}

/* Check an encrypted chunk that is kept as it is: only its header can be looked at. */
static int
prove_encrypted(struct prover *p, struct proved *c, struct err *e)
{
	c->c.ext = (struct ext){ .present = true };
	return check_kind(p, c->put.number, &c->c, true, e);
}

static int
prove_seal(struct prover *p, struct proved *c, struct err *e)
{
	if (!c->encrypted &&
	    opener_open(p->opener, c->put.number, c->put.bytes, e) != 0)
		return -1;
	return check_kind(p, c->put.number, &c->c, c->encrypted, e);
}

static int
prove(struct prover *p, struct proved *c, bool later, struct blockmap *bad, struct err *e)
{
	if (ndz_header_get(&c->c.h, c->put.bytes, NDZ_CHUNK_BYTES, e) != 0)
		return -1;
	c->encrypted = c->c.h.encrypted;
	if (c->encrypted && p->keep_encrypted && p->opener == NULL)
		return prove_encrypted(p, c, e);
	/* Decryption also authenticates the chunk, and makes the rest readable. */
	if (c->encrypted &&
	    opener_open(p->opener, c->put.number, c->put.bytes, e) != 0)
		return -1;
	if (proved_parsed(c, e) == NULL)
		return -1;
	c->undecoded = later && !c->c.ext.has_digest &&
	               (c->put.part == NULL || c->put.part->same == NULL);
	if (c->undecoded)
		return 0;
	int rc = sink_is_partial(&c->put) ? prove_part(c, bad, e)
	                                  : prove_whole(p, c, bad, e);
	return rc == 0 ? prove_seal(p, c, e) : -1;
}

int
prover_chunk(struct prover *p, const struct sink_chunk *put, bool later,
    struct proved **out, struct blockmap *bad, struct err *e)
{
	struct proved *c;

	*bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (proved_new(&c, put, e) != 0)
		return -1;
	if (prove(p, c, later, bad, e) != 0) {
		proved_give_back(c);
		return -1;
	}
	*out = c;
	return 0;
}

int
prover_decoded(struct prover *p, struct proved *c, struct err *e)
{
	c->undecoded = false;
	return prove_seal(p, c, e);
}

bool
prover_blames_chunk(const struct err *e)
{
	return e->kind != ERR_NOMEM && e->kind != ERR_IO && e->kind != ERR_CANCELLED;
}

int
prove_any(const struct sink_chunk *put, struct proved **out, struct err *e)
{
	if (proved_new(out, put, e) != 0)
		return -1;
	(*out)->any = true;
	return 0;
}

static bool
has_digest(struct proved *c)
{
	struct err ignored; /* whoever parses it meets it again */

	return proved_parsed(c, &ignored) != NULL && c->c.ext.has_digest;
}

static bool
is_digest(const struct proved *c, const uint8_t digest[EXT_DIGEST_BYTES])
{
	return memcmp(digest, c->c.ext.digest, EXT_DIGEST_BYTES) == 0;
}

static void
check_digests(struct proved *const *c, unsigned n, bool good[2])
{
	uint8_t digest[2][EXT_DIGEST_BYTES];
	struct err ignored;

	if (n == 2 && has_digest(c[0]) && has_digest(c[1])) {
		ext_chunk_digests(&c[0]->c.h, c[0]->put.bytes, digest[0], &c[1]->c.h,
		    c[1]->put.bytes, digest[1]);
		for (unsigned i = 0; i < n; i++)
			good[i] = is_digest(c[i], digest[i]);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		good[i] = !has_digest(c[i]) ||
		          chunk_check_digest(&c[i]->c, c[i]->put.bytes, &ignored) == 0;
}

int
prove_read(const struct sink_chunk *put, unsigned n, bool digests, struct proved **out,
    struct err *e)
{
	bool good[2] = { true, true };

	for (unsigned i = 0; i < n; i++)
		if (proved_new(&out[i], &put[i], e) != 0) {
			proved_give_back(i > 0 ? out[0] : NULL);
			return -1;
		}
	if (digests)
		check_digests(out, n, good);
	for (unsigned i = 0; i < n; i++)
		if (!good[i]) {
			proved_give_back(out[i]);
			out[i] = NULL;
		}
	return 0;
}
