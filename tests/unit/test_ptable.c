/* Partition tables that sfdisk and sgdisk made, read back and compared with what
 * those say. */
#include "tests/unit/ptables.h"
#include "tests/unit/ptables_sfdisk.h"

static bool
own_is(unsigned n, const struct range *want)
{
	if (rangeset_count(&t.own) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (rangeset_get(&t.own, i).off != want[i].off ||
		    rangeset_get(&t.own, i).len != want[i].len)
			return false;
	return true;
}

static void
test_mbr(void)
{
	static const struct range own[] = { { 0, 1 }, { 3000, 1 } };
	char buf[64];

	if (!have("sfdisk"))
		return;
	T_CHECK(make_mbr("mbr", '5'));
	T_CHECK(read_path(in_scratch("mbr")) == 0);
	T_CHECK(t.kind == PTABLE_MBR);
	T_CHECK(t.nparts == 6);
	T_CHECK(t.sector_bytes == 512);
	T_CHECK(sfdisk_agrees(in_scratch("mbr")));
	T_CHECK(is_sound(MBR_SECTORS * 512));
	T_CHECK(ptable_find(&t, 5)->logical);
	T_CHECK(!ptable_find(&t, 4)->logical);
	T_CHECK(ptable_find(&t, 3) == NULL);
	T_CHECK(t.warning[0] == '\0');
	T_CHECK(t.usable.off == 1);
	T_CHECK(t.usable.len == MBR_SECTORS - 1);
	T_CHECK(rangeset_count(&t.own) == 4);
	T_CHECK(rangeset_total(&t.own) == 4);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 1), buf, sizeof buf),
		    "0x83 Linux") == 0);
	for (const char *type = "f5"; *type != '\0'; type++) {
		T_CHECK(make_mbr("mbr-x", *type));
		T_CHECK(read_path(in_scratch("mbr-x")) == 0);
		T_CHECK(sfdisk_agrees(in_scratch("mbr-x")));
	}
	T_CHECK(sh("truncate -s 3M empty && echo 'label: dos' | sfdisk empty") == 0);
	T_CHECK(read_path(in_scratch("empty")) == 0);
	T_CHECK(t.kind == PTABLE_MBR);
	T_CHECK(t.nparts == 0);
	T_CHECK(is_sound(3 << 20));
	T_CHECK(own_is(1, own));
	T_CHECK(sh("truncate -s 3M ext && printf 'label: dos\nstart=3000, size=100, "
		   "type=5\n' | sfdisk ext") == 0);
	T_CHECK(read_path(in_scratch("ext")) == 0);
	T_CHECK(t.nparts == 0);
	T_CHECK(own_is(2, own));
}

static void
test_gpt(void)
{
	static const struct range own[] = { { 0, 34 }, { GPT_SECTORS - 33, 33 } };
	char buf[64];

	T_CHECK(make_gpt());
	T_CHECK(read_path(in_scratch("gpt")) == 0);
	T_CHECK(t.kind == PTABLE_GPT);
	T_CHECK(t.nparts == 4);
	T_CHECK(t.sector_bytes == 512);
	T_CHECK(sfdisk_agrees(in_scratch("gpt")));
	T_CHECK(is_sound(GPT_SECTORS * 512));
	T_CHECK(t.warning[0] == '\0');
	T_CHECK(own_is(2, own));
	T_CHECK(t.usable.off == 34);
	T_CHECK(t.usable.len == GPT_SECTORS - 67);
	T_CHECK(ptable_find(&t, 3) == NULL);
	T_CHECK(ptable_find(&t, 100) == &t.parts[3]);
	T_CHECK(strcmp(ptable_find(&t, 100)->name, "Gr\303\266\303\237e") == 0);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 2), buf, sizeof buf),
		    "Linux filesystem") == 0);
	/* Hybrid: the MBR has partitions, too. */
	T_CHECK(sh("cp gpt hybrid && sgdisk -h 2:5 hybrid") == 0);
	T_CHECK(read_path(in_scratch("hybrid")) == 0);
	T_CHECK(t.kind == PTABLE_GPT);
	T_CHECK(t.nparts == 4);
	/* Larger arrays, and a disk of another size than when it was made. */
	T_CHECK(read_path(in_scratch("big")) == 0);
	T_CHECK(t.nparts == 1);
	T_CHECK(t.parts[0].number == 300);
	T_CHECK(rangeset_get(&t.own, 0).len == 130);
	T_CHECK(sh("cp gpt grown && truncate -s +1M grown") == 0);
	T_CHECK(read_path(in_scratch("grown")) == 0);
	T_CHECK(t.nparts == 4);
	T_CHECK(own_is(2, own));
	T_CHECK(strcmp(t.warning, "backup GPT is not at the end of the disk") == 0);
	T_CHECK(sh("cp gpt shrunk && truncate -s -16897 shrunk") == 0);
	T_CHECK(is_bad(read_path(in_scratch("shrunk")), "for a larger disk"));
	T_CHECK(sh("cp gpt differ && cp gpt differ2") == 0);
	T_CHECK(set_type("differ2", 2, 0x8304));
	T_CHECK(sh("dd if=differ2 of=differ bs=512 count=34 conv=notrunc") == 0);
	T_CHECK(read_path(in_scratch("differ")) == 0);
	T_CHECK(strstr(t.warning, "differ") != NULL);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 2), buf, sizeof buf),
		    "Linux x86-64 root (/)") == 0);
	T_CHECK(sh("cp gpt nombr && dd if=/dev/zero of=nombr bs=512 count=1 "
		   "conv=notrunc") == 0);
	T_CHECK(read_path(in_scratch("nombr")) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
}

