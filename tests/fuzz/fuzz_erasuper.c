/* Any first block of dm-era's metadata: refused, or fields that a generation does not change. */
#include <assert.h>
#include <string.h>

#include "dsync/track/superblock.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct stream_id one = { { 1 } };
	uint8_t block[SUPERBLOCK_BYTES] = { 0 };
	struct superblock a, b;
	struct err e;

	memcpy(block, data, len < sizeof block ? len : sizeof block);
	superblock_get(&a, block, &e);
	if (len == 0)
		return 0;
	superblock_put(block, &one); /* makes the check sum right, so that the fields are read */
	if (superblock_get(&a, block, &e) != 0 || a.empty)
		return 0;
	assert(stream_id_same(&a.generation, &one));
	superblock_put(block, &(struct stream_id){ { 2 } });
	assert(superblock_get(&b, block, &e) == 0);
	assert(a.blocks == b.blocks && a.era == b.era && a.block_sectors == b.block_sectors);
	return 0;
}
