/* samples.c: the samples of a delta's base, to bytes and back, and their digests.  ext.c
 * and ext_put.c read and write them with the other records, basis.c collects them while a
 * delta is made, and the installers' gate.c compares them with the disk.  Any thread may
 * call this. */
#include "common/image/format/samples.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/sha256.h"

enum {
	HEAD_BYTES = 8,    /* hash, bytes of a digest, two zeros, number of samples */
	SAMPLE_BYTES = 48, /* first sector, sectors, zeros, two digests */
};

void
samples_free(struct samples *s)
{
	free(s->v);
	s->v = NULL;
	s->n = s->cap = 0;
}

int
samples_add(struct samples *s, const struct sample *x, struct err *e)
{
	if (grow_array(&s->v, &s->cap, s->n, sizeof *s->v, "samples of the base", e) != 0)
		return -1;
	s->v[s->n++] = *x;
	return 0;
}

void
samples_thin(struct samples *s, size_t most)
{
	if (s->n <= most)
		return;
	for (size_t i = 0; i < most; i++)
		s->v[i] = s->v[i * s->n / most];
	s->n = most;
}

bool
sample_stays(const struct sample *x)
{
	return memcmp(x->before, x->after, sizeof x->before) == 0;
}

int
sample_digest(enum sample_hash hash, const void *data, size_t bytes,
    uint8_t digest[SAMPLE_DIGEST_BYTES], struct err *e)
{
	uint8_t all[EVP_MAX_MD_SIZE];

	if (hash == SAMPLE_SHA256)
		sha256(data, bytes, all);
	else if (EVP_Q_digest(NULL, hash == SAMPLE_MD5 ? "MD5" : "SHA1", NULL, data,
		     bytes, all, NULL) != 1)
		return err_set(e, ERR_UNSUPPORTED, "the hash %s is not available",
		    hash == SAMPLE_MD5 ? "MD5" : "SHA-1");
	memcpy(digest, all, SAMPLE_DIGEST_BYTES);
	return 0;
}

static bool
get_sample(struct sample *x, struct rd *r)
{
	x->sectors.off = rd_le64(r);
	x->sectors.len = rd_le32(r);
	rd_skip(r, 4);
	rd_copy(r, x->before, sizeof x->before);
	rd_copy(r, x->after, sizeof x->after);
	return x->sectors.len > 0 && x->sectors.len <= SAMPLE_SECTORS_MAX &&
	       range_within(x->sectors, INT64_MAX / SECTOR_BYTES);
}

int
samples_get(struct samples *s, struct rd *r, struct err *e)
{
	uint8_t hash = rd_u8(r), digest_bytes = rd_u8(r);

	rd_skip(r, 2);
	uint32_t n = rd_le32(r);
	if (hash < SAMPLE_MD5 || hash > SAMPLE_SHA256 ||
	    digest_bytes != SAMPLE_DIGEST_BYTES)
		return 0;
	if (n > SAMPLES_MAX || !rd_can_hold(r, n, SAMPLE_BYTES))
		return err_set(
		    e, ERR_FORMAT, "the record of samples cannot hold %u of them", n);
	*s = (struct samples){ .hash = hash, .cap = n + 1u };
	s->v = calloc(s->cap, sizeof *s->v);
	if (s->v == NULL)
		return err_nomem(e, "samples of the base");
	for (; s->n < n; s->n++)
		if (!get_sample(&s->v[s->n], r))
			return err_set(
			    e, ERR_FORMAT, "the record of samples is invalid");
	return 1;
}

void
samples_put(const struct samples *s, struct wr *w)
{
	wr_u8(w, (uint8_t)s->hash);
	wr_u8(w, SAMPLE_DIGEST_BYTES);
	wr_le16(w, 0);
	wr_le32(w, (uint32_t)s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct sample *x = &s->v[i];
		wr_le64(w, x->sectors.off);
		wr_le32(w, (uint32_t)x->sectors.len);
		wr_le32(w, 0);
		wr_bytes(w, x->before, sizeof x->before);
		wr_bytes(w, x->after, sizeof x->after);
	}
}

size_t
samples_bytes(size_t n)
{
	return HEAD_BYTES + n * SAMPLE_BYTES;
}