/* A device with sectors of 4096 bytes, and a file copied from one. */
static void
test_4k(void)
{
	static const struct range own[] = { { 0, 48 }, { (2048 - 5) * 8, 40 } };
	char dev[64];

	T_CHECK(sh("truncate -s 8M 4k") == 0);
	if (!loop_attach("4k", "-b 4096", dev, sizeof dev)) {
		skip("sectors of 4096 bytes", "no loop device to be had (not root?)");
		return;
	}
	T_CHECK(
	    sh("sgdisk -a 1 -n 1:6:500 -t 1:8300 -c 1:one -n 2:600:2042 %s", dev) == 0);
	T_CHECK(read_path(dev) == 0);
	T_CHECK(t.kind == PTABLE_GPT);
	T_CHECK(t.sector_bytes == 4096);
	T_CHECK(sfdisk_agrees(dev));
	T_CHECK(own_is(2, own));
	T_CHECK(is_sound(8 << 20));
	T_CHECK(t.parts[0].sectors.off == 48);
	T_CHECK(t.parts[0].sectors.len == 495 * 8);
	T_CHECK(read_path(in_scratch("4k")) == 0);
	T_CHECK(t.sector_bytes == 4096);
	T_CHECK(t.nparts == 2);
	T_CHECK(own_is(2, own));
	T_CHECK(t.warning[0] == '\0');
	struct disk *d;
	T_CHECK(disk_open(&d, dev, DISK_READ | DISK_WRITE, &e) == 0);
	T_CHECK(ptable_set_type(d, 2, 0xa504, &e) == 0);
	T_CHECK(disk_close(d, &e) == 0);
	T_CHECK(sh("sgdisk -v %s | grep -q 'No problems found'", dev) == 0);
	T_CHECK(sh("sgdisk -i 2 %s | grep -q 516E7CBA-6ECF-11D6-8FF8-00022D09712B",
		    dev) == 0);
	T_CHECK(sh("dd if=/dev/zero of=%s bs=4096 seek=1 count=1 conv=notrunc,fsync",
		    dev) == 0);
	T_CHECK(read_path(dev) == 0);
	T_CHECK(strstr(t.warning, "the backup is used") != NULL);
	T_CHECK(sh("dd if=/dev/zero of=%s bs=4096 seek=2047 count=1 conv=notrunc,fsync",
		    dev) == 0);
	T_CHECK(is_bad(read_path(dev), "both copies of the GPT are damaged"));
	T_CHECK(
	    sh("printf 'label: dos\nstart=256, size=100, type=83\nstart=400, size=600,"
	       "type=5\nstart=700, size=99, type=82\n' | sfdisk --wipe always %s",
		dev) == 0);
	T_CHECK(read_path(dev) == 0);
	T_CHECK(t.kind == PTABLE_MBR);
	T_CHECK(t.nparts == 2);
	T_CHECK(sfdisk_agrees(dev));
	T_CHECK(is_sound(8 << 20));
	T_CHECK(t.usable.off == 8);
}

