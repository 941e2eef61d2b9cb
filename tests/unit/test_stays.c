/* Which partitions keep their first sector: by their type, by a boot loader that has the
 * numbers of its sectors, and whole tables that are not regular. */
#include "imagezip/shrink/stays.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"
#include "common/disk/ptype.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { SECTORS = 8192, PARTS = 3, FIRST = 2048, EACH = 1024, GRUB_KERNEL = 0x5c };

static uint8_t bytes[SECTORS * SECTOR_BYTES];
static struct ptable t;
static const struct partition *order[PARTS];
static const char *why[PARTS];
static struct err e;

static uint64_t
first_of(unsigned i)
{
	return FIRST + (uint64_t)i * EACH;
}

/* Three partitions of this type, an MBR's or gdisk's code. */
static void
begin(enum ptable_kind kind, unsigned type)
{
	rangeset_free(&t.own);
	t = (struct ptable){ .kind = kind, .sector_bytes = 512, .nparts = PARTS };
	memset(bytes, 0, sizeof bytes);
	for (unsigned i = 0; i < PARTS; i++) {
		struct partition *p = &t.parts[i];
		*p = (struct partition){ .number = i + 1, .sectors = { first_of(i), EACH } };
		if (kind == PTABLE_MBR)
			p->mbr_type = (uint8_t)type;
		else
			ptype_guid_bytes(ptype_gpt_by_code(type)->guid, p->type_guid);
		order[i] = p;
	}
}

static int
find(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err none;
	int rc = stays_find(why, d, &t, order, &e);

	disk_close(d, &none);
	return rc;
}

/* Do all three stay, for a reason with these words?  NULL: none does. */
static bool
all(enum ptable_kind kind, unsigned type, const char *words)
{
	bool ok = true;

	begin(kind, type);
	if (find() != 0)
		return false;
	for (unsigned i = 0; i < PARTS; i++)
		ok &= words == NULL ? why[i] == NULL
		                    : why[i] != NULL && strstr(why[i], words) != NULL;
	return ok;
}

/* Does this one alone stay, for a reason with these words? */
static bool
only(unsigned number, const char *words)
{
	bool ok = find() == 0;

	for (unsigned i = 0; ok && i < PARTS; i++)
		ok = i + 1 == number ? why[i] != NULL && strstr(why[i], words) != NULL
		                     : why[i] == NULL;
	return ok;
}

static void
test_types(void)
{
	T_CHECK(all(PTABLE_MBR, 0x83, NULL) && all(PTABLE_MBR, 0x82, NULL));
	T_CHECK(all(PTABLE_MBR, 0x07, "Windows") && all(PTABLE_MBR, 0x17, "Windows"));
	T_CHECK(all(PTABLE_MBR, 0x27, "Windows"));
	T_CHECK(all(PTABLE_MBR, 0xa5, "disklabel") && all(PTABLE_MBR, 0xa6, "disklabel"));
	T_CHECK(all(PTABLE_MBR, 0xa9, "disklabel"));
	T_CHECK(all(PTABLE_MBR, 0x42, "its owner"));
	T_CHECK(all(PTABLE_GPT, 0x8300, NULL) && all(PTABLE_GPT, 0x0700, NULL));
	T_CHECK(all(PTABLE_GPT, 0xef02, "boot loader") && all(PTABLE_GPT, 0x4200, "its owner"));
	begin(PTABLE_GPT, 0x2700);
	T_CHECK(stays_recovery(&t.parts[0]));
	begin(PTABLE_GPT, 0x0700);
	T_CHECK(!stays_recovery(&t.parts[0]));
	begin(PTABLE_MBR, 0x27);
	T_CHECK(stays_recovery(&t.parts[0]));
}

