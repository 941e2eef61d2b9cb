/* identity.c: computes what tells a disk from others.  streamed_open.c calls this when a disk is
 * opened, and streamed.c when it is complete, in any thread. */
#include "stream/disk/identity.h"

#include <string.h>

#include "common/base/sha256.h"
#include "common/base/zero.h"

_Static_assert((int)SHA256_BYTES == (int)TABLE_DISK_BYTES, "the identity is a SHA-256");

enum {
	XFS_UUID = 32,
	MBR_SIGNATURE = 440,
	MBR_MAGIC = 510,
	GPT_GUID = 568,
	EXT_MAGIC = 1080, /* two bytes, 53 EF */
	EXT_UUID = 1128,
};

/* Copy n bytes of the boot area.  Returns the place behind them. */
static uint8_t *
take(uint8_t *to, const uint8_t *boot, unsigned at, unsigned n)
{
	memcpy(to, boot + at, n);
	return to + n;
}

bool
identity_of(const uint8_t *boot, uint8_t out[TABLE_DISK_BYTES])
{
	/* A GPT has a partition's name where an ext filesystem has its magic and UUID. */
	bool ext = boot[EXT_MAGIC] == 0x53 && boot[EXT_MAGIC + 1] == 0xef;
	uint8_t bytes[16 + 6 + 16 + 16 + 2] = { 0 }, *p = bytes;

	p = take(p, boot, XFS_UUID, 16);
	p = take(p, boot, MBR_SIGNATURE, 6);
	p = take(p, boot, GPT_GUID, 16);
	if (ext)
		take(p, boot, EXT_UUID, 16);
	bool any = !is_zero(bytes, (size_t)(p + 16 - bytes));
	take(p + 16, boot, MBR_MAGIC, 2);
	sha256(bytes, sizeof bytes, out);
	return any;
}
