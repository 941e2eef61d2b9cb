/* Names of what is stored completely: in a file, which libblkid can read, and elsewhere. */
#include "fsmods/recognise.h"

#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

static struct err e;

/* What a file of the scratch folder holds from sector `at` on. */
static bool
says(const char *file, uint64_t at, const char *text)
{
	struct disk *d;

	if (disk_open(&d, in_scratch(file), DISK_READ, &e) != 0)
		return false;
	struct recognised r = recognise_content(
	    d, (struct range){ at, disk_size_bytes(d) / SECTOR_BYTES - at });
	disk_close(d, &e);
	printf("# %s\n", r.text);
	return strcmp(r.text, text) == 0;
}

/* Bytes at a place of a file of 1 MiB, all else zeros. */
static void
make(const char *file, long at, const char *printf_text)
{
	T_CHECK(sh("truncate -s 1M %s && printf '%s' | dd of=%s bs=1 seek=%ld conv=notrunc",
		    file, printf_text, file, at) == 0);
}

int
main(void)
{
	static const char nothing[] = "no known filesystem";
	static uint8_t bytes[64 << 10];
	struct mem m = mem_of(bytes, sizeof bytes);

	scratch_init();
	make("empty", 0, "");
	T_CHECK(says("empty", 0, nothing));
	make("jfs", 32768, "JFS1");
	T_CHECK(says("jfs", 0, "a JFS filesystem, which is not looked into"));
	/* What only libblkid knows, in a partition. */
	make("squash", 1024, "hsqs");
	make("squash", 1024 + 28, "\\004");
	T_CHECK(says(
	    "squash", 2, "a filesystem of type squashfs, which is not looked into"));
	T_CHECK(says("squash", 0, nothing));
	if (sh("truncate -s 1M minix && mkfs.minix minix") == 0)
		T_CHECK(says(
		    "minix", 0, "a filesystem of type minix, which is not looked into"));
	/* A disk without a descriptor, a partition of no sectors, one beyond the end. */
	struct disk *d = mem_disk(&m, DISK_FILE, 512);
	T_CHECK(strcmp(recognise_content(d, (struct range){ 0, 128 }).text, nothing) == 0);
	disk_close(d, &e);
	T_CHECK(disk_open(&d, in_scratch("jfs"), DISK_READ, &e) == 0);
	T_CHECK(strcmp(recognise_content(d, (struct range){ 0, 0 }).text, nothing) == 0);
	T_CHECK(strcmp(recognise_content(d, (struct range){ 2048, 64 }).text, nothing) == 0);
	disk_close(d, &e);
	return t_done();
}
