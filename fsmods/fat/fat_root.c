/* fat_root.c: checks that the root directory of FAT is where the boot sector's parameters
 * put it. fat.c calls this, in the thread that scans. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "fsmods/bits.h"
#include "fsmods/fat/fat_impl.h"

enum {
	NAME_BYTES = 11,
	NAME_DELETED = 0xe5,
	NAME_FOR_DELETED = 0x05, /* where a name does begin with 0xe5 */
	ATTR_VOLUME = 0x08,      /* also in every part of a long name */
	ATTR_DIRECTORY = 0x10,
	ATTR_LONG_NAME = 0x0f,
	ATTR_UNUSED = 0xc0,
	ROOT_BYTES_MAX = 65536 * FAT_ENTRY_BYTES,
};

/* Mark the first cluster of FAT32's root directory: the boot sector leads to it. */
static int
link_root(const struct fat *v, struct fat_table *t, struct err *e)
{
	uint32_t root = v->boot.root_cluster;

	if (v->width != 32)
		return 0;
	if (root < FAT_FIRST_CLUSTER || root >= v->clusters + FAT_FIRST_CLUSTER)
		return err_set(e, ERR_FORMAT, "its root directory lies outside of it");
	bit_set(t->linked, root);
	return 0;
}

struct entry {
	const uint8_t *name;
	uint8_t attr;
	uint32_t cluster;
};

static struct entry
entry_get(const uint8_t *at)
{
	struct rd r = rd_from(at, FAT_ENTRY_BYTES);
	struct entry n = { .name = rd_bytes(&r, NAME_BYTES) };

	n.attr = rd_u8(&r);
	rd_skip(&r, 8);
	uint32_t high = rd_le16(&r);
	rd_skip(&r, 4);
	n.cluster = rd_le16(&r) | high << 16;
	return n;
}

/* A directory must begin with an entry for itself. */
static int
check_place(const struct fat *v, uint32_t cluster, struct err *e)
{
	uint8_t raw[FAT_ENTRY_BYTES];

	if (fat_read(v, raw, sizeof raw, fat_cluster_at(v, cluster), e) != 0)
		return -1;
	struct entry self = entry_get(raw);
	uint32_t mask = v->width == 32 ? UINT32_MAX : UINT16_MAX;
	if (memcmp(self.name, ".          ", NAME_BYTES) != 0 ||
	    (self.cluster & mask) != cluster)
		return err_set(e, ERR_FORMAT,
		    "no directory is in cluster %" PRIu32 ", where one should "
		    "be",
		    cluster);
	return 0;
}

/* Mark the first cluster of a file or directory that the root directory leads to, and
 * check it. */
static int
check_contents(
    const struct fat *v, struct fat_table *t, const struct entry *n, struct err *e)
{
	if (n->cluster < FAT_FIRST_CLUSTER ||
	    n->cluster >= v->clusters + FAT_FIRST_CLUSTER)
		return err_set(e, ERR_FORMAT, "a file lies outside of it");
	bit_set(t->linked, n->cluster);
	if (!(n->attr & ATTR_DIRECTORY))
		return 0;
	return check_place(v, n->cluster, e) != 0 ? -1 : fat_hot_cluster(v, n->cluster, e);
}

/* Can this be a directory entry? Other bytes mean that a parameter of the boot sector is
 * wrong. */
static bool
is_sound(const struct entry *n)
{
	if (n->attr & ATTR_UNUSED)
		return false;
	if (n->name[0] == NAME_DELETED || (n->attr & ~ATTR_UNUSED) == ATTR_LONG_NAME)
		return true;
	for (unsigned i = 0; i < NAME_BYTES; i++)
		if (n->name[i] < ' ' && !(i == 0 && n->name[i] == NAME_FOR_DELETED))
			return false;
	return true;
}

static int
check_entries(const struct fat *v, struct fat_table *t, const uint8_t *dir, size_t len,
    struct err *e)
{
	for (size_t at = 0; at < len && dir[at] != 0; at += FAT_ENTRY_BYTES) {
		struct entry n = entry_get(dir + at);
		if (!is_sound(&n))
			return err_set(
			    e, ERR_FORMAT, "its root directory has impossible entries");
		if (v->width != 32)
			n.cluster &= UINT16_MAX;
		if (n.name[0] != NAME_DELETED && !(n.attr & ATTR_VOLUME) &&
		    n.cluster != 0 && check_contents(v, t, &n, e) != 0)
			return -1;
	}
	return 0;
}

/* The root directory (of FAT32, its first cluster) proves that clusters are
 * where they are thought to be. */
static int
check_directory(const struct fat *v, struct fat_table *t, struct err *e)
{
	const struct fat_boot *b = &v->boot;
	bool fat32 = v->width == 32;
	uint64_t at = fat32 ? fat_cluster_at(v, b->root_cluster)
	                    : (b->reserved_sectors + b->fats * v->fat_sectors) *
	                          b->sector_bytes;
	size_t len = fat32 ? (size_t)b->cluster_sectors * b->sector_bytes
	                   : (size_t)b->root_entries * FAT_ENTRY_BYTES;

	if (len > ROOT_BYTES_MAX)
		len = ROOT_BYTES_MAX;
	uint8_t *dir = malloc(len);
	if (dir == NULL)
		return err_nomem(e, "the root directory");
	int rc = fat_read(v, dir, len, at, e);
	if (rc == 0)
		rc = check_entries(v, t, dir, len, e);
	free(dir);
	return rc;
}

int
fat_check_root(const struct fat *v, struct fat_table *t, struct err *e)
{
	return link_root(v, t, e) != 0 ? -1 : check_directory(v, t, e);
}
