/* Metadata at the end of a disk: at its place and one sector off, in sectors of 4096
 * bytes, in front of the floor, on disks too small for it; RAID superblocks, moved. */
#include "common/behind/end_signature.h"

#include "fsmods/md.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { SECTORS = 4096, BYTES = SECTORS * 512 };

static uint8_t bytes[BYTES];

static void
clear(void)
{
	memset(bytes, 0, sizeof bytes);
}

static void
put(uint64_t sector, size_t at, const void *data, size_t n)
{
	memcpy(bytes + sector * 512 + at, data, n);
}

/* Where the kind begins in an area of the disk; 0: it is not found. */
static uint64_t
find(uint32_t kind, struct range area, uint64_t floor)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct end_signature found[END_SIGNATURES_MAX];
	uint64_t at = 0;
	struct err e;

	size_t n = end_signature_find(d, area, floor, found);
	for (size_t i = 0; i < n; i++) {
		T_CHECK(range_end(found[i].sectors) == range_end(area));
		T_CHECK(found[i].sectors.off >= area.off + floor);
		if (found[i].kind == kind)
			at = found[i].sectors.off;
	}
	disk_close(d, &e);
	return at;
}

static uint64_t
found(uint32_t kind)
{
	return find(kind, (struct range){ 0, SECTORS }, 100);
}

/* n bytes, so many sectors from the end. */
static void
test_place(uint32_t kind, unsigned back, size_t at, const void *magic, size_t n)
{
	clear();
	put(SECTORS - back, at, magic, n);
	T_CHECK(found(kind) == SECTORS - back);
	/* Of a partition that ends there; not of others, nor in front of the floor. */
	T_CHECK(find(kind, (struct range){ 63, SECTORS - 63 }, 0) == SECTORS - back);
	T_CHECK(find(kind, (struct range){ 0, SECTORS - 3 }, 0) == 0);
	T_CHECK(find(kind, (struct range){ 0, SECTORS }, SECTORS - back + 1) == 0);
	T_CHECK(find(kind, (struct range){ SECTORS - back, 0 }, 0) == 0);
	bytes[(SECTORS - back) * 512 + at] ^= 1;
	T_CHECK(found(kind) == 0);
}

static void
test_signatures(void)
{
	static const unsigned promise[] = { 16, 63, 255, 256, 399, 591, 675, 735, 911,
		951, 974, 991, 3087 };

	test_place(TAIL_IMSM, 2, 0, "Intel Raid ISM Cfg Sig. ", 24);
	test_place(TAIL_IMSM, 16, 0, "Intel Raid ISM Cfg Sig. ", 24);
	test_place(TAIL_GEOM, 1, 0, "GEOM::LABEL", 12);
	test_place(TAIL_GEOM, 8, 0, "GEOM::MIRROR", 12);
	test_place(TAIL_VHD, 1, 0, "conectix", 8);
	test_place(TAIL_DDF, 1, 0, "\xde\x11\xde\x11", 4);
	test_place(TAIL_DDF, 8, 0, "\x11\xde\x11\xde", 4);
	test_place(TAIL_DDF, 257, 0, "\xde\x11\xde\x11", 4);
	test_place(TAIL_LDM, 1, 0, "PRIVHEAD", 8);
	test_place(TAIL_NVIDIA, 2, 0, "NVIDIA  ", 8);
	test_place(TAIL_SILICON, 1, 0x60, "\0\0\0\x2f", 4);
	test_place(TAIL_LSI, 1, 0, "$XIDE$", 6);
	test_place(TAIL_ADAPTEC, 1, 0, "\x37\xfc\x4d\x1e", 4);
	test_place(TAIL_HIGHPOINT, 11, 0, "\xf3\x16\x78\x5a", 4);
	for (size_t i = 0; i < sizeof promise / sizeof promise[0]; i++)
		test_place(TAIL_PROMISE, promise[i], 0, "Promise Technology, Inc.", 24);
}

/* Those of two bytes have sums. */
static void
test_sums(void)
{
	clear();
	put(SECTORS - 1, 0, "\x55\xaa\2", 3); /* 0x55 + 0xaa + 2 = 0x101 */
	T_CHECK(found(TAIL_VIA) == 0);
	put(SECTORS - 1, 50, "\1", 1);
	T_CHECK(found(TAIL_VIA) == SECTORS - 1);
	clear();
	put(SECTORS - 1, 0, "JM\1\0", 4);
	T_CHECK(found(TAIL_JMICRON) == 0);
	put(SECTORS - 1, 4, "\xb5\xb2", 2); /* 0x4d4a + 1 + 0xb2b5 = 0x10000 */
	T_CHECK(found(TAIL_JMICRON) == SECTORS - 1);
}

