/* Relocations byte by byte: addresses and tables of LILO, labels to and fro, and
 * what does not fit. */
#include "common/image/format/reloc.h"

#include <string.h>

#include "common/base/wr.h"
#include "common/image/format/lilo.h"
#include "tests/t.h"

static const struct range slice = { 1000, 5000 };

static void
test_addresses(void)
{
	uint8_t linear[] = { 0x11, 0x22, 0xc0, 0x33, 7 }, lba[] = { 1, 2, 0xa0, 3, 7 },
		wide[] = { 1, 2, 0x90, 3, 4 }, chs[] = { 1, 2, 0x80, 3, 1 },
		none[5] = { 0 };
	uint64_t n;
	struct err e;

	T_CHECK(lilo_get(linear, &n, &e) == 0);
	T_CHECK(n == 0x332211);
	T_CHECK(lilo_get(lba, &n, &e) == 0);
	T_CHECK(n == 0x030201);
	T_CHECK(lilo_get(wide, &n, &e) == 0);
	T_CHECK(n == 0x04030201);
	T_CHECK(lilo_get(chs, &n, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(lilo_is_none(none));
	T_CHECK(!lilo_is_none(chs));
	T_CHECK(lilo_put(linear, 0xfffffe, &e) == 0);
	T_CHECK(memcmp(linear, "\xfe\xff\xc0\xff\x07", 5) == 0);
	T_CHECK(lilo_put(lba, 0x1000000, &e) != 0);
	T_CHECK(lba[0] == 1);
	T_CHECK(lilo_put(wide, 0xffffffff, &e) == 0);
	T_CHECK(memcmp(wide, "\xff\xff\x90\xff\xff", 5) == 0);
	T_CHECK(lilo_put(wide, 0x100000000, &e) != 0);
}

static int
apply(uint32_t type, void *data, size_t n)
{
	struct ndz_reloc r = { .type = type, .size = n };
	struct err e;

	return reloc_apply(&r, slice, data, n, &e);
}

static void
test_lilo(void)
{
	uint8_t address[5] = { 5, 0, 0x40, 0, 9 }, map[512] = { 0 },
		table[1024] = { 0 };
	struct ndz_reloc r = { .type = NDZ_RELOC_LILO_ADDRESS, .size = 5 };
	struct err e;

	T_CHECK(apply(3, address, 5) == 0);
	T_CHECK(memcmp(address, "\xed\x03\x40\x00\x09", 5) == 0);
	T_CHECK(reloc_apply(&r, (struct range){ 0 }, address, 5, &e) == 0);
	T_CHECK(address[0] == 0xed);
	T_CHECK(apply(3, address, 4) != 0);
	for (unsigned i = 0; i < 510; i += 5)
		map[i + 2] = 0x20;
	map[50 + 2] = 0;
	T_CHECK(apply(4, map, 512) == 0);
	bool good = true;
	for (unsigned i = 0; i < 510; i += 5)
		good &= map[i] == (i < 50 ? 0xe8 : 0);
	T_CHECK(good);
	T_CHECK(map[510] == 0);
	T_CHECK(map[511] == 0);
	map[2] = 0x80;
	T_CHECK(apply(4, map, 512) != 0);
	T_CHECK(apply(4, map, 511) != 0);
	table[2] = 1;
	table[1023] = 2;
	T_CHECK(apply(5, table, 1024) == 0);
	T_CHECK(table[0] == 0xcc);
	T_CHECK(table[1] == 0xa9);
	T_CHECK(apply(5, table, 1024) == 0);
	T_CHECK(table[0] == 0xcc);
	T_CHECK(apply(5, table, 1023) != 0);
}

/* Type 5 marks the byte behind 990 of 1,024 that must be in one region. */
static void
test_where(void)
{
	static struct ndz_header h = { .nregions = 2,
		.regions = { { 10, 4 }, { 20, 2 } } };
	struct ndz_reloc r = { .type = 5, .sector = 11, .offset = 478, .size = 2 };

	T_CHECK(reloc_at(&h, &r) == 0);
	T_CHECK(reloc_bytes(&r) == 1024);
	r.sector = 21;
	T_CHECK(reloc_at(&h, &r) == 4 * 512);
	r.sector = 20;
	T_CHECK(reloc_at(&h, &r) == UINT64_MAX);
	r.sector = 0;
	T_CHECK(reloc_at(&h, &r) == UINT64_MAX);
	r.sector = UINT64_MAX - 5;
	T_CHECK(reloc_at(&h, &r) == UINT64_MAX);
	r = (struct ndz_reloc){ .type = 3, .sector = 12, .offset = 511, .size = 5 };
	T_CHECK(reloc_at(&h, &r) == 3 * 512 - 1);
	r.sector = 13;
	T_CHECK(reloc_at(&h, &r) == UINT64_MAX);
	r = (struct ndz_reloc){ .type = 3, .sector = 12, .size = UINT64_MAX };
	T_CHECK(reloc_at(&h, &r) == UINT64_MAX);
}

static void
put_entry(uint8_t *label, unsigned i, uint32_t size, uint32_t offset)
{
	struct wr w = wr_to(label + 148 + 16 * i, 8);

	wr_le32(&w, size);
	wr_le32(&w, offset);
}

static void
make_label(uint8_t label[512], unsigned entries, uint32_t base)
{
	struct wr w = wr_to(label, 512);

	memset(label, 0, 512);
	wr_le32(&w, 0x82564557);
	w = wr_to(label + 40, 4);
	wr_le32(&w, 512);
	w = wr_to(label + 132, 8);
	wr_le32(&w, 0x82564557);
	wr_le16(&w, 0);
	wr_le16(&w, (uint16_t)entries);
	put_entry(label, 0, 100, base);
	put_entry(label, 2, 5000, base);
	put_entry(label, 7, 300, base + 4000);
	uint16_t sum = 0;
	for (unsigned i = 0; i < 148 + 16 * entries; i += 2)
		sum ^= (uint16_t)(label[i] | label[i + 1] << 8);
	w = wr_to(label + 136, 2);
	wr_le16(&w, sum);
}

static void
test_label(void)
{
	uint8_t label[512], absolute[512], relative[512];
	struct ndz_reloc r = { .type = 1, .sector = 1, .size = 276 };
	struct err e;

	make_label(absolute, 8, 1000);
	make_label(relative, 8, 0);
	memcpy(label, absolute, 512);
	T_CHECK(reloc_label_relative(label, 1, slice, &e) == 0);
	T_CHECK(memcmp(label, relative, 512) == 0);
	T_CHECK(reloc_label_relative(label, 1, slice, &e) == 0);
	T_CHECK(memcmp(label, relative, 512) == 0);
	T_CHECK(reloc_apply(&r, slice, label, 512, &e) == 0);
	T_CHECK(memcmp(label, absolute, 512) == 0);
	/* Not movable: and nothing was changed. */
	T_CHECK(reloc_label_relative(label, 1, (struct range){ 999, 5000 }, &e) != 0);
	T_CHECK(memcmp(label, absolute, 512) == 0);
	make_label(label, 9, 1000);
	T_CHECK(reloc_label_relative(label, 1, slice, &e) != 0);
	T_CHECK(reloc_label_relative(label, 2, slice, &e) == 0);
	make_label(label, 8, 1000);
	label[41] = 8;
	T_CHECK(reloc_label_relative(label, 1, slice, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	make_label(label, 8, 1000);
	label[114] = 1;
	label[148 + 10] = 1;
	T_CHECK(reloc_label_relative(label, 2, slice, &e) != 0);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	/* A smaller slice cuts the last one, which then reaches its end. */
	memcpy(label, relative, 512);
	T_CHECK(reloc_apply(&r, (struct range){ 2000, 4100 }, label, 512, &e) == 0);
	T_CHECK(label[148 + 16 * 7] == 100);
	T_CHECK(label[148 + 16 * 7 + 1] == 0);
	for (unsigned n = 0; n < 276; n++)
		if (reloc_apply(&r, slice, label, n, &e) == 0)
			T_CHECK(false);
}

int
main(void)
{
	test_addresses();
	test_lilo();
	test_where();
	test_label();
	return t_done();
}