static void
test_loaders(void)
{
	uint8_t *second = bytes + first_of(1) * SECTOR_BYTES;

	/* In a partition's first sector. */
	begin(PTABLE_MBR, 0x83);
	memcpy(second + 6, "LILO", 4);
	T_CHECK(only(2, "LILO"));
	begin(PTABLE_MBR, 0x83);
	memcpy(second + 400, "GRUB ", 5);
	T_CHECK(only(2, "GRUB"));
	begin(PTABLE_MBR, 0x83);
	memcpy(second + 438, "GRUB ", 5); /* behind the code */
	T_CHECK(find() == 0 && why[1] == NULL);
	/* In that of the disk: LILO's files may be anywhere, GRUB says where it goes on. */
	begin(PTABLE_MBR, 0x83);
	memcpy(bytes + 6, "LILO", 4);
	T_CHECK(find() == 0 && why[0] != NULL && why[1] != NULL && why[2] != NULL);
	begin(PTABLE_MBR, 0x83);
	memcpy(bytes + 300, "GRUB ", 5);
	put_le64(bytes + GRUB_KERNEL, 1);
	T_CHECK(find() == 0 && why[0] == NULL && why[1] == NULL && why[2] == NULL);
	put_le64(bytes + GRUB_KERNEL, first_of(1));
	T_CHECK(only(2, "GRUB"));
	put_le64(bytes + GRUB_KERNEL, first_of(2) - 1);
	T_CHECK(only(2, "GRUB"));
	put_le64(bytes + GRUB_KERNEL, first_of(2));
	T_CHECK(only(3, "GRUB"));
	/* In sectors of 4096 bytes. */
	t.sector_bytes = 4096;
	put_le64(bytes + GRUB_KERNEL, first_of(1) / 8);
	T_CHECK(only(2, "GRUB"));
}

/* What cannot be read has no boot loader; the first sector of the disk must be read. */
static void
test_unreadable(void)
{
	struct mem m = mem_of(bytes, sizeof bytes);
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	struct err none;

	begin(PTABLE_MBR, 0x83);
	memcpy(bytes + first_of(1) * SECTOR_BYTES + 6, "LILO", 4);
	m.bad = first_of(1) * SECTOR_BYTES;
	T_CHECK(stays_find(why, d, &t, order, &e) == 0 && why[1] == NULL);
	m.bad = 0;
	T_CHECK(stays_find(why, d, &t, order, &e) == -1 && e.kind == ERR_IO);
	disk_close(d, &none);
}

/* Partition 1, and two logical ones with their records directly before them. */
static void
logical(void)
{
	begin(PTABLE_MBR, 0x83);
	for (unsigned i = 1; i < PARTS; i++) {
		t.parts[i].number = 4 + i;
		t.parts[i].logical = true;
		t.parts[i].sectors.off += 64;
		t.parts[i].sectors.len -= 64;
		T_CHECK(rangeset_add(&t.own, (struct range){ first_of(i), 1 }, &e) == 0);
	}
	T_CHECK(rangeset_add(&t.own, (struct range){ 0, 1 }, &e) == 0);
	rangeset_seal(&t.own);
}

static void
test_whole_tables(void)
{
	logical();
	T_CHECK(!stays_all(&t, order));
	/* Out of order, on the disk or by their numbers. */
	order[1] = &t.parts[2], order[2] = &t.parts[1];
	T_CHECK(stays_all(&t, order));
	logical();
	t.parts[1].number = 6, t.parts[2].number = 5;
	T_CHECK(stays_all(&t, order));
	/* A partition of type 0. */
	logical();
	t.parts[0].empty = true;
	T_CHECK(stays_all(&t, order));
	/* A record more, and one that lies elsewhere. */
	logical();
	T_CHECK(rangeset_add(&t.own, (struct range){ SECTORS - 1, 1 }, &e) == 0);
	rangeset_seal(&t.own);
	T_CHECK(stays_all(&t, order));
	logical();
	rangeset_free(&t.own);
	T_CHECK(rangeset_add(&t.own, (struct range){ 0, 1 }, &e) == 0 &&
		rangeset_add(&t.own, (struct range){ first_of(1), 2 }, &e) == 0);
	rangeset_seal(&t.own);
	T_CHECK(stays_all(&t, order));
	/* None of it matters in a GPT. */
	t.kind = PTABLE_GPT;
	T_CHECK(!stays_all(&t, order));
}

int
main(void)
{
	test_types();
	test_loaders();
	test_unreadable();
	test_whole_tables();
	rangeset_free(&t.own);
	return t_done();
}
