/* Partition tables that sfdisk and sgdisk made, read back and compared with what
 * those say; then every kind of damage to them. */
#include "common/disk/ptable.h"

#include <fcntl.h>

#include "common/disk/ptype.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

static struct err e;
static struct ptable t; /* of the last read */

static bool
have(const char *tool)
{
	if (sh("command -v %s", tool) == 0)
		return true;
	skip(tool, "is not installed");
	return false;
}

/* Read the table of a disk, which is closed. */
static int
read_disk(struct disk *d)
{
	struct err close_err;

	ptable_free(&t);
	e = (struct err){ 0 };
	int rc = ptable_read(&t, d, &e);
	disk_close(d, &close_err);
	return rc;
}

static int
read_path(const char *path)
{
	struct disk *d;

	return disk_open(&d, path, DISK_READ, &e) == 0 ? read_disk(d) : -1;
}

static int
read_mem(struct mem *m)
{
	return read_disk(mem_disk(m, DISK_FILE, 512));
}

/* ERR_FORMAT with these words in it? */
static bool
is_bad(int rc, const char *words)
{
	bool ok = rc == -1 && e.kind == ERR_FORMAT && strstr(e.text, words) != NULL &&
	          t.nparts == 0 && t.own.n == 0;

	if (!ok)
		printf("# rc %d kind %d: %s\n", rc, t.kind, e.text);
	return ok;
}

/* A whole file in memory. */
static struct mem
load(const char *name)
{
	struct disk *d;
	struct mem m = { .bad = SIZE_MAX };

	if (disk_open(&d, in_scratch(name), DISK_READ, &e) != 0)
		return m;
	m.len = disk_size_bytes(d);
	m.b = malloc(m.len + 1);
	if (disk_read(d, m.b, m.len, 0, &e) != 0)
		exit(1);
	disk_close(d, &e);
	return m;
}

static bool
overlap(struct range a, struct range b)
{
	return a.off < b.off + b.len && b.off < a.off + a.len;
}

/* What ptable.h promises of every table. */
static bool
is_sound(uint64_t bytes)
{
	uint64_t sectors = bytes / 512;

	if (t.kind == PTABLE_NONE)
		return t.nparts == 0;
	for (unsigned i = 0; i < t.nparts; i++) {
		const struct partition *p = &t.parts[i];
		if (p->sectors.len == 0 || !range_within(p->sectors, sectors) ||
		    (i > 0 && p->number <= t.parts[i - 1].number) ||
		    ptable_find(&t, p->number) != p)
			return false;
		for (unsigned k = 0; k < i; k++)
			if (overlap(p->sectors, t.parts[k].sectors))
				return false;
		for (size_t k = 0; k < rangeset_count(&t.own); k++)
			if (overlap(p->sectors, rangeset_get(&t.own, k)))
				return false;
	}
	return range_within(t.usable, sectors) && rangeset_contains(&t.own, 0);
}

/* The value after "key=" in a line of sfdisk -d, up to a comma; "" if none. */
static const char *
field(const char *line, const char *key)
{
	static char value[256];
	const char *p = strstr(line, key);

	value[0] = '\0';
	if (p != NULL)
		sscanf(p + strlen(key), " %255[^,\n]", value);
	return value;
}

/* Does one partition line of sfdisk -d agree with t? */
static bool
line_agrees(const char *line, unsigned number)
{
	const struct partition *p = ptable_find(&t, number);
	uint64_t unit = t.sector_bytes / 512;
	char guid[GUID_TEXT_CAP], name[PTABLE_NAME_CAP * 4] = "\"";

	if (p == NULL ||
	    p->sectors.off != strtoull(field(line, "start="), NULL, 10) * unit ||
	    p->sectors.len != strtoull(field(line, "size="), NULL, 10) * unit)
		return false;
	if (t.kind == PTABLE_MBR)
		return p->mbr_type == strtoul(field(line, "type="), NULL, 16) &&
		       p->logical == (number > 4);
	ptype_guid_text(p->type_guid, guid);
	if (strcmp(guid, field(line, "type=")) != 0)
		return false;
	ptype_guid_text(p->part_guid, guid);
	if (strcmp(guid, field(line, "uuid=")) != 0)
		return false;
	for (const char *c = p->name; *c != '\0'; c++)
		sprintf(name + strlen(name), *c & 0x80 ? "\\x%02x" : "%c", *c & 0xff);
	strcat(name, "\"");
	return p->name[0] == '\0' || strcmp(name, field(line, "name=")) == 0;
}

