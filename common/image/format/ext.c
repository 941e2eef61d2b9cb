/* ext.c: the extension area of a chunk is read, and the digests that it holds are
 * computed.  chunk.c and partial.c read areas with it, ext_put.c and packer.c write them,
 * in any thread, since nothing is kept here. */
#include "common/image/format/ext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/plain.h"
#include "common/base/rd.h"
#include "common/base/sha256.h"
#include "common/image/codec/codec.h"
#include "common/image/format/ext_impl.h"

size_t
ext_area_at(const struct ndz_header *h)
{
	return align8(NDZ_HEADER_BYTES + (size_t)h->size);
}

/* Read a string that is shown to people: what is harmful for a terminal is replaced. */
static void
get_string(struct rd *r, char *out, size_t cap)
{
	size_t len = rd_le16(r);
	const char *s = rd_bytes(r, len);

	out[0] = '\0';
	if (s == NULL)
		return;
	size_t n = len < cap ? len : cap - 1;
	memcpy(out, s, n);
	out[plain_bytes(out, n)] = '\0';
}

static void
get_image(struct ext *x, struct rd *r)
{
	struct ext_image *i = &x->image;

	i->kind = rd_u8(r);
	i->flags = rd_u8(r);
	rd_skip(r, 2);
	i->sector_bytes = rd_le32(r);
	i->source_bytes = rd_le64(r);
	i->made_at = rd_le64(r);
	get_string(r, i->tool, sizeof i->tool);
	get_string(r, i->filesystems, sizeof i->filesystems);
	if (rd_left(r) >= 8) /* images of earlier versions do not say it */
		i->needed_sectors = rd_le64(r);
	x->has_image = true;
}

static void
get_state(struct ext_state *s, struct rd *r)
{
	s->kind = rd_u8(r);
	s->hash = rd_u8(r);
	rd_skip(r, 2);
	s->block_sectors = rd_le32(r);
	rd_copy(r, s->id, sizeof s->id);
}

static int
get_freed(struct ext *x, struct rd *r, struct err *e)
{
	size_t n = rd_left(r) / FREED_ENTRY_BYTES;

	if (x->freed != NULL || rd_left(r) % FREED_ENTRY_BYTES != 0)
		return err_set(e, ERR_FORMAT, "the record of freed sectors is invalid");
	x->freed = calloc(n + 1, sizeof *x->freed);
	if (x->freed == NULL)
		return err_nomem(e, "freed sectors");
	x->nfreed = n;
	for (size_t i = 0; i < n; i++) {
		x->freed[i].off = rd_le64(r);
		x->freed[i].len = rd_le64(r);
	}
	return 0;
}

/* Read samples into *s, which has none.  Returns whether there are any, or -1. */
static int
get_samples(struct samples *s, struct rd *r, struct err *e)
{
	if (s->v != NULL)
		return err_set(e, ERR_FORMAT, "two records of samples");
	return samples_get(s, r, e);
}

/* A signature can be encoded in one way only, so that its record has no bit that nobody
 * checks. */
static int
get_signature(struct ext *x, struct rd *r, struct err *e)
{
	bool canonical = rd_left(r) == EXT_SIGNATURE_BYTES - RECORD_HEAD_BYTES;

	if (rd_le32(r) != SIGNATURE_ED25519)
		return 0; /* of a later version: this program cannot check it */
	if (rd_le32(r) != 0 || !canonical)
		return err_set(e, ERR_FORMAT, "the record of the signature is invalid");
	rd_copy(r, x->key_id, sizeof x->key_id);
	rd_copy(r, x->signature, sizeof x->signature);
	x->has_signature = true;
	return 0;
}

static int
get_record(struct ext *x, const struct ndz_header *h, unsigned type, struct rd *r,
    struct err *e)
{
	int rc;

