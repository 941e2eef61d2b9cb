/* sighash.c: the hashes of a signature are made of stored sectors in ascending order.
 * capture.c, delta.c and sigimage.c call this, each maker in one thread; imagehash calls
 * sig_hash_range() for each block that it compares. */
#include "common/image/write/sighash.h"

#include <assert.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_SECTORS = 2048 };

struct sigmaker {
	struct sig sig;
	EVP_MD_CTX *md;
	EVP_MD *type;
	struct sig_record open; /* count 0: there is none */
};

static EVP_MD *
fetch(enum sig_hash hash)
{
	return EVP_MD_fetch(NULL, hash == SIG_MD5 ? "MD5" : "SHA1", NULL);
}

int
sigmaker_new(
    struct sigmaker **out, enum sig_hash hash, uint32_t block_sectors, struct err *e)
{
	struct sigmaker *m = calloc(1, sizeof *m);

	assert(block_sectors > 0 && block_sectors <= SIG_BLOCK_MAX);
	if (m == NULL)
		return err_nomem(e, "a signature");
	m->sig = (struct sig){
		.version = SIG_VERSION, .hash = hash, .block_sectors = block_sectors
	};
	m->md = EVP_MD_CTX_new();
	m->type = fetch(hash);
	if (m->md == NULL || m->type == NULL) {
		sigmaker_free(m);
		return err_set(e, ERR_UNSUPPORTED, "the hash %s is not available",
		    sig_hash_name(hash));
	}
	*out = m;
	return 0;
}

void
sigmaker_free(struct sigmaker *m)
{
	if (m == NULL)
		return;
	EVP_MD_CTX_free(m->md);
	EVP_MD_free(m->type);
	sig_free(&m->sig);
	free(m);
}

static int
end_record(struct sigmaker *m, struct err *e)
{
	if (m->open.count == 0)
		return 0;
	int ok = EVP_DigestFinal_ex(m->md, m->open.hash, NULL);
	assert(ok);
	int rc = sig_add(&m->sig, &m->open, e);
	m->open = (struct sig_record){ 0 };
	return rc;
}

static void
begin_record(struct sigmaker *m, uint32_t start, uint32_t chunk)
{
	int ok = EVP_DigestInit_ex2(m->md, m->type, NULL);

	assert(ok);
	m->open = (struct sig_record){ .start = start, .chunk = chunk };
}

/* Add sectors that lie in one block. */
static int
add_piece(struct sigmaker *m, uint32_t start, uint32_t count, const void *data,
    uint32_t chunk, struct err *e)
{
	struct sig_record *o = &m->open;
	uint64_t end = (uint64_t)o->start + o->count;
	bool goes_on = o->count > 0 && end == start &&
	               o->start / m->sig.block_sectors == start / m->sig.block_sectors;

	assert(o->count == 0 || start >= end);
	if (!goes_on) {
		if (end_record(m, e) != 0)
			return -1;
		begin_record(m, start, chunk);
	}
	o->continues |= chunk != o->chunk;
	o->count += count;
	int ok = EVP_DigestUpdate(m->md, data, (size_t)count * SECTOR_BYTES);
	assert(ok);
	return 0;
}

int
sigmaker_add(
    struct sigmaker *m, struct range r, const void *data, uint32_t chunk, struct err *e)
{
	const uint8_t *p = data;

	if (range_end(r) > SIG_SECTORS_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "a signature cannot describe sectors from 2^32 on, and sector "
		    "%" PRIu64 " is stored",
		    range_end(r) - 1);
	while (r.len > 0) {
		uint64_t left = m->sig.block_sectors - r.off % m->sig.block_sectors;
		uint32_t now = (uint32_t)(r.len < left ? r.len : left);
		if (add_piece(m, (uint32_t)r.off, now, p, chunk, e) != 0)
			return -1;
		p += (size_t)now * SECTOR_BYTES;
		r.off += now;
		r.len -= now;
	}
	return 0;
}

int
sigmaker_add_window(struct sigmaker *m, const struct window *w, const void *data,
    uint32_t chunk, struct err *e)
{
	const uint8_t *p = data;

	for (unsigned i = 0; i < w->nregions; i++) {
		if (sigmaker_add(m, w->regions[i], p, chunk, e) != 0)
			return -1;
		p += w->regions[i].len * SECTOR_BYTES;
	}
	return 0;
}

int
sigmaker_finish(struct sigmaker *m, struct sig *s, struct err *e)
{
	if (end_record(m, e) != 0)
		return -1;
	*s = m->sig;
	m->sig.records = NULL;
	m->sig.n = m->sig.cap = 0;
	return 0;
}

static int
hash_pieces(EVP_MD_CTX *md, struct range r,
    int (*read)(void *arg, struct range, void *buf, struct err *), void *arg, void *buf,
    struct err *e)
{
	while (r.len > 0) {
		struct range now = { r.off,
			r.len < PIECE_SECTORS ? r.len : PIECE_SECTORS };
		if (read(arg, now, buf, e) != 0)
			return -1;
		int ok = EVP_DigestUpdate(md, buf, now.len * SECTOR_BYTES);
		assert(ok);
		r.off += now.len;
		r.len -= now.len;
	}
	return 0;
}

int
sig_hash_range(enum sig_hash hash, struct range r,
    int (*read)(void *arg, struct range, void *buf, struct err *), void *arg,
    uint8_t out[SIG_HASH_MAX], struct err *e)
{
	uint64_t most = r.len < PIECE_SECTORS ? r.len : PIECE_SECTORS;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	EVP_MD *type = fetch(hash);
	void *buf = malloc(most * SECTOR_BYTES);
	int rc = 0;

	memset(out, 0, SIG_HASH_MAX);
	if (md == NULL || type == NULL || buf == NULL ||
	    EVP_DigestInit_ex2(md, type, NULL) != 1)
		rc = err_nomem(e, "a hash");
	else
		rc = hash_pieces(md, r, read, arg, buf, e);
	if (rc == 0 && EVP_DigestFinal_ex(md, out, NULL) != 1)
		rc = err_nomem(e, "a hash");
	EVP_MD_CTX_free(md);
	EVP_MD_free(type);
	free(buf);
	return rc;
}