static bool
is_extended_line(const char *line)
{
	unsigned long type = strtoul(field(line, "type="), NULL, 16);

	return t.kind == PTABLE_MBR && (type == 5 || type == 15 || type == 0x85);
}

/* Does sfdisk see what we saw? */
static bool
sfdisk_agrees(const char *path)
{
	char cmd[256], line[512];
	unsigned n = 0;
	bool ok = true;

	snprintf(cmd, sizeof cmd, "sfdisk -d %s 2>/dev/null", path);
	fflush(stdout);
	FILE *p = popen(cmd, "r");
	while (fgets(line, sizeof line, p) != NULL) {
		const char *colon = strstr(line, " : start=");
		if (colon == NULL || is_extended_line(line))
			continue;
		while (colon > line && colon[-1] >= '0' && colon[-1] <= '9')
			colon--;
		ok = ok && line_agrees(line, (unsigned)atoi(colon));
		n++;
	}
	return pclose(p) == 0 && ok && n == t.nparts && n > 0;
}

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

static bool
set_type(const char *name, unsigned number, unsigned code)
{
	struct disk *d;

	if (disk_open(&d, in_scratch(name), DISK_READ | DISK_WRITE, &e) != 0)
		return false;
	int rc = ptable_set_type(d, number, code, &e);
	struct err close_err;
	return disk_close(d, &close_err) == 0 && rc == 0;
}

enum { MBR_SECTORS = 20000 };

/* Three primary partitions, of which the second is active, and three logical. */
static bool
make_mbr(const char *name, char type)
{
	return sh("truncate -s %u %s && printf '"
		  "label: dos\\nunit: sectors\\n"
		  "start=63, size=1000, type=83\\nstart=2000, size=1000, type=7, "
		  "bootable\\n"
		  "start=3000, size=16000, type=%c\\nstart=19500, size=500, type=a5\\n"
		  "start=3100, size=1000, type=83\\nstart=5000, size=3000, type=82, "
		  "bootable\\n"
		  "start=9000, size=9999, type=b\\n' | sfdisk %s",
		   MBR_SECTORS * 512u, name, type, name) == 0;
}

static void
test_mbr(void)
{
	static const struct range own[] = { { 0, 1 }, { 3000, 1 } };
	char buf[64];

	if (!have("sfdisk"))
		return;
	T_CHECK(make_mbr("mbr", '5') && read_path(in_scratch("mbr")) == 0);
	T_CHECK(t.kind == PTABLE_MBR && t.nparts == 6 && t.sector_bytes == 512);
	T_CHECK(sfdisk_agrees(in_scratch("mbr")) && is_sound(MBR_SECTORS * 512));
	T_CHECK(ptable_find(&t, 5)->logical && !ptable_find(&t, 4)->logical);
	T_CHECK(ptable_find(&t, 3) == NULL && t.warning[0] == '\0');
	T_CHECK(t.usable.off == 1 && t.usable.len == MBR_SECTORS - 1);
	T_CHECK(rangeset_count(&t.own) == 4 && rangeset_total(&t.own) == 4);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 1), buf, sizeof buf),
		    "0x83 Linux") == 0);
	for (const char *type = "f5"; *type != '\0'; type++)
		T_CHECK(make_mbr("mbr-x", *type) &&
			read_path(in_scratch("mbr-x")) == 0 &&
			sfdisk_agrees(in_scratch("mbr-x")));
	T_CHECK(sh("truncate -s 3M empty && echo 'label: dos' | sfdisk empty") == 0);
	T_CHECK(read_path(in_scratch("empty")) == 0 && t.kind == PTABLE_MBR);
	T_CHECK(t.nparts == 0 && is_sound(3 << 20) && own_is(1, own));
	T_CHECK(sh("truncate -s 3M ext && printf 'label: dos\nstart=3000, size=100, "
		   "type=5\n' | sfdisk ext") == 0);
	T_CHECK(read_path(in_scratch("ext")) == 0 && t.nparts == 0 && own_is(2, own));
}

enum { GPT_SECTORS = 20000 };

/* sgdisk sleeps for a second whenever it has written: all disks at once.  The
 * disk "all" has a partition of every type that we know. */
static bool
make_gpt(void)
{
	const struct ptype_gpt *p;
	char all[4096] = "";

	for (unsigned i = 0; (p = ptype_gpt_at(i)) != NULL; i++)
		sprintf(all + strlen(all), " -n %u:%u:%u -t %u:%04x", i + 1, 100 + i,
		    100 + i, i + 1, p->code);
	return sh("truncate -s %u gpt && truncate -s 3M big all && "
		  "(sgdisk -S 512 -n 300:2048:2050 big & sgdisk -a 1 %s all & "
		  "sgdisk -a 1 -n 1:34:99 -t 1:ef02 -n 2:100:5000 -t 2:8300 -c 2:root "
		  "-n 5:10000:19966 -t 5:8200 -n 100:9000:9000 -t 100:0700 "
		  "-c 100:'Gr\303\266\303\237e' gpt; wait)",
		   GPT_SECTORS * 512u, all) == 0;
}

