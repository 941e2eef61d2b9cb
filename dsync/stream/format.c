/* format.c: encodes and decodes heads, records and ends of a stream.  The writers of a stream
 * and in.c call this, in any thread.  The layout is in docs/dsync-format.md; all numbers are
 * little-endian.
 *
 *	head	0 magic, 8 u32 version, 12 u32 flags, 16 u64 bytes of the device,
 *		24 u32 bytes of a block, 28 u32 number of bases, 32 id, 48 lineage,
 *		64 u64 seconds since 1970, 72 kind[16], 88 bases[8][16], 216 zeros[40],
 *		256 SHA-256 of bytes 0 to 255
 *	record	0 u32 type, 4 u32 encoding, 8 u64 first byte, 16 u64 bytes,
 *		24 u32 stored bytes, 28 u32 0, 32 stored data, then SHA-256 of all before
 *	end	a record of type 3 that stores: 0 u64 data records, 8 u64 zero records,
 *		16 u64 data bytes, 24 u64 zero bytes, 32 u32 fuzzy, 36 u32 0, 40 chain
 */
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "dsync/read/zeros.h"
#include "dsync/stream/impl.h"

enum { HEAD_DIGEST_AT = STREAM_TOP_BYTES - SHA256_BYTES, HEAD_ZEROS = 40 };

const uint8_t stream_magic[STREAM_MAGIC_BYTES] = { 0xd5, 'y', 'n', 'c', '\r', '\n', 0x1a,
	'\n' };

/* Extend the chain: SHA-256 of the chain so far and of the next digest. */
static void
chain_on(uint8_t chain[SHA256_BYTES], const uint8_t digest[SHA256_BYTES])
{
	uint8_t both[2 * SHA256_BYTES];

	memcpy(both, chain, SHA256_BYTES);
	memcpy(both + SHA256_BYTES, digest, SHA256_BYTES);
	sha256(both, sizeof both, chain);
}

void
stream_put_head(const struct stream_head *h, uint8_t out[STREAM_TOP_BYTES],
    struct stream_totals *t)
{
	struct wr w = wr_to(out, STREAM_TOP_BYTES);

	wr_bytes(&w, stream_magic, sizeof stream_magic);
	wr_le32(&w, STREAM_VERSION);
	wr_le32(&w, h->flags);
	wr_le64(&w, h->device_bytes);
	wr_le32(&w, h->block_bytes);
	wr_le32(&w, h->nbases);
	wr_bytes(&w, &h->id, sizeof h->id);
	wr_bytes(&w, &h->lineage, sizeof h->lineage);
	wr_le64(&w, h->made_at);
	wr_bytes(&w, h->kind, sizeof h->kind);
	for (unsigned i = 0; i < STREAM_BASES_MAX; i++)
		if (i < h->nbases)
			wr_bytes(&w, &h->bases[i], sizeof h->bases[i]);
		else
			wr_zero(&w, sizeof h->bases[i]);
	wr_zero(&w, HEAD_ZEROS);
	sha256(out, HEAD_DIGEST_AT, wr_room(&w, SHA256_BYTES));
	memset(t, 0, sizeof *t);
	chain_on(t->chain, out + HEAD_DIGEST_AT);
}

static int
check_head(const struct stream_head *h, struct err *e)
{
	uint32_t b = h->block_bytes;

	if (b == 0 || (b & (b - 1)) != 0 || b > STREAM_BLOCK_MAX)
		return err_set(
		    e, ERR_FORMAT, "its header says that blocks have %u bytes", b);
	if (h->device_bytes == 0 || h->device_bytes > INT64_MAX)
		return err_set(
		    e, ERR_FORMAT, "its header gives the device an impossible size");
	if (h->nbases > STREAM_BASES_MAX)
		return err_set(
		    e, ERR_FORMAT, "its header says that it has %u bases", h->nbases);
	if (!stream_id_set(&h->id))
		return err_set(e, ERR_FORMAT, "its header names no state");
	if ((h->flags & ~(uint32_t)(STREAM_FULL | STREAM_CUMULATIVE)) != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "its header has flags that this program does not know");
	return 0;
}

int
stream_get_head(
    struct stream_head *h, const uint8_t in[STREAM_TOP_BYTES], struct err *e)
{
	struct rd r = rd_from(in, STREAM_TOP_BYTES);
	const void *magic = rd_bytes(&r, STREAM_MAGIC_BYTES);
	uint32_t version = rd_le32(&r);
	uint8_t digest[SHA256_BYTES];

	memset(h, 0, sizeof *h);
	if (magic == NULL || memcmp(magic, stream_magic, STREAM_MAGIC_BYTES) != 0)
		return err_set(e, ERR_FORMAT, "is not a stream of dmextract");
	if (version != STREAM_VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "is a stream of version %u, and this program knows only version %d",
		    version, STREAM_VERSION);
	h->flags = rd_le32(&r);
	h->device_bytes = rd_le64(&r);
	h->block_bytes = rd_le32(&r);
	h->nbases = rd_le32(&r);
	rd_copy(&r, &h->id, sizeof h->id);
	rd_copy(&r, &h->lineage, sizeof h->lineage);
	h->made_at = rd_le64(&r);
	rd_copy(&r, h->kind, sizeof h->kind);
	rd_copy(&r, h->bases, sizeof h->bases);
	const uint8_t *rest = rd_bytes(&r, HEAD_ZEROS);
	bool zeros = rest != NULL && zeros_only(rest, HEAD_ZEROS);
	sha256(in, HEAD_DIGEST_AT, digest);
	if (memcmp(in + HEAD_DIGEST_AT, digest, sizeof digest) != 0)
		return err_set(e, ERR_FORMAT, "its header is damaged");
	if (!zeros || h->kind[sizeof h->kind - 1] != '\0')
		return err_set(e, ERR_FORMAT,
		    "its header has bytes that are not zero where they have to be");
	return check_head(h, e);
}

