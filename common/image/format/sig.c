/* sig.c: the records of a signature file in memory: to bytes and back, searched and added
 * up.  imagehash and imagezip -H call this in their first thread, and sighash.c in the
 * thread that makes an image. */
#include "common/image/format/sig.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/grow.h"
#include "common/base/rd.h"
#include "common/base/wr.h"

static const char magic[SIG_MAGIC_BYTES] = ".ndzsig";

enum {
	VERSION_1 = 0x20031107,
	VERSION_2 = 0x20140618,
	CONTINUES = 1u << 31,
};

bool
sig_begins(const uint8_t head[SIG_MAGIC_BYTES])
{
	return memcmp(head, magic, sizeof magic) == 0;
}

const char *
sig_hash_name(enum sig_hash h)
{
	return h == SIG_MD5 ? "md5" : "sha1";
}

size_t
sig_hash_bytes(enum sig_hash h)
{
	return h == SIG_MD5 ? 16 : 20;
}

/* Returns the number of records, or -1. */
static int64_t
get_header(struct sig *s, struct rd *r, struct err *e)
{
	const void *m = rd_bytes(r, sizeof magic);
	uint32_t version = rd_le32(r), hash = rd_le32(r), n = rd_le32(r),
		 block = rd_le32(r);

	rd_skip(r, 8);
	if (m != NULL && memcmp(m, magic, sizeof magic) != 0)
		return err_set(e, ERR_FORMAT, "not a signature file");
	if (!rd_ok(r))
		return err_set(e, ERR_FORMAT, "truncated in the header of a signature");
	if (version != VERSION_1 && version != VERSION_2)
		return err_set(e, ERR_UNSUPPORTED,
		    "signatures of version 0x%08x cannot be read", version);
	if (hash != SIG_MD5 && hash != SIG_SHA1)
		return err_set(e, ERR_UNSUPPORTED,
		    "signatures with hash %u cannot be read (1: MD5, "
		    "2: SHA-1)",
		    hash);
	s->version = version == VERSION_1 ? 1 : 2;
	s->hash = (enum sig_hash)hash;
	s->block_sectors = version == VERSION_1 ? SIG_BLOCK_SECTORS : block;
	if (s->block_sectors == 0 || s->block_sectors > SIG_BLOCK_MAX)
		return err_set(e, ERR_FORMAT,
		    "blocks of %u sectors (1 to %d are possible)", block,
		    SIG_BLOCK_MAX);
	if ((uint64_t)n * SIG_RECORD_BYTES != rd_left(r))
		return err_set(e, ERR_FORMAT,
		    "its header claims %u records, and %zu bytes follow", n,
		    rd_left(r));
	return n;
}

static int
get_record(struct sig *s, size_t i, struct rd *r, struct err *e)
{
	struct sig_record *x = &s->records[i];
	uint32_t chunk;

	x->start = rd_le32(r);
	x->count = rd_le32(r);
	chunk = rd_le32(r);
	rd_copy(r, x->hash, sizeof x->hash);
	x->chunk = chunk & ~CONTINUES;
	x->continues = (chunk & CONTINUES) != 0;
	if (x->count == 0 || x->count > SIG_SECTORS_MAX - x->start)
		return err_set(e, ERR_FORMAT, "record %zu has %u sectors from %u on", i,
		    x->count, x->start);
	if (x->start / s->block_sectors != (x->start + (x->count - 1)) / s->block_sectors)
		return err_set(e, ERR_FORMAT,
		    "record %zu leaves its block of %u sectors", i, s->block_sectors);
	if (i > 0 && x->start < (uint64_t)x[-1].start + x[-1].count)
		return err_set(e, ERR_FORMAT,
		    "record %zu does not come after the one before it", i);
	return 0;
}