static void
test_gpt(void)
{
	static const struct range own[] = { { 0, 34 }, { GPT_SECTORS - 33, 33 } };
	char buf[64];

	T_CHECK(make_gpt() && read_path(in_scratch("gpt")) == 0);
	T_CHECK(t.kind == PTABLE_GPT && t.nparts == 4 && t.sector_bytes == 512);
	T_CHECK(sfdisk_agrees(in_scratch("gpt")) && is_sound(GPT_SECTORS * 512));
	T_CHECK(t.warning[0] == '\0' && own_is(2, own));
	T_CHECK(t.usable.off == 34 && t.usable.len == GPT_SECTORS - 67);
	T_CHECK(ptable_find(&t, 3) == NULL && ptable_find(&t, 100) == &t.parts[3]);
	T_CHECK(strcmp(ptable_find(&t, 100)->name, "Gr\303\266\303\237e") == 0);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 2), buf, sizeof buf),
		    "Linux filesystem") == 0);
	/* Hybrid: the MBR has partitions, too. */
	T_CHECK(sh("cp gpt hybrid && sgdisk -h 2:5 hybrid") == 0);
	T_CHECK(read_path(in_scratch("hybrid")) == 0 && t.kind == PTABLE_GPT &&
		t.nparts == 4);
	/* Larger arrays, and a disk of another size than when it was made. */
	T_CHECK(read_path(in_scratch("big")) == 0 && t.nparts == 1);
	T_CHECK(t.parts[0].number == 300 && rangeset_get(&t.own, 0).len == 130);
	T_CHECK(sh("cp gpt grown && truncate -s +1M grown") == 0);
	T_CHECK(read_path(in_scratch("grown")) == 0 && t.nparts == 4 && own_is(2, own));
	T_CHECK(strcmp(t.warning, "backup GPT is not at the end of the disk") == 0);
	T_CHECK(sh("cp gpt shrunk && truncate -s -16897 shrunk") == 0);
	T_CHECK(is_bad(read_path(in_scratch("shrunk")), "for a larger disk"));
	T_CHECK(sh("cp gpt differ && cp gpt differ2") == 0 &&
		set_type("differ2", 2, 0x8304));
	T_CHECK(sh("dd if=differ2 of=differ bs=512 count=34 conv=notrunc") == 0);
	T_CHECK(read_path(in_scratch("differ")) == 0 &&
		strstr(t.warning, "differ") != NULL);
	T_CHECK(strcmp(ptable_type_name(&t, ptable_find(&t, 2), buf, sizeof buf),
		    "Linux x86-64 root (/)") == 0);
	T_CHECK(sh("cp gpt nombr && dd if=/dev/zero of=nombr bs=512 count=1 "
		   "conv=notrunc") == 0);
	T_CHECK(read_path(in_scratch("nombr")) == 0 && t.kind == PTABLE_NONE);
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
	T_CHECK(read_path(dev) == 0 && t.kind == PTABLE_GPT && t.sector_bytes == 4096);
	T_CHECK(sfdisk_agrees(dev) && own_is(2, own) && is_sound(8 << 20));
	T_CHECK(t.parts[0].sectors.off == 48 && t.parts[0].sectors.len == 495 * 8);
	T_CHECK(read_path(in_scratch("4k")) == 0 && t.sector_bytes == 4096 &&
		t.nparts == 2);
	T_CHECK(own_is(2, own) && t.warning[0] == '\0');
	struct disk *d;
	T_CHECK(disk_open(&d, dev, DISK_READ | DISK_WRITE, &e) == 0);
	T_CHECK(ptable_set_type(d, 2, 0xa504, &e) == 0 && disk_close(d, &e) == 0);
	T_CHECK(sh("sgdisk -v %s | grep -q 'No problems found'", dev) == 0);
	T_CHECK(sh("sgdisk -i 2 %s | grep -q 516E7CBA-6ECF-11D6-8FF8-00022D09712B",
		    dev) == 0);
	T_CHECK(sh("dd if=/dev/zero of=%s bs=4096 seek=1 count=1 conv=notrunc,fsync",
		    dev) == 0);
	T_CHECK(read_path(dev) == 0 && strstr(t.warning, "used the backup") != NULL);
	T_CHECK(sh("dd if=/dev/zero of=%s bs=4096 seek=2047 count=1 conv=notrunc,fsync",
		    dev) == 0);
	T_CHECK(is_bad(read_path(dev), "both copies of the GPT are damaged"));
	T_CHECK(
	    sh("printf 'label: dos\nstart=256, size=100, type=83\nstart=400, size=600,"
	       "type=5\nstart=700, size=99, type=82\n' | sfdisk --wipe always %s",
		dev) == 0);
	T_CHECK(read_path(dev) == 0 && t.kind == PTABLE_MBR && t.nparts == 2);
	T_CHECK(sfdisk_agrees(dev) && is_sound(8 << 20) && t.usable.off == 8);
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
		T_CHECK(sfdisk_agrees(in_scratch(names[i])) && t.warning[0] == '\0');
		sh("rm %s", names[i]);
	}
	for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
		T_CHECK(sh("zstd -dc --long=28 <%s/tests/golden/src/sources.tar.zst | "
			   "tar xSf - %s",
			    cwd, bare[i]) == 0);
		T_CHECK(read_path(in_scratch(bare[i])) == 0 && t.nparts == 0);
		sh("rm %s", bare[i]);
	}
}

