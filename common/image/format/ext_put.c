/* ext_put.c: the extension area of ext.h is written, and the room that it takes is computed.
 * packer.c calls this in the thread that makes the image, as sign.c does to add the
 * signature; partial.c guesses sizes with it, in any thread. */
#include <string.h>
#include <zlib.h>

#include "common/base/wr.h"
#include "common/image/codec/codec.h"
#include "common/image/format/ext_impl.h"

/* Put a record's head; its length is known when its body is there. */
static uint8_t *
begin_record(struct wr *w, enum record_type type)
{
	wr_le16(w, (uint16_t)type);
	wr_le16(w, 0);
	return wr_room(w, 4);
}

static void
end_record(struct wr *w, uint8_t *len_at)
{
	if (len_at == NULL || !wr_ok(w))
		return;
	size_t len = (size_t)(w->base + w->off - (len_at + 4));
	struct wr lw = wr_to(len_at, 4);
	wr_le32(&lw, (uint32_t)len);
	wr_zero(w, align8(len) - len);
}

/* The bits above the length in an entry that is not zero: its windows or sectors, less one. */
static uint32_t
entry_bits(enum ext_table kind, const struct ext_fragment *f)
{
	return kind == EXT_TABLE_SECTORS
	           ? (uint32_t)(f->sectors - 1) << SECTORS_SHIFT
	           : (uint32_t)(f->windows - 1) << ENTRY_WINDOWS_SHIFT;
}

void
ext_put_entry(
    enum ext_table kind, const struct ext_fragment *f, uint8_t out[EXT_ENTRY_BYTES])
{
	struct wr w = wr_to(out, EXT_ENTRY_BYTES);

	wr_le32(&w, f->bytes | (f->zero ? ZERO_RUN : entry_bits(kind, f)));
	if (f->zero) {
		wr_le64(&w, kind == EXT_TABLE_SECTORS ? f->sectors : f->windows);
		wr_zero(&w, EXT_FRAGMENT_DIGEST_BYTES - 8);
	} else {
		wr_bytes(&w, f->digest, EXT_FRAGMENT_DIGEST_BYTES);
	}
}

static void
put_fragments(struct wr *w, const struct ext *x, const struct ndz_header *h)
{
	bool by_sectors = x->table == EXT_TABLE_SECTORS;
	uint8_t *at = begin_record(w, by_sectors ? REC_SECTORS : REC_FRAGMENTS);

	wr_u8(w, (uint8_t)ndz_header_codec(h)->id);
	wr_u8(w, DIGEST_SHA256);
	wr_u8(w, EXT_FRAGMENT_DIGEST_BYTES);
	wr_u8(w, by_sectors ? 0 : WINDOW_LOG2);
	wr_le32(w, (uint32_t)x->nfragments);
	for (size_t i = 0; i < x->nfragments; i++) {
		uint8_t *entry = wr_room(w, EXT_ENTRY_BYTES);
		if (entry != NULL)
			ext_put_entry(x->table, &x->fragments[i], entry);
	}
	end_record(w, at);
}

static void
put_string(struct wr *w, const char *s)
{
	size_t n = strlen(s);

	wr_le16(w, (uint16_t)n);
	wr_bytes(w, s, n);
}

static void
put_image(struct wr *w, const struct ext_image *i)
{
	uint8_t *at = begin_record(w, REC_IMAGE);

	wr_u8(w, (uint8_t)i->kind);
	wr_u8(w, i->flags);
	wr_zero(w, 2);
	wr_le32(w, i->sector_bytes);
	wr_le64(w, i->source_bytes);
	wr_le64(w, i->made_at);
	put_string(w, i->tool);
	put_string(w, i->filesystems);
	wr_le64(w, i->needed_sectors);
	end_record(w, at);
}

static void
put_state(struct wr *w, const struct ext_state *s)
{
	wr_u8(w, s->kind);
	wr_u8(w, s->hash);
	wr_le16(w, 0);
	wr_le32(w, s->block_sectors);
	wr_bytes(w, s->id, sizeof s->id);
}

static void
put_freed(struct wr *w, const struct ext *x)
{
	uint8_t *at = begin_record(w, REC_FREED);

	for (size_t i = 0; i < x->nfreed; i++) {
		wr_le64(w, x->freed[i].off);
		wr_le64(w, x->freed[i].len);
	}
	end_record(w, at);
}

static void
put_records(struct wr *w, const struct ext *x, const struct ndz_header *h)
{
	uint8_t *at;

	if (x->has_image)
		put_image(w, &x->image);
	if (x->has_uuid) {
		at = begin_record(w, REC_UUID);
		wr_bytes(w, x->uuid, sizeof x->uuid);
		end_record(w, at);
	}
	if (x->has_digest) {
		at = begin_record(w, REC_DIGEST);
		wr_le32(w, DIGEST_SHA256);
		wr_bytes(w, x->digest, sizeof x->digest);
		end_record(w, at);
	}
	if (x->has_header_digest) {
		at = begin_record(w, REC_HEADER);
		wr_le32(w, DIGEST_SHA256);
		wr_bytes(w, x->header_digest, sizeof x->header_digest);
		end_record(w, at);
	}
	if (x->last) {
		at = begin_record(w, REC_LAST);
		wr_le32(w, x->nchunks);
		end_record(w, at);
	}
	if (x->lost.nranges > 0) {
		at = begin_record(w, REC_LOST);
		lost_put(&x->lost, w);
		end_record(w, at);
	}
	if (x->tail.n > 0) {
		at = begin_record(w, REC_TAIL);
		tail_put(&x->tail, w);
		end_record(w, at);
	}
	if (x->reach != NULL) {
		at = begin_record(w, REC_REACH);
		reach_put(x->reach, w);
		end_record(w, at);
	}
	if (x->has_state) {
		at = begin_record(w, REC_STATE);
		put_state(w, &x->state);
		put_state(w, &x->base);
		end_record(w, at);
	}
	if (x->has_samples) {
		at = begin_record(w, REC_SAMPLES);
		samples_put(&x->samples, w);
		end_record(w, at);
	}
	if (x->shared.n > 0) {
		at = begin_record(w, REC_SHARED);
		samples_put(&x->shared, w);
		end_record(w, at);
	}
	if (x->fragments != NULL)
		put_fragments(w, x, h);
	if (x->nfreed > 0)
		put_freed(w, x);
}

