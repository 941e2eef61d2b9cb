/* The lengths of filesystems (common/resize/super.h): the first byte chooses the type, the rest
 * is the beginning of the partition. */
#include <assert.h>

#include "common/resize/super.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const types[] = { "ext4", "xfs", "btrfs", "ntfs" };
	struct super s;

	if (super_find(data, len, &s) != NULL)
		assert(s.bytes != 0 && s.block_bytes != 0 && s.bytes >= s.block_bytes);
	if (len > 0 && super_get(types[data[0] % 4], data + 1, len - 1, &s))
		assert(s.bytes != 0 && s.block_bytes != 0 && s.bytes >= s.block_bytes);
	return 0;
}