/* The same partitions as when nothing was damaged? */
static bool
same_parts(const struct ptable *want)
{
	return t.kind == want->kind && t.nparts == want->nparts &&
	       memcmp(t.parts, want->parts, t.nparts * sizeof t.parts[0]) == 0;
}

/* Any byte of either copy may be wrong, never of both. */
static void
test_gpt_damage(void)
{
	struct mem m = load("gpt");
	struct ptable good;
	size_t last = m.len - 512, bad = 0, n = 0;

	T_CHECK(m.b != NULL && read_mem(&m) == 0);
	good = t;
	t.own = (struct rangeset){ 0 };
	for (size_t i = 0; i < 92 + 5 * 128; i++) {
		size_t in_array = i - 92, header = 512, array = 1024;
		for (int copy = 0; copy < 2; copy++) {
			uint8_t *p = m.b + (i < 92 ? header + i : array + in_array);
			*p ^= (uint8_t)(1 << i % 8);
			bad += read_mem(&m) != 0 || !same_parts(&good) ||
			       strstr(t.warning, copy ? "used the primary"
						      : "used the backup") == NULL ||
			       t.own.n != 2;
			*p ^= (uint8_t)(1 << i % 8);
			header = last, array = last - 32 * 512;
			n++;
		}
	}
	T_CHECK(bad == 0 && n == 2 * (92 + 5 * 128));
	m.b[600] ^= 1, m.b[last + 16] ^= 1;
	m.b[520] ^= 1;
	T_CHECK(is_bad(read_mem(&m), "both copies of the GPT are damaged: primary: "));
	T_CHECK(strstr(e.text, "the header's checksum is wrong; backup: ") != NULL);
	m.b[520] ^= 1, m.b[last + 16] ^= 1;
	/* One unreadable copy is no worse than one that is wrong. */
	m.bad = 512;
	T_CHECK(read_mem(&m) == 0 && same_parts(&good));
	T_CHECK(strstr(t.warning, "mem: reading sector 1: Input/output error") != NULL);
	m.b[last] = 0;
	T_CHECK(read_mem(&m) == -1 && e.kind == ERR_IO);
	m.bad = 0;
	T_CHECK(read_mem(&m) == -1 && e.kind == ERR_IO);
	rangeset_free(&good.own);
	free(m.b);
}

