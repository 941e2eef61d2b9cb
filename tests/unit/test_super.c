/* The length of a filesystem: read from what mkfs would write, refused in all else. */
#include <stdlib.h>
#include <string.h>

#include "common/resize/super.h"
#include "tests/t.h"

static uint8_t head[SUPER_BYTES];

/* Put `bytes` bytes of a number at a place of the head, the lowest byte first or last. */
static void
put(size_t at, uint64_t v, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		head[at + (big ? bytes - 1 - i : i)] = (uint8_t)(v >> 8 * i);
}

static void
make(const char *type)
{
	memset(head, 0, sizeof head);
	if (strcmp(type, "ext4") == 0) {
		put(1024 + 4, 5, 4, false);
		put(1024 + 24, 2, 4, false); /* 4096 */
		put(1024 + 56, 0xef53, 2, false);
		put(1024 + 96, 0x80, 4, false);
		put(1024 + 0x150, 1, 4, false); /* the upper half */
	} else if (strcmp(type, "xfs") == 0) {
		memcpy(head, "XFSB", 4);
		put(4, 4096, 4, true);
		put(8, UINT64_C(0x100000005), 8, true);
	} else if (strcmp(type, "btrfs") == 0) {
		memcpy(head + 65536 + 64, "_BHRfS_M", 8);
		put(65536 + 136, 3, 8, false);
		put(65536 + 144, 4096, 4, false);
		put(65536 + 209, UINT64_C(0x100000005) * 4096, 8, false);
	} else {
		memcpy(head + 3, "NTFS    ", 8);
		put(11, 4096, 2, false);
		put(0x28, UINT64_C(0x100000004), 8, false);
	}
}

/* What is read of the first n bytes, in memory of their own so that a sanitizer sees its end. */
static bool
reads(const char *type, size_t n, struct super *s)
{
	uint8_t *copy = malloc(n + 1);

	memcpy(copy, head, n);
	bool is = super_get(type, copy, n, s);
	free(copy);
	return is;
}

static void
test_kind(const char *type, size_t end)
{
	struct super s;

	make(type);
	T_CHECK(reads(type, sizeof head, &s));
	T_CHECK(s.bytes == UINT64_C(0x100000005) * 4096 && s.block_bytes == 4096);
	T_CHECK(s.devices == (strcmp(type, "btrfs") == 0 ? 3 : 1));
	bool short_is_refused = true;
	for (size_t n = 0; n < end; n += n < 2000 || n > 65536 ? 1 : 997)
		short_is_refused = short_is_refused && !reads(type, n, &s);
	T_CHECK(short_is_refused);
	T_CHECK(reads(type, end, &s));
	T_CHECK(!reads("swap", sizeof head, &s));
	memset(head, 0, sizeof head);
	T_CHECK(!reads(type, sizeof head, &s));
}

static bool
finds(const char *name, uint64_t bytes, uint32_t sector_bytes)
{
	struct super s;
	const char *found = super_find(head, sizeof head, &s);

	return found != NULL && strcmp(found, name) == 0 && s.bytes == bytes &&
	       s.sector_bytes == sector_bytes;
}

/* Which filesystem it is need not be said. */
static void
test_find(void)
{
	struct super s;

	memset(head, 0, sizeof head);
	T_CHECK(super_find(head, sizeof head, &s) == NULL);
	make("xfs");
	put(102, 512, 2, true);
	T_CHECK(finds("xfs", UINT64_C(0x100000005) * 4096, 512));
	make("ext4");
	put(1024 + 24, 0, 4, false);
	T_CHECK(finds("ext4", UINT64_C(0x100000005) * 1024, 1024));
	make("btrfs");
	T_CHECK(finds("btrfs", UINT64_C(0x100000005) * 4096, 4096));
	make("ntfs");
	T_CHECK(finds("ntfs", UINT64_C(0x100000005) * 4096, 4096));
	memset(head, 0, sizeof head);
	memcpy(head + 3, "EXFAT   ", 8);
	put(72, 1000, 8, false);
	put(108, 9, 1, false);
	T_CHECK(finds("exfat", 512000, 512));
	memset(head, 0, sizeof head);
	put(1024, 0xf2f52010, 4, false);
	put(1024 + 16, 12, 4, false);
	put(1024 + 36, 77, 8, false);
	T_CHECK(finds("f2fs", 77 * 4096, 4096));
	memset(head, 0, sizeof head);
	memcpy(head + 65536 - 10, "SWAPSPACE2", 10);
	put(1024, 1, 4, true);
	put(1028, 9, 4, true);
	T_CHECK(finds("swap", 10 * 65536, 65536));
	memset(head, 0, sizeof head);
	memcpy(head + 512, "LABELONE", 8);
	memcpy(head + 536, "LVM2 001", 8);
	put(576, 1 << 20, 8, false);
	T_CHECK(finds("lvm2", 1 << 20, 0));
	memset(head, 0, sizeof head);
	put(8192 + 1372, 0x11954, 4, false);
	put(8192 + 36, 5000, 4, false);
	put(8192 + 52, 2048, 4, false);
	T_CHECK(finds("ufs", 5000 * 2048, 2048));
	put(65536 + 1372, 0x19540119, 4, false);
	T_CHECK(finds("ufs", 5000 * 2048, 2048)); /* a copy */
	put(65536 + 1000, 65536, 8, false);
	put(65536 + 1080, 6000, 8, false);
	put(65536 + 52, 4096, 4, false);
	T_CHECK(finds("ufs", 6000 * 4096, 4096));
}

static void
test_fat(void)
{
	struct super s;

	memset(head, 0, sizeof head);
	put(11, 512, 2, false);
	put(13, 8, 1, false);
	put(14, 32, 2, false);
	put(16, 2, 1, false);
	put(21, 0xf8, 1, false);
	put(32, 99999, 4, false);
	put(510, 0xaa55, 2, false);
	T_CHECK(finds("fat", 99999 * 512, 512));
	put(19, 777, 2, false); /* a small one */
	T_CHECK(finds("fat", 777 * 512, 512));
	put(16, 3, 1, false);
	T_CHECK(super_find(head, sizeof head, &s) == NULL);
	put(16, 2, 1, false);
	put(11, 513, 2, false);
	T_CHECK(super_find(head, sizeof head, &s) == NULL);
}

static void
test_impossible(void)
{
	struct super s;

	make("ext4");
	put(1024 + 24, 7, 4, false); /* blocks of 128 KiB */
	T_CHECK(!reads("ext4", sizeof head, &s));
	make("xfs");
	put(8, UINT64_MAX, 8, true); /* more bytes than a number holds */
	T_CHECK(!reads("xfs", sizeof head, &s));
	make("xfs");
	put(4, 0, 4, true);
	T_CHECK(!reads("xfs", sizeof head, &s));
	make("btrfs");
	put(65536 + 144, 0, 4, false);
	T_CHECK(!reads("btrfs", sizeof head, &s));
	make("ntfs");
	put(0x28, UINT64_MAX, 8, false);
	T_CHECK(!reads("ntfs", sizeof head, &s));
}

int
main(void)
{
	test_kind("ext4", 1024 + 0x154);
	test_kind("xfs", 104);
	test_kind("btrfs", 65536 + 217);
	test_kind("ntfs", 0x30);
	test_find();
	test_fat();
	test_impossible();
	return t_done();
}
