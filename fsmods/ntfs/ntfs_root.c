/* ntfs_root.c: find a few files in the root directory.
 *
 * The index is not searched but walked: its root, and all its blocks that its
 * bitmap calls in use, in the order of the disk.  So no cycle in the tree and
 * no wrong order can hide a name, and no collation table is needed.
 */
#include <stdlib.h>
#include <string.h>

#include "fsmods/ntfs/ntfs_impl.h"

enum {
	ENTRY_LAST = 2,
	ENTRY_HEADER_BYTES = 16,
	KEY_NAME_AT = 64, /* in a $FILE_NAME */
	BLOCK_HEADER_BYTES = 24,
	INDEX_BYTES_MAX = 256 << 20, /* a root directory of a million files has less */
	INDEXES_FILE_NAMES = 0x30,
};

static const char *const names[NTFS_SPECIALS] = {
	[NTFS_PAGEFILE] = "pagefile.sys",
	[NTFS_SWAPFILE] = "swapfile.sys",
	[NTFS_HIBERFIL] = "hiberfil.sys",
};

/* ASCII names without regard to case, as Windows looks for them. */
static bool
name_is(struct rd utf16, const char *want)
{
	for (; *want != '\0'; want++) {
		uint16_t c = rd_le16(&utf16);
		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		if (c != (uint8_t)*want)
			return false;
	}
	return rd_done(&utf16);
}

static void
note(struct rd key, uint64_t ref, struct ntfs_found found[])
{
	rd_skip(&key, KEY_NAME_AT);
	size_t chars = rd_u8(&key);
	rd_skip(&key, 1);
	struct rd name = rd_sub(&key, chars * 2);
	for (unsigned i = 0; rd_ok(&name) && i < NTFS_SPECIALS; i++)
		if (name_is(name, names[i])) {
			found[i].n++;
			found[i].ref = ref;
		}
}

/* `node` starts with an index header; its entries follow. */
static int
walk_node(struct rd node, struct ntfs_found found[], struct err *e)
{
	struct rd head = node;
	uint32_t first = rd_le32(&head), used = rd_le32(&head);
	struct rd entries = rd_sub(&node, used);

	rd_skip(&entries, first);
	while (rd_left(&entries) >= ENTRY_HEADER_BYTES) {
		struct rd r = entries;
		uint64_t ref = rd_le64(&r);
		uint16_t bytes = rd_le16(&r), key_bytes = rd_le16(&r),
			 flags = rd_le16(&r);
		if (flags & ENTRY_LAST)
			return 0;
		rd_skip(&r, 2);
		struct rd key = rd_sub(&r, key_bytes);
		if (bytes < ENTRY_HEADER_BYTES || !rd_ok(&key))
			break;
		note(key, ref, found);
		rd_skip(&entries, bytes);
	}
	return err_set(e, ERR_FORMAT, "the root directory is damaged");
}

static int
walk_block(const struct ntfs *v, const struct ntfs_stream *index, uint64_t number,
    uint32_t block_bytes, uint8_t *block, struct ntfs_found found[], struct err *e)
{
	if (ntfs_stream_read(v, index, block, block_bytes, number * block_bytes, e) !=
		0 ||
	    ntfs_fix_up(block, block_bytes, "INDX", e) != 0)
		return err_ctx(e, "the root directory");
	return walk_node(
	    rd_from(block + BLOCK_HEADER_BYTES, block_bytes - BLOCK_HEADER_BYTES),
	    found, e);
}

/* All blocks that the bitmap calls in use. */
static int
walk_blocks(const struct ntfs *v, const struct ntfs_stream *index,
    const struct ntfs_stream *bitmap, uint32_t block_bytes, struct ntfs_found found[],
    struct err *e)
{
	uint64_t blocks = index->bytes / block_bytes, bytes = (blocks + 7) / 8;
	uint8_t *block = malloc(block_bytes), *bits = malloc(bytes > 0 ? bytes : 1);
	int rc = block == NULL || bits == NULL
	             ? err_nomem(e, "the root directory")
	             : ntfs_stream_read(v, bitmap, bits, bytes, 0, e);

	for (uint64_t i = 0; rc == 0 && i < blocks; i++)
		if (bits[i / 8] >> i % 8 & 1)
			rc = walk_block(v, index, i, block_bytes, block, found, e);
	free(block);
	free(bits);
	return rc;
}

static int
walk_allocation(const struct ntfs *v, const struct ntfs_record *root,
    uint32_t block_bytes, struct ntfs_found found[], struct err *e)
{
	struct ntfs_stream index, bitmap = { 0 };
	int rc = ntfs_stream_open(v, root, NTFS_AT_INDEX_ALLOCATION, "$I30", &index, e);

	if (rc == 1) {
		rc = ntfs_stream_open(v, root, NTFS_AT_BITMAP, "$I30", &bitmap, e);
		if (rc >= 0)
			rc = rc == 1 && index.bytes <= INDEX_BYTES_MAX
			         ? walk_blocks(
				       v, &index, &bitmap, block_bytes, found, e)
			         : err_set(
				       e, ERR_FORMAT, "the root directory is damaged");
	}
	ntfs_stream_close(&index);
	ntfs_stream_close(&bitmap);
	return rc;
}

static int
walk_root(const struct ntfs *v, const struct ntfs_record *root,
    struct ntfs_found found[], struct err *e)
{
	struct ntfs_stream top;
	uint32_t block_bytes = 0;
	int rc = ntfs_stream_open(v, root, NTFS_AT_INDEX_ROOT, "$I30", &top, e);

	if (rc == 1 && top.resident) {
		struct rd r = rd_from(top.data, top.bytes);
		uint32_t what = rd_le32(&r);
		rd_skip(&r, 4);
		block_bytes = rd_le32(&r);
		rd_skip(&r, 4);
		if (what != INDEXES_FILE_NAMES || block_bytes < NTFS_STRIDE ||
		    block_bytes > NTFS_RECORD_MAX ||
		    (block_bytes & (block_bytes - 1)) != 0)
			rc = err_set(e, ERR_FORMAT, "the root directory is damaged");
		else
			rc = walk_node(rd_sub(&r, rd_left(&r)), found, e);
	} else if (rc >= 0) {
		rc = err_set(e, ERR_FORMAT, "there is no root directory");
	}
	ntfs_stream_close(&top);
	return rc != 0 ? -1 : walk_allocation(v, root, block_bytes, found, e);
}

int
ntfs_root_find(
    const struct ntfs *v, struct ntfs_found found[NTFS_SPECIALS], struct err *e)
{
	struct ntfs_record *root = malloc(sizeof *root);

	memset(found, 0, NTFS_SPECIALS * sizeof found[0]);
	if (root == NULL)
		return err_nomem(e, "a record");
	int rc = ntfs_record_read(v, NTFS_ROOT, root, e);
	if (rc == 0)
		rc = walk_root(v, root, found, e);
	free(root);
	return rc;
}