/* The checksums are right, what they cover is not. */
static void
test_gpt_lies(void)
{
	static const struct {
		size_t at; /* offset in the primary header or array */
		uint64_t value;
		size_t bytes;
		const char *says;
	} lies[] = {
		{ 512 + 12, 91, 4, "impossible length" },
		{ 512 + 12, 513, 4, "impossible length" },
		{ 512 + 24, 2, 8, "no header" },
		{ 512 + 40, 1, 8, "the table lies where" },
		{ 512 + 40, 20000, 8, "the table lies where" },
		{ 512 + 48, GPT_SECTORS, 8, "for a larger disk" },
		{ 512 + 48, UINT64_MAX, 8, "for a larger disk" },
		{ 512 + 72, 0, 8, "the table lies where" },
		{ 512 + 72, 1, 8, "the table lies where" },
		{ 512 + 72, 3, 8, "the table lies where" },
		{ 512 + 72, GPT_SECTORS, 8, "the table lies where" },
		{ 512 + 72, UINT64_MAX, 8, "the table lies where" },
		{ 512 + 80, 0, 4, "impossible size" },
		{ 512 + 80, UINT32_MAX, 4, "impossible size" },
		{ 512 + 84, 0, 4, "impossible size" },
		{ 512 + 84, 64, 4, "impossible size" },
		{ 512 + 84, 384, 4, "impossible size" },
		{ 512 + 84, 1u << 31, 4, "impossible size" },
		{ 1024 + 32, 33, 8, "partition 1 (sectors 33 to 99) is not inside" },
		{ 1024 + 32, 100, 8, "partition 1 (sectors 100 to 99) is not inside" },
		{ 1024 + 32, UINT64_MAX, 8, "partition 1" },
		{ 1024 + 40, UINT64_MAX, 8, "partition 1" },
		{ 1024 + 40, 100, 8, "partitions 1 and 2 overlap" },
		{ 1024 + 4 * 128 + 40, GPT_SECTORS - 33, 8, "partition 5" },
	};
	struct mem m = load("gpt");

	memset(m.b + m.len - 512, 0, 512); /* no backup to fall back to */
	for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
		uint64_t was = peek(m.b + lies[i].at, lies[i].bytes);
		poke(m.b + lies[i].at, lies[i].value, lies[i].bytes);
		gpt_mend(&m, 512, 1);
		T_CHECK(is_bad(read_mem(&m), lies[i].says));
		poke(m.b + lies[i].at, was, lies[i].bytes);
		gpt_mend(&m, 512, 1);
	}
	T_CHECK(read_mem(&m) == 0 &&
		strstr(t.warning, "no header in sector 19999") != NULL);
	free(m.b);
}

/* The backup alone, in the way of its own array or of partitions. */
static void
test_backup_lies(void)
{
	struct mem m = load("gpt");
	uint8_t *h = m.b + m.len - 512;

	memset(m.b + 512, 0, 512);
	poke(h + 72, GPT_SECTORS - 32, 8);
	gpt_mend(&m, 512, GPT_SECTORS - 1);
	T_CHECK(is_bad(read_mem(&m), "backup: the table lies where"));
	poke(h + 72, 2, 8);
	gpt_mend(&m, 512, GPT_SECTORS - 1);
	T_CHECK(read_mem(&m) == 0 && t.nparts == 4);
	poke(h + 48, GPT_SECTORS - 1, 8);
	gpt_mend(&m, 512, GPT_SECTORS - 1);
	T_CHECK(is_bad(read_mem(&m), "backup: the table lies where"));
	free(m.b);
}

/* Names are decoded, and what must not reach a terminal is not. */
static void
test_gpt_names(void)
{
	static const struct {
		uint16_t utf16[4];
		const char *utf8;
	} cases[] = {
		{ { 'a', 0x1b, '\n', 'b' }, "a??b" },
		{ { 0xd83d, 0xde00, 'x' }, "\360\237\230\200x" },
		{ { 0xd83d, 'x' }, "?x" },
		{ { 0xde00, 0xd83d }, "??" },
		{ { 0x7f, 0x85, 0x20ac }, "??\342\202\254" },
		{ { 0, 'x' }, "" },
	};
	struct mem m = load("gpt");
	uint8_t *name = m.b + 1024 + 56;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		memset(name, 0, 72);
		for (int k = 0; k < 4; k++)
			poke(name + 2 * k, cases[i].utf16[k], 2);
		gpt_mend(&m, 512, 1);
		T_CHECK(
		    read_mem(&m) == 0 && strcmp(t.parts[0].name, cases[i].utf8) == 0);
	}
	for (int k = 0; k < 36; k++)
		poke(name + 2 * k, 0xffff, 2);
	gpt_mend(&m, 512, 1);
	T_CHECK(read_mem(&m) == 0 && strlen(t.parts[0].name) == PTABLE_NAME_CAP - 1);
	free(m.b);
}

/* Cut the disk everywhere that matters: sound, or refused. */
static void
test_truncated(void)
{
	static const char *const names[] = { "gpt", "mbr" };
	static const size_t usable_end[] = { GPT_SECTORS - 33, MBR_SECTORS };

	for (int k = 0; k < 2; k++) {
		struct mem m = load(names[k]);
		size_t full = m.len, bad = 0, accepted = 0;
		for (size_t n = 0; n < full; n += n < 1100 ? 1 : 509) {
			m.len = n;
			struct mem cut = { .len = n, .bad = SIZE_MAX };
			if (n < 40000) {
				/* Exactly as long, so that reading behind it is seen.
				 */
				cut.b = malloc(n + 1);
				memcpy(cut.b, m.b, n);
				bad += read_mem(&cut) == 0 ? !is_sound(n)
				                           : e.kind != ERR_FORMAT;
			} else {
				bad += read_mem(&m) == 0 ? !is_sound(n)
				                         : e.kind != ERR_FORMAT;
			}
			accepted += t.nparts > 0 && n < usable_end[k] * 512;
			free(cut.b);
		}
		T_CHECK(bad == 0 && accepted == 0);
		free(m.b);
	}
}

