/* bootimage.c: makes the partition table of a boot image (-B). The code that changes
 * tables on disks is run on a disk that keeps what is written as patches of the source.
 * layout.c and layout_part.c call this in imagezip's first thread. */
#include "common/layout/bootimage.h"

#include <string.h>

#include "common/disk/ptype.h"

enum { MBR_EFI_SYSTEM = 0xef, GPT_EFI_SYSTEM = 0xef00, GPT_BIOS_BOOT = 0xef02 };

struct overlay {
	struct disk *below;
	struct relocs *x;
};

static uint8_t *
find_patch(struct relocs *x, uint64_t sector)
{
	for (size_t i = 0; i < x->npatches; i++)
		if (x->patches[i].sector == sector)
			return x->patches[i].bytes;
	return NULL;
}

/* Copy between buf, which holds the disk's bytes [off, off+len), and the patches in that
 * range. */
static int
each_sector(struct overlay *o, uint8_t *buf, size_t len, uint64_t off, bool writing,
    struct err *e)
{
	for (size_t at = 0, n; at < len; at += n) {
		uint64_t sector = (off + at) / SECTOR_BYTES,
			 in = (off + at) % SECTOR_BYTES;
		uint8_t *p = find_patch(o->x, sector);
		n = SECTOR_BYTES - in < len - at ? SECTOR_BYTES - in : len - at;
		if (p == NULL && writing &&
		    (p = relocs_patch(o->x, o->below, 0, sector, e)) == NULL)
			return -1;
		if (p != NULL)
			memcpy(writing ? p + in : buf + at, writing ? buf + at : p + in,
			    n);
	}
	return 0;
}

static int
overlay_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct overlay *o = ctx;

	return disk_read(o->below, buf, len, off, e) == 0
	           ? each_sector(o, buf, len, off, false, e)
	           : -1;
}

static int
overlay_write(void *ctx, const void *buf, size_t len, uint64_t off, struct err *e)
{
	return each_sector(ctx, (uint8_t *)(uintptr_t)buf, len, off, true, e);
}

static bool
is_gpt_type(const struct partition *p, unsigned code)
{
	const struct ptype_gpt *type = ptype_gpt_by_guid(p->type_guid);

	return type != NULL && type->code == code;
}

bool
bootimage_has(const struct partition *p, unsigned root)
{
	return p->number == root || p->mbr_type == MBR_EFI_SYSTEM ||
	       (p->mbr_type == 0 &&
		   (is_gpt_type(p, GPT_EFI_SYSTEM) || is_gpt_type(p, GPT_BIOS_BOOT)));
}

int
bootimage_table(struct relocs *x, struct disk *d, const struct ptable *t, unsigned root,
    struct err *e)
{
	static const struct disk_ops ops = { .read = overlay_read,
		.write = overlay_write };
	struct overlay o = { d, x };
	struct disk *over;
	struct err closing;
	int rc = 0;

	if (ptable_find(t, root) == NULL)
		return err_set(e, ERR_ABSENT, "-B %u: %s has no such partition", root,
		    disk_name(d));
	if (t->kind == PTABLE_MBR && disk_sector_bytes(d) != SECTOR_BYTES)
		return err_set(e, ERR_UNSUPPORTED,
		    "-B: %s: an MBR of a disk with sectors of %u bytes", disk_name(d),
		    disk_sector_bytes(d));
	if (disk_open_ops(
		&over, disk_name(d), DISK_FILE, disk_size_bytes(d), &ops, &o, e) != 0)
		return -1;
	for (unsigned i = 0; i < t->nparts && rc == 0; i++)
		if (!bootimage_has(&t->parts[i], root))
			rc = ptable_remove(over, t->parts[i].number, e);
	disk_close(over, &closing);
	return rc == 0 ? relocs_settle(x, e) : err_ctx(e, "-B");
}
