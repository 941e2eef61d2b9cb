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

/* What a record is read into, and what its chunk has. */
struct into {
	struct ext *x;
	const struct ndz_header *h;
};

static int
get_uuid(const struct into *to, struct rd *r, struct err *e)
{
	(void)e;
	rd_copy(r, to->x->uuid, sizeof to->x->uuid);
	to->x->has_uuid = true;
	return 0;
}

/* Read a digest, if it is one that is known. */
static bool
get_digest(uint8_t digest[SHA256_BYTES], struct rd *r)
{
	if (rd_le32(r) != DIGEST_SHA256)
		return false;
	rd_copy(r, digest, SHA256_BYTES);
	return true;
}

static int
get_chunk_digest(const struct into *to, struct rd *r, struct err *e)
{
	(void)e;
	to->x->has_digest = get_digest(to->x->digest, r);
	return 0;
}

static int
get_header_digest(const struct into *to, struct rd *r, struct err *e)
{
	(void)e;
	to->x->has_header_digest = get_digest(to->x->header_digest, r);
	return 0;
}

static int
get_windows(const struct into *to, struct rd *r, struct err *e)
{
	return ext_get_fragments(to->x, to->h, EXT_TABLE_WINDOWS, r, e);
}

static int
get_sectors(const struct into *to, struct rd *r, struct err *e)
{
	return ext_get_fragments(to->x, to->h, EXT_TABLE_SECTORS, r, e);
}

static int
get_last(const struct into *to, struct rd *r, struct err *e)
{
	(void)e;
	to->x->nchunks = rd_le32(r);
	to->x->last = true;
	return 0;
}

static int
get_image(const struct into *to, struct rd *r, struct err *e)
{
	struct ext *x = to->x;
	struct ext_image *i = &x->image;

	(void)e;
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
	return 0;
}

static void
get_one_state(struct ext_state *s, struct rd *r)
{
	s->kind = rd_u8(r);
	s->hash = rd_u8(r);
	rd_skip(r, 2);
	s->block_sectors = rd_le32(r);
	rd_copy(r, s->id, sizeof s->id);
}

static int
get_states(const struct into *to, struct rd *r, struct err *e)
{
	(void)e;
	get_one_state(&to->x->state, r);
	get_one_state(&to->x->base, r);
	to->x->has_state = true;
	return 0;
}

static int
get_freed(const struct into *to, struct rd *r, struct err *e)
{
	struct ext *x = to->x;
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
get_some(struct samples *s, struct rd *r, struct err *e)
{
	if (s->v != NULL)
		return err_set(e, ERR_FORMAT, "two records of samples");
	return samples_get(s, r, e);
}

static int
get_samples(const struct into *to, struct rd *r, struct err *e)
{
	int rc = get_some(&to->x->samples, r, e);

	to->x->has_samples |= rc == 1;
	return rc < 0 ? -1 : 0;
}

static int
get_shared(const struct into *to, struct rd *r, struct err *e)
{
	return get_some(&to->x->shared, r, e) < 0 ? -1 : 0;
}

static int
get_lost(const struct into *to, struct rd *r, struct err *e)
{
	return lost_get(&to->x->lost, r, e);
}

static int
get_tail(const struct into *to, struct rd *r, struct err *e)
{
	return tail_get(&to->x->tail, r, e);
}

static int
get_reach(const struct into *to, struct rd *r, struct err *e)
{
	return reach_get(&to->x->reach, r, e);
}

/* A signature can be encoded in one way only, so that its record has no bit that nobody
 * checks. */
static int
get_signature(const struct into *to, struct rd *r, struct err *e)
{
	struct ext *x = to->x;
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

static int (*const getters[])(const struct into *, struct rd *, struct err *) = {
	[REC_UUID] = get_uuid,
	[REC_DIGEST] = get_chunk_digest,
	[REC_FRAGMENTS] = get_windows,
	[REC_LAST] = get_last,
	[REC_IMAGE] = get_image,
	[REC_SIGNATURE] = get_signature,
	[REC_STATE] = get_states,
	[REC_FREED] = get_freed,
	[REC_LOST] = get_lost,
	[REC_HEADER] = get_header_digest,
	[REC_SAMPLES] = get_samples,
	[REC_TAIL] = get_tail,
	[REC_SECTORS] = get_sectors,
	[REC_REACH] = get_reach,
	[REC_SHARED] = get_shared,
};

static int
get_record(struct ext *x, const struct ndz_header *h, unsigned type, struct rd *r,
    struct err *e)
{
	const struct into to = { x, h };

	/* Those of a later version are skipped. */
	if (type < sizeof getters / sizeof getters[0] && getters[type] != NULL &&
	    getters[type](&to, r, e) != 0)
		return -1;
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

/* The list of filesystems begins with the number of a partition; 0 means a disk without
 * partitions. */
bool
ext_is_partitioned(const struct ext *x)
{
	return x->has_image && x->image.kind == EXT_KIND_DISK &&
	       strtoul(x->image.filesystems, NULL, 10) != 0;
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
