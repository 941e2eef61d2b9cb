/* put_known.c: returns data that a store has in compressed form already, so that a program
 * that puts an image need not compress them.  Called in the threads of compressors,
 * through precompressed.h, while the put's own threads go on. */
#include <stdlib.h>
#include <string.h>

#include "emustore/store/headcheck.h"
#include "emustore/store/put_impl.h"

enum {
	/* fragments of the same data, by several codecs and at several levels */
	CANDIDATES = 4,
};

/* The packs that one thread reads: a struct packs belongs to one thread at a time. */
struct known_reader {
	struct packs *packs;
	unsigned turn; /* of the index by whose numbers it knows them */
	struct known_reader *next;
};

struct candidate {
	struct index_fragment i;
	uint32_t slot;
};

/* Called with the lock of p->shared held. */
static struct known_reader *
take_reader(struct put *p)
{
	struct known_reader *r = p->readers;

	if (r != NULL)
		p->readers = r->next;
	else
		r = calloc(1, sizeof *r);
	if (r != NULL && r->packs != NULL && r->turn == p->s->index_turn)
		return r;
	if (r != NULL) {
		packs_free(r->packs);
		r->turn = p->s->index_turn;
		r->packs = store_packs(p->s);
	}
	if (r != NULL && r->packs == NULL) {
		free(r);
		r = NULL;
	}
	return r;
}

void
put_known_free(struct put *p)
{
	while (p->readers != NULL) {
		struct known_reader *r = p->readers;
		p->readers = r->next;
		packs_free(r->packs);
		free(r);
	}
}

/* Find the fragments of these data that the index has, in packs that exist.  Called with
 * the lock of p->shared held. */
static size_t
look_up(struct put *p, struct known_reader *r, const uint8_t *digest, size_t raw_bytes,
    struct candidate *out)
{
	struct index_fragment found[CANDIDATES];
	struct err ignored; /* the caller compresses the data instead */
	size_t n = 0, all = 0;

	if (index_find_raw(p->s->index, digest, raw_bytes, found, CANDIDATES, &all,
		&ignored) != 0)
		return 0;
	for (size_t i = 0; i < all; i++) {
		out[n].i = found[i];
		if (packs_slot(r->packs, p->s->index, found[i].pack, &out[n].slot,
			&ignored) == 0)
			n++;
	}
	return n;
}

/* Copy the bytes of a candidate to out, if they are of this codec.  Returns how many bytes
 * there are, or 0.  They are not decompressed: that they give the data of their head was seen
 * when they came into the store (put, or copy by headcheck.c); the record's CRC-32C was
 * checked, and their SHA-256 is computed when the chunk that gets them is put. */
static size_t
read_candidate(struct known_reader *r, const struct candidate *c,
    const struct codec *codec, void *out, size_t cap, struct buf *body)
{
	const struct pack_fragment *f = &c->i.f;
	struct record_head h;
	struct err ignored;

	if (packs_read_record(r->packs, c->slot, f->at, &h, body, &ignored) != 0 ||
	    h.type != RECORD_FRAGMENT || f->bytes > cap ||
	    body->len != FRAGMENT_HEAD_BYTES + (size_t)f->bytes ||
	    memcmp(body->base, f->head.sha256, SHA256_BYTES) != 0)
		return 0;
	const uint8_t *data = body->base + FRAGMENT_HEAD_BYTES;
	if (headcheck_codec(data, f->bytes)->id != codec->id)
		return 0;
	memcpy(out, data, f->bytes);
	return f->bytes;
}

size_t
put_known(void *put, const struct codec *codec,
    const uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES], size_t raw_bytes, void *out,
    size_t cap)
{
	struct candidate candidates[CANDIDATES];
	struct put *p = put;
	struct buf body = { 0 };
	size_t found = 0, bytes = 0;

	pthread_mutex_lock(&p->shared.lock);
	struct known_reader *r = take_reader(p);
	if (r != NULL)
		found = look_up(p, r, digest, raw_bytes, candidates);
	pthread_mutex_unlock(&p->shared.lock);
	for (size_t i = 0; i < found && bytes == 0; i++)
		bytes = read_candidate(r, &candidates[i], codec, out, cap, &body);
	buf_free(&body);
	if (r == NULL)
		return 0;
	pthread_mutex_lock(&p->shared.lock);
	r->next = p->readers;
	p->readers = r;
	p->stats.known_bytes += bytes > 0 ? raw_bytes : 0;
	pthread_mutex_unlock(&p->shared.lock);
	return bytes;
}
