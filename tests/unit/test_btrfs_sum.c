/* The checksums of btrfs against values published elsewhere. */
#include "fsmods/btrfs/btrfs_sum.h"

#include <string.h>

#include "tests/t.h"

/* Is there such a checksum, and does it begin with these digits? */
static bool
begins(unsigned type, const void *data, size_t len, const char *digits)
{
	uint8_t sum[BTRFS_SUM_BYTES];
	char hex[2 * BTRFS_SUM_BYTES + 1];

	if (!btrfs_sum(type, data, len, sum))
		return false;
	for (int i = 0; i < BTRFS_SUM_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return strncmp(hex, digits, strlen(digits)) == 0;
}

int
main(void)
{
	uint8_t all[256], block[64] = { 0 };

	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	T_CHECK(begins(BTRFS_CRC32C, "123456789", 9, "839206e300000000"));
	T_CHECK(begins(BTRFS_CRC32C, "", 0, "00000000"));
	T_CHECK(begins(BTRFS_XXHASH64, "", 0, "99e9d85137db46ef00"));
	T_CHECK(begins(BTRFS_XXHASH64, "abc", 3, "990977adf52cbc4400"));
	T_CHECK(begins(BTRFS_SHA256, "abc", 3, "ba7816bf8f01cfea414140de5dae2223"));
	T_CHECK(begins(BTRFS_BLAKE2B, "abc", 3,
	    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"));
	T_CHECK(begins(BTRFS_BLAKE2B, all, sizeof all,
	    "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835"));
	T_CHECK(!btrfs_sum(4, "abc", 3, all));
	T_CHECK(!btrfs_sum_right(BTRFS_CRC32C, block, sizeof block));
	T_CHECK(btrfs_sum(BTRFS_CRC32C, block + 32, 32, block));
	T_CHECK(btrfs_sum_right(BTRFS_CRC32C, block, sizeof block));
	T_CHECK(!btrfs_sum_right(BTRFS_CRC32C, block, 32));
	return t_done();
}