size_t
stream_put_record(uint8_t *at, enum stream_type type, enum stream_encoding encoding,
    struct range bytes, size_t stored)
{
	struct wr w = wr_to(at, STREAM_RECORD_HEAD);

	wr_le32(&w, type);
	wr_le32(&w, encoding);
	wr_le64(&w, bytes.off);
	wr_le64(&w, bytes.len);
	wr_le32(&w, (uint32_t)stored);
	wr_le32(&w, 0);
	sha256(at, STREAM_RECORD_HEAD + stored, at + STREAM_RECORD_HEAD + stored);
	return STREAM_RECORD_EXTRA + stored;
}

void
stream_count(struct stream_totals *t, const uint8_t *at, size_t bytes)
{
	struct rd r = rd_from(at, STREAM_RECORD_HEAD);
	uint32_t type = rd_le32(&r);

	rd_skip(&r, 12);
	uint64_t len = rd_le64(&r);
	if (type == STREAM_DATA)
		t->data_records++, t->data_bytes += len;
	else
		t->zero_records++, t->zero_bytes += len;
	chain_on(t->chain, at + bytes - SHA256_BYTES);
}

/* Whether a record stores a possible number of bytes: compressed data is smaller than the data
 * itself. */
static bool
stored_fits(const struct stream_record_head *h)
{
	if (h->type == STREAM_DATA)
		return h->bytes.len > 0 && h->bytes.len <= STREAM_DATA_MAX &&
		       (h->encoding == STREAM_RAW
		               ? h->stored == h->bytes.len
		               : h->stored > 0 && h->stored < h->bytes.len);
	if (h->type == STREAM_ZEROS)
		return h->bytes.len > 0 && h->stored == 0 && h->encoding == STREAM_RAW;
	return h->bytes.off == 0 && h->bytes.len == 0 && h->encoding == STREAM_RAW &&
	       h->stored == STREAM_END_PAYLOAD;
}

int
stream_get_record(struct stream_record_head *h, const uint8_t in[STREAM_RECORD_HEAD],
    uint64_t device_bytes, struct err *e)
{
	struct rd r = rd_from(in, STREAM_RECORD_HEAD);
	uint32_t type = rd_le32(&r), encoding = rd_le32(&r);

	h->bytes.off = rd_le64(&r);
	h->bytes.len = rd_le64(&r);
	h->stored = rd_le32(&r);
	uint32_t zero = rd_le32(&r);
	if (type < STREAM_DATA || type > STREAM_END || encoding > STREAM_ZSTD || zero != 0)
		return err_set(e, ERR_FORMAT, "the kind of a record is not known");
	h->type = (enum stream_type)type;
	h->encoding = (enum stream_encoding)encoding;
	if (!stored_fits(h))
		return err_set(e, ERR_FORMAT, "a record has an impossible length");
	if (!range_within(h->bytes, device_bytes))
		return err_set(
		    e, ERR_FORMAT, "a record is beyond the end of the device");
	return 0;
}

void
stream_put_end(const struct stream_end *end, uint8_t out[STREAM_END_BYTES])
{
	const struct stream_totals *t = &end->totals;
	struct wr w = wr_to(out + STREAM_RECORD_HEAD, STREAM_END_PAYLOAD);

	wr_le64(&w, t->data_records);
	wr_le64(&w, t->zero_records);
	wr_le64(&w, t->data_bytes);
	wr_le64(&w, t->zero_bytes);
	wr_le32(&w, end->fuzzy);
	wr_le32(&w, 0);
	wr_bytes(&w, t->chain, sizeof t->chain);
	stream_put_record(
	    out, STREAM_END, STREAM_RAW, (struct range){ 0, 0 }, STREAM_END_PAYLOAD);
}

void
stream_get_end(struct stream_end *end, const uint8_t in[STREAM_END_PAYLOAD])
{
	struct rd r = rd_from(in, STREAM_END_PAYLOAD);
	struct stream_totals *t = &end->totals;

	t->data_records = rd_le64(&r);
	t->zero_records = rd_le64(&r);
	t->data_bytes = rd_le64(&r);
	t->zero_bytes = rd_le64(&r);
	end->fuzzy = rd_le32(&r) != 0;
	rd_skip(&r, 4);
	rd_copy(&r, t->chain, sizeof t->chain);
}

bool
stream_proves(const uint8_t *at, size_t n)
{
	uint8_t digest[SHA256_BYTES];

	sha256(at, n, digest);
	return memcmp(digest, at + n, sizeof digest) == 0;
}
