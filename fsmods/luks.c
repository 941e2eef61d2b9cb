/* luks.c: LUKS1 and LUKS2: encrypted volumes, in which free space cannot be told from
 * data. fsmods.c calls its functions, in the first thread of imagezip.
 *
 * The module exists so that the user is told why the image is so large, and so that no
 * other module claims the partition. Source: the LUKS1 and LUKS2 on-disk format
 * specifications (the magic and the version only).
 */
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/fsmod.h"

enum { HEADER_BYTES = 512, VERSION_MAX = 2 };

/* Returns the version (1 or 2), 0 when this is not LUKS, or -1. */
static int
version_of(struct disk *d, struct range part, struct err *e)
{
	static const uint8_t magic[6] = { 'L', 'U', 'K', 'S', 0xba, 0xbe };
	uint8_t head[HEADER_BYTES];

	if (part.len * SECTOR_BYTES < sizeof head)
		return 0;
	if (disk_read(d, head, sizeof head, part.off * SECTOR_BYTES, e) != 0)
		return -1;
	struct rd r = rd_from(head, sizeof head);
	if (memcmp(rd_bytes(&r, sizeof magic), magic, sizeof magic) != 0)
		return 0;
	unsigned version = rd_be16(&r);
	return version >= 1 && version <= VERSION_MAX ? (int)version : 0;
}

static int
luks_probe(struct disk *d, struct range part, struct err *e)
{
	int version = version_of(d, part, e);

	return version > 0 ? 1 : version;
}

static int
luks_scan(struct disk *d, struct range part, struct skip_sink *sink, struct err *e)
{
	int version = version_of(d, part, e);

	if (version < 0)
		return -1;
	skip_warn(sink,
	    "encrypted (LUKS%d): every sector is stored, and hardly any will compress",
	    version);
	return 0;
}

const struct fsmod fsmod_luks = {
	.name = "luks",
	.title = "LUKS encrypted volume",
	.probe = luks_probe,
	.scan = luks_scan,
};