/* What names the beginning of the rest. */
static void
test_beginnings(void)
{
	clear();
	put(SECTORS - 2, 0, "Intel Raid ISM Cfg Sig. ", 24);
	poke(bytes + (SECTORS - 2) * 512 + 36, 1025, 4);
	T_CHECK(found(TAIL_IMSM) == SECTORS - 4);
	poke(bytes + (SECTORS - 2) * 512 + 36, UINT32_MAX, 4);
	T_CHECK(found(TAIL_IMSM) == SECTORS - 2);

	clear();
	put(SECTORS - 1, 0, "\x11\xde\x11\xde", 4);
	poke(bytes + (SECTORS - 1) * 512 + 96, 3000, 8);
	poke(bytes + (SECTORS - 1) * 512 + 104, UINT64_MAX, 8);
	T_CHECK(found(TAIL_DDF) == 3000);
	poke(bytes + (SECTORS - 1) * 512 + 120, 50, 8);
	T_CHECK(found(TAIL_DDF) == 100); /* the floor */

	clear();
	put(SECTORS - 1, 512 - 64, "AVBf", 4);
	poke(bytes + SECTORS * 512 - 64 + 12, __builtin_bswap64(2000 * 512), 8);
	T_CHECK(found(TAIL_AVB) == 2000);

	/* LDM by its first copy alone. */
	clear();
	put(6, 0, "PRIVHEAD", 8);
	poke(bytes + 6 * 512 + 0x12b, __builtin_bswap64(2048), 8);
	T_CHECK(found(TAIL_LDM) == 2048);
	poke(bytes + 6 * 512 + 0x12b, __builtin_bswap64(99), 8);
	T_CHECK(found(TAIL_LDM) == 0);

	clear();
	poke(bytes + (SECTORS - 8) * 512 + 60, __builtin_bswap32(0x8374026b), 4);
	T_CHECK(found(TAIL_DRBD) == SECTORS - 8);
	poke(bytes + (SECTORS - 8) * 512 + 64, __builtin_bswap32(256), 4);
	T_CHECK(found(TAIL_DRBD) == SECTORS - 256);
	poke(bytes + (SECTORS - 8) * 512 + 60, __builtin_bswap32(0x8374026e), 4);
	T_CHECK(found(TAIL_DRBD) == 0);

	clear();
	poke(bytes + (SECTORS - 512 + 256) * 512 + 127 * 1024, 0x00bab10c, 8);
	T_CHECK(found(TAIL_ZFS) == SECTORS - 1024);
}

/* A superblock of version 1.0 with a bitmap and a list of bad blocks in front. */
static void
put_md1(uint64_t at)
{
	uint8_t *b = bytes + at * 512;

	clear();
	poke(b, 0xa92b4efc, 4);
	poke(b + 4, 1, 4);
	poke(b + 72, 1, 4);
	poke(b + 144, at, 8);
	poke(b + 220, 3, 4);
	poke(b + 256, 0xfffe00010000, 6);
	/* All words, the last two bytes alone. */
	poke(b + 216,
	    0xa92b4efc + UINT64_C(1) + 1 + at + 3 + 0x00010000 + 0xfffe, 4);
}

static void
test_md1(void)
{
	uint64_t at = (SECTORS - 16) / 8 * 8;
	uint8_t *b = bytes + at * 512, moved[MD_BYTES];

	put_md1(at);
	T_CHECK(found(TAIL_MD1) == at);
	poke(b + 128, 0, 8);
	poke(b + 136, at - 128, 8);
	T_CHECK(found(TAIL_MD1) == at - 128);
	poke(b + 136, at + 1, 8); /* nonsense */
	T_CHECK(found(TAIL_MD1) == at);
	poke(b + 8, 1, 4);
	poke(b + 96, (uint32_t)-16, 4);
	T_CHECK(found(TAIL_MD1) == at - 16);
	poke(b + 186, 8, 2);
	poke(b + 188, (uint32_t)-24, 4);
	T_CHECK(found(TAIL_MD1) == at - 24);
	poke(b + 144, at + 8, 8); /* the copy of another disk */
	T_CHECK(found(TAIL_MD1) == 0);

	put_md1(at);
	memcpy(moved, b, sizeof moved);
	T_CHECK(md1_move(moved, at + 80));
	T_CHECK(peek(moved + 144, 8) == at + 80);
	T_CHECK(peek(moved + 216, 4) == (uint32_t)(peek(b + 216, 4) + 80));
	T_CHECK(md1_move(moved, at));
	T_CHECK(memcmp(moved, b, sizeof moved) == 0);
	T_CHECK(md1_move(moved, 5000000000));
	T_CHECK(md1_move(moved, at));
	T_CHECK(memcmp(moved, b, sizeof moved) == 0);
	moved[300]++;
	T_CHECK(md1_move(moved, at + 8)); /* behind the roles */
	moved[100]++;
	T_CHECK(!md1_move(moved, at + 8));
	poke(moved + 220, UINT32_MAX, 4);
	T_CHECK(!md1_move(moved, at + 8));
}

static void
test_md0(void)
{
	clear();
	poke(bytes + (SECTORS - 128) * 512, 0xa92b4efc, 4);
	T_CHECK(found(TAIL_MD0) == SECTORS - 128);
	T_CHECK(find(TAIL_MD0, (struct range){ 0, SECTORS }, SECTORS - 127) == 0);
	T_CHECK(md0_place(127) == UINT64_MAX);
	T_CHECK(md0_place(255) == 0);
	T_CHECK(md0_place(256) == 128);
	T_CHECK(md1_place(16) == UINT64_MAX);
	T_CHECK(md1_place(24) == 8);
}

/* Behind a filesystem. */
static void
test_behind(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct end_signature e[END_SIGNATURES_MAX];
	struct range area = { 8, SECTORS - 8 };
	struct err none;

	clear();
	put(1008, 0, "verity\0\0", 8);
	T_CHECK(end_signature_find_behind(d, area, 1000, e) == 1);
	T_CHECK(e[0].kind == TAIL_VERITY);
	T_CHECK(e[0].sectors.off == 1008);
	T_CHECK(end_signature_find_behind(d, area, 1001, e) == 0);
	T_CHECK(end_signature_find_behind(d, area, area.len, e) == 0);
	put(SECTORS - 1, 0, "GEOM::LABEL", 12);
	T_CHECK(end_signature_find_behind(d, area, 990, e) == 2);
	disk_close(d, &none);
}

int
main(void)
{
	test_signatures();
	test_sums();
	test_beginnings();
	test_md1();
	test_md0();
	test_behind();
	return t_done();
}