	switch (type) {
	case REC_UUID:
		rd_copy(r, x->uuid, sizeof x->uuid);
		x->has_uuid = true;
		break;
	case REC_DIGEST:
		x->has_digest = rd_le32(r) == DIGEST_SHA256;
		if (x->has_digest)
			rd_copy(r, x->digest, sizeof x->digest);
		break;
	case REC_HEADER:
		x->has_header_digest = rd_le32(r) == DIGEST_SHA256;
		if (x->has_header_digest)
			rd_copy(r, x->header_digest, sizeof x->header_digest);
		break;
	case REC_FRAGMENTS:
		if (ext_get_fragments(x, h, EXT_TABLE_WINDOWS, r, e) != 0)
			return -1;
		break;
	case REC_SECTORS:
		if (ext_get_fragments(x, h, EXT_TABLE_SECTORS, r, e) != 0)
			return -1;
		break;
	case REC_LAST:
		x->nchunks = rd_le32(r);
		x->last = true;
		break;
	case REC_IMAGE:
		get_image(x, r);
		break;
	case REC_STATE:
		get_state(&x->state, r);
		get_state(&x->base, r);
		x->has_state = true;
		break;
	case REC_SIGNATURE:
		if (get_signature(x, r, e) != 0)
			return -1;
		break;
	case REC_LOST:
		if (lost_get(&x->lost, r, e) != 0)
			return -1;
		break;
	case REC_TAIL:
		if (tail_get(&x->tail, r, e) != 0)
			return -1;
		break;
	case REC_REACH:
		if (reach_get(&x->reach, r, e) != 0)
			return -1;
		break;
	case REC_FREED:
		if (get_freed(x, r, e) != 0)
			return -1;
		break;
	case REC_SAMPLES:
		rc = get_samples(&x->samples, r, e);
		if (rc < 0)
			return -1;
		x->has_samples |= rc == 1;
		break;
	case REC_SHARED:
		if (get_samples(&x->shared, r, e) < 0)
			return -1;
		break;
	default:
		break; /* of a later version: skipped */
	}
	return rd_ok(r) ? 0
	                : err_set(e, ERR_FORMAT,
			      "record %u of the extension area is too short", type);
}

/* Freed ranges must ascend, lie in the chunk's own sectors, and hold none that it stores. */
static int
check_freed(const struct ext *x, const struct ndz_header *h, struct err *e)
{
	uint64_t at = h->firstsect;
	unsigned k = 0;

	for (size_t i = 0; i < x->nfreed; i++) {
		struct range r = x->freed[i];
		if (r.len == 0 || r.off < at || !range_within(r, h->lastsect))
			return err_set(
			    e, ERR_FORMAT, "the record of freed sectors is invalid");
		at = range_end(r);
		while (k < h->nregions && range_end(h->regions[k]) <= r.off)
			k++;
		if (k < h->nregions && h->regions[k].off < at)
			return err_set(e, ERR_FORMAT,
			    "sectors that the chunk stores are listed as free");
	}
	return 0;
}

/* Only chunk 0 may have samples of sectors that belong to other chunks. */
static int
check_samples(const struct ext *x, const struct ndz_header *h, struct err *e)
{
	uint64_t at = h->firstsect;

	for (size_t i = 0; h->index != 0 && i < x->samples.n; i++) {
		struct range r = x->samples.v[i].sectors;
		if (r.off < at || !range_within(r, h->lastsect))
			return err_set(e, ERR_FORMAT,
			    "samples of the base overlap, or are of another chunk's "
			    "sectors");
		at = range_end(r);
	}
	return 0;
}

/* A shared sample has some of the chunk's sectors, and others. */
static int
check_shared(const struct ext *x, const struct ndz_header *h, struct err *e)
{
	uint64_t at = 0;

	for (size_t i = 0; i < x->shared.n; i++) {
		struct range r = x->shared.v[i].sectors;
		uint64_t of_own = range_clip(r, h->firstsect, h->lastsect).len;
		if (i == SAMPLES_SHARED_MAX || r.off < at || of_own == 0 ||
		    of_own == r.len)
			return err_set(e, ERR_FORMAT,
			    "samples that the chunk shares with others overlap, or are "
			    "not of its border");
		at = range_end(r);
	}
	return 0;
}

static int
check_tail(const struct ext *x, const struct ndz_header *h, struct err *e)
{
	if (x->tail.n == 0 || h->lastsect <= x->tail.disk_sectors)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "the chunk covers more sectors than the disk whose end its record "
	    "describes");
}

static int
get_records(struct ext *x, const struct ndz_header *h, struct rd r, struct err *e)
{
	x->records_bytes = rd_left(&r);
	while (rd_left(&r) > 0) {
		unsigned type = rd_le16(&r), reserved = rd_le16(&r);
		if (x->has_signature || (type == REC_SIGNATURE && reserved != 0))
			return err_set(
			    e, ERR_FORMAT, "the signature is not the last record");
		uint32_t len = rd_le32(&r);
		struct rd body = rd_sub(&r, len);
		rd_skip(&r, align8(len) - len);
		if (!rd_ok(&r))
			return err_set(e, ERR_FORMAT,
			    "a record of the extension area is cut short");
		if (get_record(x, h, type, &body, e) != 0)
			return -1;
	}
	if (x->has_signature)
		x->records_bytes -= EXT_SIGNATURE_BYTES;
	return 0;
}