int
sig_get(struct sig *s, const void *bytes, size_t len, struct err *e)
{
	struct rd r = rd_from(bytes, len);

	memset(s, 0, sizeof *s);
	int64_t n = get_header(s, &r, e);
	if (n < 0)
		return -1;
	s->records = calloc((size_t)n + 1, sizeof *s->records);
	if (s->records == NULL)
		return err_nomem(e, "a signature");
	s->cap = (size_t)n + 1;
	for (; s->n < (size_t)n; s->n++)
		if (get_record(s, s->n, &r, e) != 0) {
			sig_free(s);
			return -1;
		}
	return 0;
}

size_t
sig_bytes(const struct sig *s)
{
	return SIG_HEADER_BYTES + s->n * SIG_RECORD_BYTES;
}

void
sig_put(const struct sig *s, void *buf)
{
	struct wr w = wr_to(buf, sig_bytes(s));

	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, s->version == 1 ? VERSION_1 : VERSION_2);
	wr_le32(&w, s->hash);
	wr_le32(&w, (uint32_t)s->n);
	wr_le32(&w, s->version == 1 ? 0 : s->block_sectors);
	wr_zero(&w, 8);
	for (size_t i = 0; i < s->n; i++) {
		const struct sig_record *x = &s->records[i];
		wr_le32(&w, x->start);
		wr_le32(&w, x->count);
		wr_le32(&w, x->chunk | (x->continues ? CONTINUES : 0));
		wr_bytes(&w, x->hash, sizeof x->hash);
	}
	assert(wr_ok(&w));
}

void
sig_free(struct sig *s)
{
	free(s->records);
	memset(s, 0, sizeof *s);
}

int
sig_add(struct sig *s, const struct sig_record *x, struct err *e)
{
	if (grow_array(&s->records, &s->cap, s->n, sizeof *s->records, "a signature", e) != 0)
		return -1;
	s->records[s->n++] = *x;
	return 0;
}

static bool
starts_before(const void *sig, size_t i, uint64_t start)
{
	const struct sig *s = sig;

	return s->records[i].start < start;
}

struct sig_record *
sig_find(const struct sig *s, uint32_t start)
{
	size_t lo = bisect(s->n, s, start, starts_before);

	return lo < s->n && s->records[lo].start == start ? &s->records[lo] : NULL;
}

int
sig_sectors(const struct sig *s, struct rangeset *set, struct err *e)
{
	for (size_t i = 0; i < s->n; i++)
		if (rangeset_add(set,
			(struct range){ s->records[i].start, s->records[i].count },
			e) != 0)
			return -1;
	return 0;
}

void
sig_state(const struct sig *s, struct ext_state *state)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int ok = md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL);

	for (size_t i = 0; i < s->n && ok; i++) {
		uint8_t buf[8 + SIG_HASH_MAX];
		struct wr w = wr_to(buf, sizeof buf);
		wr_le32(&w, s->records[i].start);
		wr_le32(&w, s->records[i].count);
		wr_bytes(&w, s->records[i].hash, sig_hash_bytes(s->hash));
		ok = EVP_DigestUpdate(md, buf, wr_len(&w));
	}
	*state = (struct ext_state){ .kind = EXT_STATE_SIGNATURE,
		.hash = (uint8_t)s->hash,
		.block_sectors = s->block_sectors };
	ok = ok && EVP_DigestFinal_ex(md, state->id, NULL);
	EVP_MD_CTX_free(md);
	assert(ok);
}

bool
sig_is_same(const struct sig *a, const struct sig *b, uint32_t *sector)
{
	size_t n = a->n < b->n ? a->n : b->n, i = 0;

	for (; i < n; i++) {
		const struct sig_record *x = &a->records[i], *y = &b->records[i];
		if (x->start != y->start || x->count != y->count ||
		    memcmp(x->hash, y->hash, sig_hash_bytes(a->hash)) != 0)
			break;
	}
	if (i < a->n || i < b->n)
		*sector = i < a->n ? a->records[i].start : b->records[i].start;
	return i == a->n && i == b->n;
}
