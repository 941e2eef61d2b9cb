/* The checksums of btrfs against values published elsewhere. */
#include "fsmods/btrfs/btrfs_sum.h"

#include <string.h>

#include "tests/t.h"

static const char *
hex_sum(unsigned type, const void *data, size_t len)
{
	static char hex[2 * BTRFS_SUM_BYTES + 1];
	uint8_t sum[BTRFS_SUM_BYTES];

	if (!btrfs_sum(type, data, len, sum))
		return "none";
	for (int i = 0; i < BTRFS_SUM_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return hex;
}

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

int
main(void)
{
	uint8_t all[256], block[64] = { 0 };

	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	T_CHECK(begins(hex_sum(BTRFS_CRC32C, "123456789", 9), "839206e300000000"));
	T_CHECK(begins(hex_sum(BTRFS_CRC32C, "", 0), "00000000"));
	T_CHECK(begins(hex_sum(BTRFS_XXHASH64, "", 0), "99e9d85137db46ef00"));
	T_CHECK(begins(hex_sum(BTRFS_XXHASH64, "abc", 3), "990977adf52cbc4400"));
	T_CHECK(begins(
	    hex_sum(BTRFS_SHA256, "abc", 3), "ba7816bf8f01cfea414140de5dae2223"));
	T_CHECK(begins(hex_sum(BTRFS_BLAKE2B, "abc", 3),
	    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"));
	T_CHECK(begins(hex_sum(BTRFS_BLAKE2B, all, sizeof all),
	    "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835"));
	T_CHECK(begins(hex_sum(4, "abc", 3), "none"));
	T_CHECK(!btrfs_sum_right(BTRFS_CRC32C, block, sizeof block));
	T_CHECK(btrfs_sum(BTRFS_CRC32C, block + 32, 32, block));
	T_CHECK(btrfs_sum_right(BTRFS_CRC32C, block, sizeof block));
	T_CHECK(!btrfs_sum_right(BTRFS_CRC32C, block, 32));
	return t_done();
}