/* Tables that are wrong on purpose; each starts from a good one. */
static void
test_mbr_damage(void)
{
	enum { SECTORS = 2000 };
	static const struct {
		unsigned lba;
		int entry;
		uint8_t type;
		uint32_t first, count;
		const char *says; /* NULL: fine */
	} cases[] = {
		{ 0, 0, 0x83, 100, 100, NULL },
		{ 0, 3, 0x83, 0, 9, "partition 4 starts at sector 0" },
		{ 0, 3, 0x83, 1990, 11,
		    "partition 4 (sectors 1990 to 2000) reaches beyond the end of the "
		    "disk "
		    "(2000 sectors)" },
		{ 0, 3, 0x83, UINT32_MAX, UINT32_MAX,
		    "partition 4 (sectors 4294967295 to" },
		{ 0, 3, 0x83, 199, 2, "partitions 1 and 4 overlap" },
		{ 0, 3, 0x83, 1998, 2, NULL },
		{ 0, 3, 0x83, 1000, 50, "partitions 4 and 2 overlap" },
		{ 0, 3, 5, 1000, 50, "partitions 2 and 4 overlap" },
		{ 0, 3, 5, 300, 50, NULL },
		{ 0, 1, 5, 1000, 600,
		    "partition 6 (sector 1250, 400 sectors) is not inside" },
		{ 1200, 0, 0x82, 50, 740, NULL },
		{ 1200, 0, 0x82, 50, 741,
		    "partition 6 (sector 1250, 741 sectors) is not" },
		{ 1000, 0, 0x83, 0, 9,
		    "partition 5 (sector 1000, 9 sectors) is not inside" },
		{ 1000, 0, 0x83, 1, 201,
		    "partition 5 covers a sector of the partition table" },
		{ 1000, 0, 0x83, 1, 1001,
		    "partition 5 (sector 1001, 1001 sectors) is not" },
		{ 1000, 0, 0x83, 240, 20, "partitions 5 and 6 overlap" },
		{ 1000, 0, 0x83, UINT32_MAX, UINT32_MAX,
		    "partition 5 (sector 4294968295" },
		{ 1000, 0, 0, 0, 0, NULL },
		{ 1000, 1, 0, 0, 0, NULL },
		{ 1000, 1, 5, 0, 9, "loops at sector 1000" },
		{ 1000, 1, 5, 980, 9, "sector 1980: not a boot record" },
		{ 1000, 1, 5, 1000, 9, "the next logical partition is outside" },
		{ 1000, 1, 5, UINT32_MAX, 9, "the next logical partition is outside" },
		{ 1200, 1, 5, 0, 9, "loops at sector 1000" },
		{ 1200, 1, 15, 200, 9, "loops at sector 1200" },
		{ 1200, 1, 0x85, 800, 0, NULL },
	};
	struct mem m = { malloc(SECTORS * 512), SECTORS * 512, SIZE_MAX };

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		memset(m.b, 0, m.len);
		mbr_put(&m, 0, 0, 0x83, 100, 100);
		mbr_put(&m, 0, 1, 5, 1000, 990);
		mbr_put(&m, 1000, 0, 0x83, 10, 100);
		mbr_put(&m, 1000, 1, 5, 200, 600);
		mbr_put(&m, 1200, 0, 0x82, 50, 400);
		mbr_put(&m, cases[i].lba, cases[i].entry, cases[i].type, cases[i].first,
		    cases[i].count);
		int rc = read_mem(&m);
		if (!T_CHECK(cases[i].says != NULL ? is_bad(rc, cases[i].says)
						   : rc == 0 && is_sound(m.len)))
			printf("# case %zu: %s\n", i, e.text);
	}
	free(m.b);
}

