/* XFS: see fsmod_mended.h. */
#include <ext2fs/ext2fs.h>

#include <stdint.h>
#include <string.h>

#define FSMOD fsmod_xfs
#define MEND mend_crc
#include "tests/fuzz/fsmod_mended.h"

/* Metadata is read one block at a time; its magic number tells where its
 * CRC-32C is. */
void
mend_crc(uint8_t *buf, size_t len)
{
	static const struct {
		char magic[5];
		size_t crc_at;
	} kinds[] = {
		{ "XFSB", 224 },
		{ "XAGF", 216 },
		{ "AB3B", 52 },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		size_t at = kinds[i].crc_at;
		if (len < 512 || memcmp(buf, kinds[i].magic, 4) != 0)
			continue;
		memset(buf + at, 0, 4);
		uint32_t crc = ~ext2fs_crc32c_le(~UINT32_C(0), buf, len);
		for (int k = 0; k < 4; k++)
			buf[at + k] = (uint8_t)(crc >> 8 * k);
	}
}