/* The disks that the golden images were made from. */
static void
test_golden(void)
{
	static const char *const names[] = { "mbr.img", "gpt.img", "mbr-ext.img",
		"fbsd.img", "target-mbr.img", "target-gpt.img" };
	static const char *const bare[] = { "fat16.img", "fat32.img", "ufs1.img",
		"ext2.img" };
	char cwd[512];

	T_CHECK(getcwd(cwd, sizeof cwd) != NULL);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		T_CHECK(sh("zstd -dc --long=28 <%s/tests/golden/src/sources.tar.zst | "
			   "tar xSf - %s",
			    cwd, names[i]) == 0);
		T_CHECK(read_path(in_scratch(names[i])) == 0);
		T_CHECK(sfdisk_agrees(in_scratch(names[i])));
		T_CHECK(t.warning[0] == '\0');
		sh("rm %s", names[i]);
	}
	for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
		T_CHECK(sh("zstd -dc --long=28 <%s/tests/golden/src/sources.tar.zst | "
			   "tar xSf - %s",
			    cwd, bare[i]) == 0);
		T_CHECK(read_path(in_scratch(bare[i])) == 0);
		T_CHECK(t.nparts == 0);
		sh("rm %s", bare[i]);
	}
}

/* Boot sectors of file systems look like an MBR; they have no partitions. */
static void
test_bare_filesystems(void)
{
	/* FAT12 has at most 4084 clusters: it cannot fill the size of the others. */
	static const struct {
		unsigned mib;
		const char *command;
	} makers[] = { { 64, "mkfs.fat -F 12" }, { 512, "mkfs.fat -F 16" },
		{ 512, "mkfs.fat -F 32" }, { 512, "mkntfs -q -F" },
		{ 512, "mkfs.exfat" }, { 512, "mkfs.ext4 -q" }, { 512, "mkfs.xfs" },
		{ 512, "mkfs.btrfs" }, { 512, "mkswap" } };
	char tool[64];

	for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
		const char *command = makers[i].command;

		snprintf(
		    tool, sizeof tool, "%.*s", (int)strcspn(command, " "), command);
		if (!have(tool))
			continue;
		T_CHECK(sh("rm -f fs && truncate -s %uM fs && %s fs", makers[i].mib,
			    command) == 0);
		T_CHECK(read_path(in_scratch("fs")) == 0);
		T_CHECK(t.nparts == 0);
	}
	sh("rm -f fs");
}

