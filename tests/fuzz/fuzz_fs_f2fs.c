/* F2FS: see fsmod_mended.h. */
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#define FSMOD fsmod_f2fs
#define MEND mend_crc
#include "tests/fuzz/fsmod_mended.h"

/* The checkpoint is read one block at a time, and so are few others: whatever
 * could be a checkpoint, going by where it says that its checksum is, gets it. */
void
mend_crc(uint8_t *buf, size_t len)
{
	struct rd r = rd_from(buf + 164, 4);
	uint32_t at = len == 4096 ? rd_le32(&r) : 0;

	if (at < 192 || at > 4092)
		return;
	uint32_t crc = (uint32_t)crc32_z(~UINT32_C(0xf2f52010), buf, at);
	crc = ~(uint32_t)crc32_z(crc, buf + at + 4, 4096 - at - 4);
	for (int k = 0; k < 4; k++)
		buf[at + k] = (uint8_t)(crc >> 8 * k);
}