/* Write the length and the CRC-32 of an area of n bytes. */
static void
put_sums(uint8_t *base, size_t n)
{
	struct wr head = wr_to(base + sizeof ext_magic, 8);

	wr_le32(&head, (uint32_t)n);
	wr_le32(&head, (uint32_t)crc32(0, base + CRC_FROM, (uInt)(n - CRC_FROM)));
}

int
ext_put(const struct ext *x, const struct ndz_header *h, void *chunk, struct err *e)
{
	size_t at = ext_area_at(h);

	if (at > NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT, "no room for the extension area");
	uint8_t *base = (uint8_t *)chunk + at;
	struct wr w = wr_to(base, NDZ_CHUNK_BYTES - at);
	wr_bytes(&w, ext_magic, sizeof ext_magic);
	wr_zero(&w, HEAD_BYTES - sizeof ext_magic);
	put_records(&w, x, h);
	if (!wr_ok(&w))
		return err_set(e, ERR_FORMAT, "no room for the extension area");
	put_sums(base, wr_len(&w));
	return 0;
}

int
ext_add_signature(const struct ndz_header *h, void *chunk,
    const uint8_t key_id[EXT_KEY_ID_BYTES],
    const uint8_t signature[EXT_SIGNATURE_RAW_BYTES], struct err *e)
{
	struct ext x;

	if (ext_get(&x, h, chunk, e) != 0)
		return -1;
	size_t end = x.records_at + x.records_bytes;
	bool possible = x.present && !x.has_signature;
	ext_free(&x);
	struct wr w = wr_to(
	    (uint8_t *)chunk + end, possible ? NDZ_CHUNK_BYTES - end : 0);
	uint8_t *at = begin_record(&w, REC_SIGNATURE);
	wr_le32(&w, SIGNATURE_ED25519);
	wr_le32(&w, 0);
	wr_bytes(&w, key_id, EXT_KEY_ID_BYTES);
	wr_bytes(&w, signature, EXT_SIGNATURE_RAW_BYTES);
	end_record(&w, at);
	if (!wr_ok(&w))
		return err_set(e, ERR_FORMAT, "no room for a signature");
	uint8_t *base = (uint8_t *)chunk + ext_area_at(h);
	put_sums(base, end + wr_len(&w) - ext_area_at(h));
	return 0;
}

size_t
ext_need(size_t nfragments, bool image)
{
	const struct ext_image *i = NULL;
	size_t n = HEAD_BYTES;

	n += RECORD_HEAD_BYTES + NDZ_UUID_BYTES;
	n += 2 * (RECORD_HEAD_BYTES + align8(4 + EXT_DIGEST_BYTES));
	n += RECORD_HEAD_BYTES + 8; /* last */
	n += RECORD_HEAD_BYTES + LOST_HEAD_BYTES + LOST_RANGES_MIN * LOST_RANGE_BYTES;
	n += RECORD_HEAD_BYTES +
	     align8(FRAGMENT_HEAD_BYTES + nfragments * EXT_ENTRY_BYTES);
	if (image)
		n += RECORD_HEAD_BYTES +
		     align8(24 + 4 + sizeof i->tool + sizeof i->filesystems + 8);
	return n;
}

/* How many bytes of the chunk are used up to the end of the last record that the area will
 * have, with `reserve` and the head of one more record. */
static size_t
used_bytes(const struct ext *x, const struct ndz_header *h, size_t reserve)
{
	size_t used = ext_area_at(h) + ext_need(x->nfragments, x->has_image) +
	              (x->has_state ? EXT_STATE_BYTES : 0) + RECORD_HEAD_BYTES +
	              reserve;

	if (x->lost.nranges > LOST_RANGES_MIN)
		used += (x->lost.nranges - LOST_RANGES_MIN) * LOST_RANGE_BYTES;
	if (x->has_samples)
		used += ext_samples_need(x->samples.n);
	if (x->shared.n > 0)
		used += ext_samples_need(x->shared.n);
	return used;
}

size_t
ext_freed_room(const struct ext *x, const struct ndz_header *h, size_t reserve)
{
	size_t used = used_bytes(x, h, reserve);

	return used < NDZ_CHUNK_BYTES ? (NDZ_CHUNK_BYTES - used) / FREED_ENTRY_BYTES
	                              : 0;
}

size_t
ext_samples_room(const struct ext *x, const struct ndz_header *h, size_t reserve)
{
	size_t used = used_bytes(x, h, reserve) + samples_bytes(0);
	size_t each = samples_bytes(1) - samples_bytes(0);

	return used < NDZ_CHUNK_BYTES ? (NDZ_CHUNK_BYTES - used) / each : 0;
}

size_t
ext_samples_need(size_t n)
{
	return RECORD_HEAD_BYTES + samples_bytes(n);
}