static void
test_refused_kinds(void)
{
	struct disk *d;

	T_CHECK(read_path("/dev/null") == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(sh("mkfifo fifo && (sleep 0.1 <>fifo >fifo & :)") == 0);
	T_CHECK(disk_open(&d, in_scratch("fifo"), DISK_READ, &e) == 0);
	T_CHECK(read_disk(d) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
}

/* The size of the sectors may come from an image, which may say anything. */
static void
test_sector_sizes(void)
{
	static const unsigned wrong[] = { 1, 513, 1536, 8192, 65536 };
	static const uint8_t types[] = { 0xee, 0x83 }; /* a GPT, an MBR */
	static uint8_t bytes[256 << 10];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;

	bytes[510] = 0x55;
	bytes[511] = 0xaa;
	poke(bytes + 446 + 8, 1, 4);
	poke(bytes + 446 + 12, 1, 4);
	for (unsigned k = 0; k < 2; k++) {
		bytes[446 + 4] = types[k];
		for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
			T_CHECK(read_disk(mem_disk(&m, DISK_FILE, wrong[i])) == -1);
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			T_CHECK(t.nparts == 0 && t.own.n == 0);
			struct disk *d = mem_disk(&m, DISK_FILE, 512);
			T_CHECK(ptable_fit(d, wrong[i], true, &done, &e) == -1);
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			disk_close(d, &closing);
			d = mem_disk(&m, DISK_BLOCK, wrong[i]);
			T_CHECK(ptable_fit(d, 512, true, &done, &e) == -1);
			T_CHECK(e.kind == ERR_UNSUPPORTED);
			disk_close(d, &closing);
		}
	}
	/* Where there is no table, the size does not matter. */
	bytes[446 + 4] = 0;
	bytes[510] = 0;
	T_CHECK(read_disk(mem_disk(&m, DISK_FILE, 65536)) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
}

/* Make a disk of 64 sectors of 4096 bytes, with a GPT whose header has so many bytes. */
static void
make_long_header(struct mem *m, unsigned header_bytes)
{
	uint8_t *header = m->b + 4096, *entry = m->b + 2 * 4096;

	memset(m->b, 0, m->len);
	m->b[446 + 4] = 0xee;
	poke(m->b + 446 + 8, 1, 4);
	poke(m->b + 446 + 12, 63, 4);
	m->b[510] = 0x55;
	m->b[511] = 0xaa;
	memcpy(header, "EFI PART", 8);
	poke(header + 12, header_bytes, 4);
	poke(header + 24, 1, 8);
	poke(header + 32, 63, 8);
	poke(header + 40, 3, 8);
	poke(header + 48, 59, 8);
	poke(header + 72, 2, 8);
	poke(header + 80, 4, 4);
	poke(header + 84, 128, 4);
	memset(entry, 7, 32);
	poke(entry + 32, 8, 8);
	poke(entry + 40, 15, 8);
	gpt_mend(m, 4096, 1);
}

/* A header may be as long as a sector, and must fit a sector of the disk that it goes to. */
static void
test_long_header(void)
{
	static uint8_t bytes[64 * 4096], before[sizeof bytes];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;

	make_long_header(&m, 1024);
	memcpy(before, bytes, sizeof before);
	T_CHECK(read_disk(mem_disk(&m, DISK_BLOCK, 4096)) == 0);
	T_CHECK(t.nparts == 1);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 4096, false, &done, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(memcmp(before, bytes, sizeof before) == 0);
	disk_close(d, &closing);
	make_long_header(&m, 92);
	d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 4096, false, &done, &e) == 0);
	T_CHECK(done.moved);
	T_CHECK(read_disk(d) == 0);
	T_CHECK(t.nparts == 1 && t.warning[0] == '\0');
	T_CHECK(t.parts[0].sectors.off == 64 && t.parts[0].sectors.len == 64);
}

/* Make a disk whose GPT has its array `array` sectors of 512 bytes from its beginning, and a boot
 * loader in front of the array. */
static void
make_loader(struct mem *m, uint64_t array)
{
	uint8_t *header = m->b + 512, *entry = m->b + array * 512;

	memset(m->b, 0, m->len);
	memset(m->b + 2 * 512, 0x5a, (array - 2) * 512);
	m->b[446 + 4] = 0xee;
	poke(m->b + 446 + 8, 1, 4);
	poke(m->b + 446 + 12, 999, 4);
	m->b[510] = 0x55;
	m->b[511] = 0xaa;
	memcpy(header, "EFI PART", 8);
	poke(header + 12, 92, 4);
	poke(header + 24, 1, 8);
	poke(header + 32, 999, 8);
	poke(header + 40, array + 32, 8);
	poke(header + 48, 966, 8);
	poke(header + 72, array, 8);
	poke(header + 80, 128, 4);
	poke(header + 84, 128, 4);
	memset(entry, 7, 32);
	poke(entry + 32, 200, 8);
	poke(entry + 40, 799, 8);
	gpt_mend(m, 512, 1);
}

static bool
has_loader(const struct mem *m, uint64_t array)
{
	for (size_t i = 2 * 512; i < array * 512; i++)
		if (m->b[i] != 0x5a)
			return false;
	return true;
}

/* An array that was moved to make room for a boot loader (sgdisk --move-main-table) stays where
 * it is when the table is fitted to another disk. */
