/* Boot sectors say where their partition begins after it has moved: NTFS, FAT and exFAT with
 * their copies, as their specifications describe them. */
#include "common/layout/boot_place.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { DISK = 4 << 20, WAS = 2048, IS = 4096, LEN = 2048 };

static uint8_t bytes[DISK];
static struct err e;

static uint8_t *
sector(uint64_t n)
{
	return bytes + (IS + n) * SECTOR_BYTES;
}

/* The beginning of each boot sector. */
static void
boot_sector(uint8_t *b, const char *name, uint32_t hidden)
{
	b[0] = 0xeb;
	memcpy(b + 3, name, 8);
	put_le16(b + 11, 512);
	put_le32(b + 28, hidden);
	b[510] = 0x55;
	b[511] = 0xaa;
}

static int
adapt(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err none;
	int rc = boot_place_adapt(
	    d, (struct range){ WAS, LEN }, (struct range){ IS, LEN }, &e);

	disk_close(d, &none);
	return rc;
}

static void
begin(void)
{
	memset(bytes, 0, sizeof bytes);
}

static uint32_t
hidden(uint64_t n)
{
	return get_le32(sector(n) + 28);
}

static void
test_ntfs(void)
{
	begin();
	boot_sector(sector(0), "NTFS    ", WAS);
	put_le64(sector(0) + 40, 1000);
	boot_sector(sector(1000), "NTFS    ", WAS);
	boot_sector(sector(LEN - 1), "NTFS    ", WAS);
	boot_sector(sector(500), "NTFS    ", WAS);
	T_CHECK(adapt() == 0);
	T_CHECK(hidden(0) == IS && hidden(1000) == IS && hidden(LEN - 1) == IS);
	T_CHECK(hidden(500) == WAS);
	/* Only the copy was there, as after a crash. */
	put_le32(sector(0) + 28, WAS);
	T_CHECK(adapt() == 0 && hidden(0) == IS && hidden(1000) == IS);
	/* Another number stays, and one that is no boot sector. */
	put_le32(sector(0) + 28, 63);
	T_CHECK(adapt() == 0 && hidden(0) == 63);
	put_le32(sector(0) + 28, WAS);
	sector(0)[511] = 0;
	T_CHECK(adapt() == 0 && hidden(0) == WAS);
}

static void
test_fat(void)
{
	begin();
	boot_sector(sector(0), "mkfs.fat", WAS);
	put_le16(sector(0) + 50, 6);
	boot_sector(sector(6), "mkfs.fat", WAS);
	T_CHECK(adapt() == 0 && hidden(0) == IS && hidden(6) == IS);
	/* FAT16 has no copy. */
	begin();
	boot_sector(sector(0), "mkfs.fat", WAS);
	put_le16(sector(0) + 22, 200);
	put_le16(sector(0) + 50, 6);
	boot_sector(sector(6), "mkfs.fat", WAS);
	T_CHECK(adapt() == 0 && hidden(0) == IS && hidden(6) == WAS);
	/* Sectors of 4096 bytes: the numbers count them. */
	begin();
	boot_sector(sector(0), "mkfs.fat", WAS / 8);
	put_le16(sector(0) + 11, 4096);
	put_le16(sector(0) + 50, 6);
	boot_sector(sector(48), "mkfs.fat", WAS / 8);
	T_CHECK(adapt() == 0 && hidden(0) == IS / 8 && hidden(48) == IS / 8);
}

/* As section 3.4 of the specification has it. */
static uint32_t
checksum(const uint8_t *region, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (i != 106 && i != 107 && i != 112)
			sum = ((sum & 1) != 0 ? 0x80000000 : 0) + (sum >> 1) + region[i];
	return sum;
}

static void
exfat_region(uint8_t *b, unsigned shift, uint64_t offset)
{
	size_t n = (size_t)11 << shift;

	for (size_t i = 0; i < n; i++)
		b[i] = (uint8_t)(i * 7);
	boot_sector(b, "EXFAT   ", 0);
	put_le64(b + 64, offset);
	b[108] = (uint8_t)shift;
	for (size_t i = 0; i < (size_t)1 << shift; i += 4)
		put_le32(b + n + i, checksum(b, n));
}

static bool
region_says(const uint8_t *b, unsigned shift, uint64_t offset)
{
	size_t n = (size_t)11 << shift;
	bool ok = get_le64(b + 64) == offset;

	for (size_t i = 0; i < (size_t)1 << shift; i += 4)
		ok &= get_le32(b + n + i) == checksum(b, n);
	return ok;
}

static void
test_exfat(unsigned shift)
{
	uint64_t unit = (UINT64_C(1) << shift) / SECTOR_BYTES;
	uint8_t *copy = sector(12 * unit);

	begin();
	exfat_region(sector(0), shift, WAS / unit);
	exfat_region(copy, shift, WAS / unit);
	T_CHECK(adapt() == 0);
	T_CHECK(region_says(sector(0), shift, IS / unit));
	T_CHECK(region_says(copy, shift, IS / unit));
	T_CHECK(adapt() == 0 && region_says(sector(0), shift, IS / unit));
	/* The power failed between the first sector and the checksum. */
	exfat_region(copy, shift, WAS / unit);
	put_le64(copy + 64, IS / unit);
	T_CHECK(adapt() == 0 && region_says(copy, shift, IS / unit));
	/* What is damaged stays so; an offset of 0 says nothing. */
	exfat_region(copy, shift, WAS / unit);
	copy[700]++;
	exfat_region(sector(0), shift, 0);
	T_CHECK(adapt() == 0 && get_le64(copy + 64) == WAS / unit);
	T_CHECK(!region_says(copy, shift, WAS / unit));
	T_CHECK(region_says(sector(0), shift, 0));
}

int
main(void)
{
	test_ntfs();
	test_fat();
	test_exfat(9);
	test_exfat(12);
	begin();
	exfat_region(sector(0), 9, WAS);
	sector(0)[108] = 60;
	T_CHECK(adapt() == 0);
	return t_done();
}