/* What is a table at all. */
static void
test_mbr_kind(void)
{
	enum { SECTORS = 2000 };
	struct mem m = { calloc(SECTORS, 512), SECTORS * 512, SIZE_MAX };

	T_CHECK(read_mem(&m) == 0 && t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 0, 0x83, SECTORS, 5); /* starts behind the disk */
	T_CHECK(read_mem(&m) == 0 && t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 1, 0x17, 0, 5); /* on itself, like some CD images */
	T_CHECK(read_mem(&m) == 0 && t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 2, 0x83, 10, 5); /* but one of them can be right */
	T_CHECK(is_bad(read_mem(&m), "partition 1 (sectors 2000 to 2004)"));
	m.b[446 + 48] = 0x81;
	T_CHECK(read_mem(&m) == 0 && t.kind == PTABLE_NONE);
	m.b[446 + 48] = 0x80;
	T_CHECK(is_bad(read_mem(&m), "partition 1"));
	mbr_put(&m, 0, 3, 0xee, 2, 5); /* not a protective one */
	T_CHECK(is_bad(read_mem(&m), "partition 1"));
	mbr_put(&m, 0, 3, 0xee, 1, 5);
	T_CHECK(is_bad(read_mem(&m), "both copies of the GPT are damaged"));
	m.b[510] = 0;
	T_CHECK(read_mem(&m) == 0 && t.kind == PTABLE_NONE);
	m.len = 3 * 512, m.b[510] = 0x55;
	T_CHECK(is_bad(read_mem(&m), "too small for the GPT"));
	/* As many logical partitions as there is room for, and one more. */
	for (unsigned n = PTABLE_PARTS_MAX; n <= PTABLE_PARTS_MAX + 1; n++) {
		m.len = SECTORS * 512;
		memset(m.b, 0, m.len);
		mbr_put(&m, 0, 0, 5, 10, 1900);
		for (unsigned i = 0; i < n; i++) {
			mbr_put(&m, 10 + 2 * i, 0, 0x83, 1, 1);
			if (i + 1 < n)
				mbr_put(&m, 10 + 2 * i, 1, 5, 2 * i + 2, 2);
		}
		int rc = read_mem(&m);
		T_CHECK(n == PTABLE_PARTS_MAX
			    ? rc == 0 && t.nparts == n && is_sound(m.len)
			    : rc == -1 && e.kind == ERR_UNSUPPORTED);
	}
	free(m.b);
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
		T_CHECK(read_path(in_scratch("fs")) == 0 && t.nparts == 0);
	}
	sh("rm -f fs");
}

/* How many bytes differ, and the offset of the last one. */
static size_t
differing(const struct mem *a, const struct mem *b, size_t *at)
{
	size_t n = 0;

	for (size_t i = 0; i < a->len; i++)
		if (a->b[i] != b->b[i])
			n++, *at = i;
	return n;
}

static void
test_set_mbr(void)
{
	static const struct {
		unsigned number;
		size_t at;
	} where[] = { { 1, 446 + 4 }, { 4, 446 + 3 * 16 + 4 },
		{ 5, 3000 * 512 + 446 + 4 } };
	struct mem before = load("mbr");
	size_t at = 0;

	for (size_t i = 0; i < 3; i++) {
		T_CHECK(
		    sh("cp mbr set") == 0 && set_type("set", where[i].number, 0x8e));
		struct mem after = load("set");
		T_CHECK(differing(&before, &after, &at) == 1 && at == where[i].at);
		T_CHECK(after.b[at] == 0x8e && read_path(in_scratch("set")) == 0);
		T_CHECK(ptable_find(&t, where[i].number)->mbr_type == 0x8e);
		free(after.b);
	}
	T_CHECK(set_type("set", 7, 255) && sfdisk_agrees(in_scratch("set")) == false);
	T_CHECK(read_path(in_scratch("set")) == 0 && sfdisk_agrees(in_scratch("set")));
	static const unsigned bad[] = { 0, 5, 15, 0x85, 0xee, 256, 0x8300, UINT32_MAX };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_CHECK(!set_type("set", 1, bad[i]) && e.kind == ERR_USAGE);
	T_CHECK(
	    !set_type("set", 3, 0x83) && e.kind == ERR_USAGE); /* the extended one */
	T_CHECK(!set_type("set", 0, 0x83) && !set_type("set", 8, 0x83));
	T_CHECK(sh("truncate -s 1M blank") == 0 && !set_type("blank", 1, 0x83));
	T_CHECK(e.kind == ERR_USAGE && strstr(e.text, "no partition table") != NULL);
	free(before.b);
}

