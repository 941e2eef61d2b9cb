/* Old headers: V1 and V2, and V5 as 32-bit programs wrote it. */
#include "common/base/wr.h"
#include "common/image/format/format.h"

#include "tests/t.h"

static struct wr
begin(uint8_t buf[NDZ_HEADER_BYTES], uint32_t magic, uint32_t nregions)
{
	struct wr w = wr_to(buf, NDZ_HEADER_BYTES);

	memset(buf, 0, NDZ_HEADER_BYTES);
	wr_le32(&w, magic);
	wr_le32(&w, 100); /* size */
	wr_le32(&w, 2);   /* index */
	wr_le32(&w, 0);
	wr_le32(&w, NDZ_HEADER_BYTES);
	wr_le32(&w, nregions);
	return w;
}

int
main(void)
{
	uint8_t buf[NDZ_HEADER_BYTES];
	struct ndz_header h;
	struct err e;

	struct wr w = begin(buf, 0x69696969, 2);
	wr_le32(&w, 10), wr_le32(&w, 5), wr_le32(&w, 20), wr_le32(&w, 1);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) == 0);
	T_CHECK(h.version == 1);
	T_CHECK(h.nregions == 2);
	T_CHECK(h.regions[1].off == 20);
	T_CHECK(h.lastsect == 21);
	T_CHECK(h.index == 2);

	w = begin(buf, 0x6969696a, 1);
	wr_le32(&w, 8), wr_le32(&w, 40), wr_le32(&w, 1);
	wr_le32(&w, 10), wr_le32(&w, 5);
	wr_le32(&w, 2), wr_le32(&w, 11), wr_le32(&w, 0), wr_le32(&w, 276);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) == 0);
	T_CHECK(h.version == 2);
	T_CHECK(h.firstsect == 8);
	T_CHECK(h.lastsect == 40);
	T_CHECK(h.nrelocs == 1);
	T_CHECK(h.relocs[0].type == 2);
	T_CHECK(h.relocs[0].sector == 11);
	T_CHECK(h.relocs[0].size == 276);

	/* The 68-byte form: u64s at 36 and 44, UUID at 52, regions at 68. */
	w = begin(buf, 0x6969696d, 1);
	wr_le32(&w, 0), wr_le32(&w, 0), wr_le32(&w, 0);
	wr_le64(&w, 0), wr_le64(&w, 4096);
	wr_bytes(&w, "0123456789abcdef", 16);
	wr_le64(&w, 10), wr_le64(&w, 5);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) == 0);
	T_CHECK(h.version == 5);
	T_CHECK(h.lastsect == 4096);
	T_CHECK(h.regions[0].off == 10);
	T_CHECK(memcmp(h.uuid, "0123", 4) == 0);

	/* Region tables that descend, touch, are empty; sizes that cannot be. */
	w = begin(buf, 0x69696969, 2);
	wr_le32(&w, 10), wr_le32(&w, 5), wr_le32(&w, 15), wr_le32(&w, 1);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) != 0);
	T_CHECK(e.kind == ERR_FORMAT);
	w = begin(buf, 0x69696969, 1);
	wr_le32(&w, 10), wr_le32(&w, 0);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) != 0);
	w = begin(buf, 0x69696969, 0xffffffff);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) != 0);
	w = begin(buf, 0x6969696c, 1);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	w = begin(buf, 0x6969696e, 1);
	T_CHECK(ndz_header_get(&h, buf, sizeof buf, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	return t_done();
}
