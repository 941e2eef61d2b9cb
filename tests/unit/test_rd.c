/* Reader and writer: round trip, every truncation, no growth past the end. */
#include "common/base/rd.h"
#include "common/base/wr.h"

#include "tests/t.h"

static void
put_all(struct wr *w)
{
	wr_u8(w, 0x12);
	wr_le16(w, 0x3456);
	wr_le32(w, 0x789abcde);
	wr_le64(w, 0x0123456789abcdefull);
	wr_bytes(w, "xyz", 3);
	wr_zero(w, 2);
}

static bool
get_all(struct rd *r)
{
	uint8_t tail[5];
	bool same = rd_u8(r) == 0x12 && rd_le16(r) == 0x3456 &&
	            rd_le32(r) == 0x789abcde && rd_le64(r) == 0x0123456789abcdefull;

	rd_copy(r, tail, sizeof tail);
	return same && memcmp(tail, "xyz\0\0", 5) == 0;
}

static bool
get_big_endian(struct rd *r)
{
	return rd_be16(r) == 0xf123 && rd_be32(r) == 0x89abcdef &&
	       rd_be64(r) == 0xfedcba9876543210ull;
}

static void
big_endian(void)
{
	static const uint8_t bytes[14] = { 0xf1, 0x23, 0x89, 0xab, 0xcd, 0xef, 0xfe,
		0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10 };
	struct rd r = rd_from(bytes, sizeof bytes);

	T_CHECK(get_big_endian(&r));
	T_CHECK(rd_done(&r));
	for (size_t n = 0; n < sizeof bytes; n++) {
		r = rd_from(bytes, n);
		T_CHECK(!get_big_endian(&r));
		T_CHECK(!rd_ok(&r));
	}
}

int
main(void)
{
	uint8_t b[64];
	struct wr w = wr_to(b, sizeof b);

	big_endian();
	put_all(&w);
	T_CHECK(wr_ok(&w));
	T_CHECK(wr_len(&w) == 20);
	struct rd r = rd_from(b, 20);
	T_CHECK(get_all(&r));
	T_CHECK(rd_done(&r));
	for (size_t n = 0; n < 20; n++) {
		r = rd_from(b, n);
		T_CHECK(!get_all(&r));
		T_CHECK(!rd_ok(&r));
		T_CHECK(rd_left(&r) == 0);
		uint8_t small[20];
		memset(small, 0xaa, sizeof small);
		w = wr_to(small, n);
		put_all(&w);
		T_CHECK(!wr_ok(&w));
		T_CHECK(small[n] == 0xaa);
	}
	r = rd_from(b, 20);
	struct rd s = rd_sub(&r, 21);
	T_CHECK(!rd_ok(&s));
	T_CHECK(!rd_ok(&r));
	r = rd_from(b, 13);
	T_CHECK(rd_can_hold(&r, 3, 4));
	T_CHECK(!rd_can_hold(&r, 4, 4));
	T_CHECK(!rd_can_hold(&r, UINT64_MAX, 8));
	T_CHECK(!rd_can_hold(&r, 1, 0));
	r = rd_from(NULL, 0);
	T_CHECK(rd_bytes(&r, 0) != NULL);
	T_CHECK(rd_done(&r));
	T_CHECK(rd_bytes(&r, 1) == NULL);
	return t_done();
}