/* Every type that we know: the GUID that sgdisk writes for it, and its blessing. */
static void
test_set_gpt(void)
{
	static struct partition theirs[PTABLE_PARTS_MAX];
	const struct ptype_gpt *p;
	unsigned unknown = 0, n;

	T_CHECK(read_path(in_scratch("all")) == 0);
	n = t.nparts;
	memcpy(theirs, t.parts, sizeof theirs);
	T_CHECK(n > 12 && ptype_gpt_at(n - 1) != NULL && ptype_gpt_at(n) == NULL);
	/* From the next one's type, so that each is really set. */
	T_CHECK(sh("cp all set") == 0);
	for (unsigned i = 0; i < n; i++)
		T_CHECK(set_type("set", i + 1, ptype_gpt_at((i + 1) % n)->code));
	for (unsigned i = 0; i < n; i++)
		T_CHECK(set_type("set", i + 1, ptype_gpt_at(i)->code));
	T_CHECK(
	    read_path(in_scratch("set")) == 0 && t.nparts == n && t.warning[0] == '\0');
	for (unsigned i = 0; i < n; i++) {
		p = ptype_gpt_at(i);
		if (!T_CHECK(
			memcmp(t.parts[i].type_guid, theirs[i].type_guid, 16) == 0 &&
			memcmp(t.parts[i].part_guid, theirs[i].part_guid, 16) == 0 &&
			strlen(p->name) <= 36 && strcmp(t.parts[i].name, p->name) == 0))
			printf("# %04x\n", p->code);
	}
	T_CHECK(sfdisk_agrees(in_scratch("set")));
	T_CHECK(sh("sgdisk -v set | grep -q 'No problems found'") == 0);
	static const unsigned like[][2] = { { 131, 0x8300 }, { 130, 0x8200 },
		{ 165, 0xa500 }, { 7, 0x0700 } };
	for (int i = 0; i < 4; i++)
		T_CHECK(sh("cp gpt a; cp gpt b") == 0 && set_type("a", 5, like[i][0]) &&
			set_type("b", 5, like[i][1]) &&
			sh("cmp a b && ! cmp a gpt") == 0);
	static const unsigned bad[] = { 0, 1, 5, 255, 0xee, 0x8399, 0x10000 + 0x8300 };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		unknown += !set_type("a", 5, bad[i]) && e.kind == ERR_USAGE;
	T_CHECK(unknown == sizeof bad / sizeof bad[0]);
	T_CHECK(!set_type("a", 3, 0x8300) && e.kind == ERR_USAGE);
	T_CHECK(!set_type("a", 1000, 0x8300) && e.kind == ERR_USAGE);
}

/* Exactly the entry's type and name and four checksums change, in each copy that
 * is whole; and only a whole copy is touched. */
static void
test_set_gpt_bytes(void)
{
	struct mem before = load("gpt");
	size_t last = before.len - 512, outside = 0;

	T_CHECK(sh("cp gpt set") == 0 && set_type("set", 5, 0x8300));
	struct mem after = load("set");
	for (size_t i = 0; i < before.len; i++) {
		size_t array = i >= last - 32 * 512 ? last - 32 * 512 : 1024;
		size_t header = i >= last ? i - last : i - 512;
		size_t entry = i - array - 4 * 128;
		bool allowed = (header >= 16 && header < 20) ||
		               (header >= 88 && header < 92) || entry < 16 ||
		               (entry >= 56 && entry < 128);
		outside += before.b[i] != after.b[i] && !allowed;
	}
	T_CHECK(outside == 0);
	free(after.b);
	T_CHECK(
	    sh("cp gpt set && printf x | dd of=set bs=1 seek=600 conv=notrunc && "
	       "printf x | dd of=set bs=1 seek=512 conv=notrunc && cp set was") == 0);
	T_CHECK(set_type("set", 5, 0x8300) && read_path(in_scratch("set")) == 0);
	T_CHECK(strcmp(ptable_find(&t, 5)->name, "Linux filesystem") == 0);
	T_CHECK(sh("cmp -n 17408 set was && ! cmp set was") == 0);
	free(before.b);
}

static void
test_refused_kinds(void)
{
	struct disk *d;

	T_CHECK(read_path("/dev/null") == -1 && e.kind == ERR_UNSUPPORTED);
	T_CHECK(sh("mkfifo fifo && (sleep 0.1 <>fifo >fifo & :)") == 0);
	T_CHECK(disk_open(&d, in_scratch("fifo"), DISK_READ, &e) == 0);
	T_CHECK(read_disk(d) == -1 && e.kind == ERR_UNSUPPORTED);
}

int
main(void)
{
	scratch_init();
	test_mbr_kind();
	test_mbr_damage();
	test_refused_kinds();
	test_bare_filesystems();
	if (have("sfdisk") && have("sgdisk")) {
		test_mbr();
		test_gpt();
		test_4k();
		test_golden();
		test_gpt_damage();
		test_gpt_lies();
		test_backup_lies();
		test_gpt_names();
		test_truncated();
		test_set_mbr();
		test_set_gpt();
		test_set_gpt_bytes();
	}
	ptable_free(&t);
	return t_done();
}
