/* record.c: makes and reads records.  Called by all that make or read packs and recipes,
 * in any thread. */
#include "emustore/store/record.h"

#include "common/base/crc32c.h"
#include "common/base/rd.h"
#include "common/base/wr.h"

enum { MAGIC = 0x31524d45, HEAD_CRC_AT = RECORD_HEAD_BYTES - 4 }; /* "EMR1" */

void
record_put_head(const struct record_head *h, uint8_t out[RECORD_HEAD_BYTES])
{
	struct wr w = wr_to(out, RECORD_HEAD_BYTES);

	wr_le32(&w, MAGIC);
	wr_u8(&w, (uint8_t)h->type);
	wr_zero(&w, 3);
	wr_le64(&w, h->number);
	wr_le32(&w, h->body_bytes);
	wr_le32(&w, h->body_crc);
	wr_le32(&w, 0);
	wr_le32(&w, crc32c(out, HEAD_CRC_AT));
}

bool
record_get_head(struct record_head *h, const void *bytes, size_t len)
{
	struct rd r = rd_from(bytes, len);

	if (rd_le32(&r) != MAGIC)
		return false;
	h->type = rd_u8(&r);
	rd_skip(&r, 3);
	h->number = rd_le64(&r);
	h->body_bytes = rd_le32(&r);
	h->body_crc = rd_le32(&r);
	rd_skip(&r, 4);
	uint32_t crc = rd_le32(&r);
	return rd_ok(&r) && crc == crc32c(bytes, HEAD_CRC_AT);
}

void
fragment_put_head(const struct fragment_head *f, uint8_t out[FRAGMENT_HEAD_BYTES])
{
	struct wr w = wr_to(out, FRAGMENT_HEAD_BYTES);

	wr_bytes(&w, f->sha256, sizeof f->sha256);
	wr_bytes(&w, f->raw_digest, sizeof f->raw_digest);
	wr_le32(&w, f->raw_bytes);
	wr_le32(&w, f->adler);
}

int
fragment_get_head(struct fragment_head *f, const void *bytes, size_t len, struct err *e)
{
	struct rd r = rd_from(bytes, len);

	rd_copy(&r, f->sha256, sizeof f->sha256);
	rd_copy(&r, f->raw_digest, sizeof f->raw_digest);
	f->raw_bytes = rd_le32(&r);
	f->adler = rd_le32(&r);
	if (rd_ok(&r) && len > FRAGMENT_HEAD_BYTES &&
	    len - FRAGMENT_HEAD_BYTES <= STORE_FRAGMENT_MAX)
		return 0;
	return err_set(e, ERR_FORMAT, "a fragment's record cannot have %zu bytes", len);
}

uint64_t
record_whole_bytes(uint64_t body_bytes)
{
	return (RECORD_HEAD_BYTES + body_bytes + RECORD_ALIGN - 1) / RECORD_ALIGN *
	       RECORD_ALIGN;
}

void
record_append(struct buf *out, enum record_type type, uint64_t number, const void *a,
    size_t a_bytes, const void *b, size_t b_bytes)
{
	uint8_t head[RECORD_HEAD_BYTES];
	struct record_head h = { .type = type,
		.number = number,
		.body_bytes = (uint32_t)(a_bytes + b_bytes),
		.body_crc = crc32c_more(crc32c(a, a_bytes), b, b_bytes) };
	uint64_t whole = record_whole_bytes(h.body_bytes);

	record_put_head(&h, head);
	buf_bytes(out, head, sizeof head);
	buf_bytes(out, a, a_bytes);
	buf_bytes(out, b, b_bytes);
	buf_bytes(out, (uint8_t[RECORD_ALIGN]){ 0 },
	    (size_t)(whole - RECORD_HEAD_BYTES - h.body_bytes));
}

bool
record_next(struct rd *r, struct record_head *h, struct rd *body)
{
	const void *head = rd_bytes(r, RECORD_HEAD_BYTES);

	if (head == NULL || !record_get_head(h, head, RECORD_HEAD_BYTES))
		return false;
	*body = rd_sub(r, h->body_bytes);
	rd_skip(r, (size_t)(record_whole_bytes(h->body_bytes) - RECORD_HEAD_BYTES -
			    h->body_bytes));
	return rd_ok(r) && rd_ok(body) && crc32c(body->base, body->len) == h->body_crc;
}