static void
test_moved_array(void)
{
	enum { ARRAY = 80 };
	static uint8_t bytes[2000 * 512], before[sizeof bytes];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;
	uint64_t sectors;

	make_loader(&m, ARRAY);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 512, false, &done, &e) == 0);
	T_CHECK(done.moved);
	T_CHECK(has_loader(&m, ARRAY));
	T_CHECK(peek(bytes + 512 + 72, 8) == ARRAY);
	T_CHECK(peek(bytes + 512 + 40, 8) == ARRAY + 32);
	T_CHECK(read_disk(d) == 0);
	T_CHECK(t.nparts == 1 && t.warning[0] == '\0');
	T_CHECK(t.parts[0].sectors.off == 200 && t.parts[0].sectors.len == 600);
	/* The smallest disk that has the partition. */
	make_loader(&m, ARRAY);
	d = mem_disk(&m, DISK_BLOCK, 512);
	ptable_free(&t);
	T_CHECK(ptable_read(&t, d, &e) == 0);
	T_CHECK(ptable_cut(d, &t, 1, 100, &sectors, &e) == 0);
	T_CHECK(has_loader(&m, ARRAY));
	disk_close(d, &closing);
	/* For sectors of 4096 bytes, the table would be written over the boot loader. */
	make_loader(&m, ARRAY);
	memcpy(before, bytes, sizeof before);
	d = mem_disk(&m, DISK_BLOCK, 4096);
	T_CHECK(ptable_fit(d, 512, false, &done, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(memcmp(before, bytes, sizeof before) == 0);
	disk_close(d, &closing);
}

/* Sectors that a table keeps free of partitions (sfdisk's first-lba) stay so: a boot loader is
 * there, and captures store it for this reason. */
static void
test_first_usable(void)
{
	enum { FIRST = 150 };
	static uint8_t bytes[2000 * 512];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;
	uint64_t sectors;

	for (unsigned i = 0; i < 3; i++) {
		make_loader(&m, 2);
		poke(bytes + 512 + 40, FIRST, 8);
		gpt_mend(&m, 512, 1);
		struct disk *d = mem_disk(&m, DISK_BLOCK, i == 1 ? 4096 : 512);
		if (i == 2) {
			ptable_free(&t);
			T_CHECK(ptable_read(&t, d, &e) == 0);
			T_CHECK(ptable_cut(d, &t, 1, 100, &sectors, &e) == 0);
		} else {
			T_CHECK(ptable_fit(d, 512, false, &done, &e) == 0);
			T_CHECK(done.moved);
		}
		T_CHECK(peek(bytes + (i == 1 ? 4096 : 512) + 40, 8) ==
			(i == 1 ? (FIRST + 7) / 8 : FIRST));
		if (i == 2)
			disk_close(d, &closing);
		else
			T_CHECK(read_disk(d) == 0 && t.nparts == 1 && t.parts[0].sectors.off == 200);
	}
}

/* An array behind the partitions is refused: it would have to move to where a boot loader may
 * be. */
static void
test_array_behind(void)
{
	static uint8_t bytes[2000 * 512], before[sizeof bytes];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;
	uint64_t sectors;

	make_loader(&m, 80);
	memcpy(bytes + 1200 * 512, bytes + 80 * 512, 32 * 512);
	poke(bytes + 512 + 72, 1200, 8);
	gpt_mend(&m, 512, 1);
	memcpy(before, bytes, sizeof before);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	ptable_free(&t);
	T_CHECK(ptable_read(&t, d, &e) == 0 && t.nparts == 1);
	T_CHECK(ptable_cut(d, &t, 0, 0, &sectors, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	T_CHECK(memcmp(before, bytes, sizeof before) == 0);
	disk_close(d, &closing);
	/* Also when only the header can be read, as from the beginning of an image. */
	m.bad = 1200 * 512;
	d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == -1);
	T_CHECK(e.kind == ERR_UNSUPPORTED);
	disk_close(d, &closing);
}

/* A partition that reaches to where the backup of the GPT belongs, which is not there: nothing is
 * written over the end of the partition, and the disk keeps its length. */
static void
test_no_room_for_backup(void)
{
	enum { ARRAY = 80 };
	static uint8_t bytes[1000 * 512], before[sizeof bytes];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct err closing;
	uint64_t sectors;

	make_loader(&m, ARRAY);
	poke(bytes + 512 + 48, 998, 8);
	poke(bytes + ARRAY * 512 + 40, 998, 8);
	memset(bytes + 960 * 512, 0xda, 39 * 512);
	gpt_mend(&m, 512, 1);
	memcpy(before, bytes, sizeof before);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	ptable_free(&t);
	T_CHECK(ptable_read(&t, d, &e) == 0 && t.nparts == 1);
	T_CHECK(ptable_cut(d, &t, 0, 0, &sectors, &e) == 0);
	T_CHECK(sectors == 1000);
	T_CHECK(memcmp(before, bytes, sizeof before) == 0);
	disk_close(d, &closing);
}

/* An entry of the MBR: `type` at its place, with the first sector and the number of
 * sectors. */
static void
put_entry(struct mem *m, unsigned i, uint8_t type, uint64_t first, uint64_t count)
{
	m->b[446 + i * 16 + 4] = type;
	poke(m->b + 446 + i * 16 + 8, first, 4);
	poke(m->b + 446 + i * 16 + 12, count, 4);
}

static bool
has_entry(const struct mem *m, unsigned i, uint8_t type, uint64_t first, uint64_t count)
{
	const uint8_t *entry = m->b + 446 + i * 16;
	bool ok = entry[4] == type && peek(entry + 8, 4) == first &&
	          peek(entry + 12, 4) == count;

	if (!ok)
		printf("# entry %u: %02x %llu %llu\n", i, entry[4],
		    (unsigned long long)peek(entry + 8, 4),
		    (unsigned long long)peek(entry + 12, 4));
	return ok;
}

/* The partition of make_loader() in a hybrid MBR, with a protective entry on each
 * side. */
static void
make_hybrid(struct mem *m)
{
	make_loader(m, 80);
	put_entry(m, 0, 0xee, 1, 199);
	put_entry(m, 1, 0x83, 200, 600);
	put_entry(m, 2, 0xee, 800, 200);
}

/* A hybrid MBR goes with its GPT when the last partition grows, and when it is cut. */
static void
test_hybrid(void)
{
	static uint8_t bytes[8192 * 512];
	struct mem m = mem_of(bytes, sizeof bytes);
	struct ptable_change done;
	struct err closing;
	uint64_t sectors;

	make_hybrid(&m);
	struct disk *d = mem_disk(&m, DISK_BLOCK, 512);
	T_CHECK(ptable_fit(d, 512, true, &done, &e) == 0);
	T_CHECK(done.grown == 1 && done.is_sectors == 6144 - 200);
	T_CHECK(has_entry(&m, 0, 0xee, 1, 199));
	T_CHECK(has_entry(&m, 1, 0x83, 200, 6144 - 200));
	T_CHECK(has_entry(&m, 2, 0xee, 6144, 8192 - 6144));
	disk_close(d, &closing);
	make_hybrid(&m);
	d = mem_disk(&m, DISK_BLOCK, 512);
	ptable_free(&t);
	T_CHECK(ptable_read(&t, d, &e) == 0 && t.nparts == 1);
	T_CHECK(ptable_cut(d, &t, 1, 104, &sectors, &e) == 0);
	T_CHECK(has_entry(&m, 0, 0xee, 1, 199));
	T_CHECK(has_entry(&m, 1, 0x83, 200, 104));
	T_CHECK(has_entry(&m, 2, 0xee, 304, sectors - 304));
	disk_close(d, &closing);
	/* For sectors of 4096 bytes, all entries count in these. */
	make_hybrid(&m);
	poke(m.b + 512 + 72, 2, 8);
	memmove(m.b + 2 * 512, m.b + 80 * 512, 32 * 512);
	gpt_mend(&m, 512, 1);
	d = mem_disk(&m, DISK_BLOCK, 4096);
	T_CHECK(ptable_fit(d, 512, false, &done, &e) == 0 && done.moved);
	T_CHECK(has_entry(&m, 0, 0xee, 1, 24));
	T_CHECK(has_entry(&m, 1, 0x83, 25, 75));
	T_CHECK(has_entry(&m, 2, 0xee, 100, 1024 - 100));
	disk_close(d, &closing);
}

int
main(void)
{
	scratch_init();
	test_hybrid();
	test_moved_array();
	test_first_usable();
	test_array_behind();
	test_no_room_for_backup();
	test_refused_kinds();
	test_sector_sizes();
	test_long_header();
	test_bare_filesystems();
	if (have("sfdisk") && have("sgdisk")) {
		test_mbr();
		test_gpt();
		test_4k();
		test_golden();
	}
	ptable_free(&t);
	return t_done();
}