size_t
ext_area_bytes(const struct ndz_header *h, const void *chunk)
{
	size_t at = ext_area_at(h);

	if (at + HEAD_BYTES > NDZ_CHUNK_BYTES)
		return 0;
	struct rd r = rd_from((const uint8_t *)chunk + at, HEAD_BYTES);
	const void *m = rd_bytes(&r, sizeof ext_magic);
	uint32_t total = rd_le32(&r);
	if (m == NULL || memcmp(m, ext_magic, sizeof ext_magic) != 0 ||
	    total < HEAD_BYTES || total > NDZ_CHUNK_BYTES - at)
		return 0;
	return total;
}

int
ext_get(struct ext *x, const struct ndz_header *h, const void *chunk, struct err *e)
{
	size_t at = ext_area_at(h);

	memset(x, 0, sizeof *x);
	if (at + HEAD_BYTES > NDZ_CHUNK_BYTES)
		return 0;
	struct rd r = rd_from((const uint8_t *)chunk + at, NDZ_CHUNK_BYTES - at);
	const void *m = rd_bytes(&r, sizeof ext_magic);
	if (m == NULL || memcmp(m, ext_magic, sizeof ext_magic) != 0)
		return 0;
	uint32_t total = rd_le32(&r), crc = rd_le32(&r);
	if (total < HEAD_BYTES || total - HEAD_BYTES > rd_left(&r))
		return err_set(
		    e, ERR_FORMAT, "the extension area does not fit its chunk");
	r = rd_sub(&r, total - HEAD_BYTES);
	x->records_at = at + HEAD_BYTES;
	if ((uint32_t)crc32(0, r.base, (uInt)r.len) != crc)
		return err_set(
		    e, ERR_FORMAT, "the checksum of the extension area is wrong");
	if (get_records(x, h, r, e) != 0 || ext_check_fragments(x, h, e) != 0 ||
	    check_freed(x, h, e) != 0 || check_samples(x, h, e) != 0 ||
	    check_shared(x, h, e) != 0 || check_tail(x, h, e) != 0) {
		ext_free(x);
		return -1;
	}
	x->present = true;
	return 0;
}

void
ext_free(struct ext *x)
{
	free(x->fragments);
	x->fragments = NULL;
	x->nfragments = 0;
	free(x->freed);
	x->freed = NULL;
	x->nfreed = 0;
	samples_free(&x->samples);
	samples_free(&x->shared);
	lost_free(&x->lost);
	free(x->reach);
	x->reach = NULL;
}

bool
ext_is_delta(const struct ext *x)
{
	return x->has_state && x->base.kind != EXT_STATE_NONE;
}

bool
ext_state_same(const struct ext_state *a, const struct ext_state *b)
{
	return a->kind == b->kind && a->hash == b->hash &&
	       a->block_sectors == b->block_sectors &&
	       memcmp(a->id, b->id, sizeof a->id) == 0;
}

const char *
ext_state_text(const struct ext_state *s, char *buf, size_t cap)
{
	static const char *const names[] = { "nothing", "UUID", "file with SHA-256",
		"signature with SHA-256" };
	size_t bytes = s->kind == EXT_STATE_UUID ? NDZ_UUID_BYTES : sizeof s->id;
	size_t n = (size_t)snprintf(buf, cap, "%s ",
	    s->kind < sizeof names / sizeof names[0] ? names[s->kind]
						     : "state of an unknown kind,");

	for (size_t i = 0; i < bytes && s->kind != EXT_STATE_NONE && n + 2 < cap; i++)
		n += (size_t)snprintf(buf + n, cap - n, "%02x", s->id[i]);
	return buf;
}

void
ext_header_digest(const void *chunk, uint8_t digest[EXT_DIGEST_BYTES])
{
	sha256(chunk, NDZ_HEADER_BYTES, digest);
}

void
ext_chunk_digest(
    const struct ndz_header *h, const void *chunk, uint8_t digest[EXT_DIGEST_BYTES])
{
	sha256(chunk, NDZ_HEADER_BYTES + (size_t)h->size, digest);
}

void
ext_chunk_digests(const struct ndz_header *h, const void *chunk,
    uint8_t digest[EXT_DIGEST_BYTES], const struct ndz_header *h2, const void *chunk2,
    uint8_t digest2[EXT_DIGEST_BYTES])
{
	sha256_pair(chunk, NDZ_HEADER_BYTES + (size_t)h->size, chunk2,
	    NDZ_HEADER_BYTES + (size_t)h2->size, digest, digest2);
}
