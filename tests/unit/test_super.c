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
	test_impossible();
	return t_done();
}
