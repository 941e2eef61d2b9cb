/* Every kind of damage to partition tables: read right by what is whole, or refused. */
#include "tests/unit/ptables.h"

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

	T_CHECK(m.b != NULL);
	T_CHECK(read_mem(&m) == 0);
	good = t;
	t.own = (struct rangeset){ 0 };
	for (size_t i = 0; i < 92 + 5 * 128; i++) {
		size_t in_array = i - 92, header = 512, array = 1024;
		for (int copy = 0; copy < 2; copy++) {
			uint8_t *p = m.b + (i < 92 ? header + i : array + in_array);
			*p ^= (uint8_t)(1 << i % 8);
			bad += read_mem(&m) != 0 || !same_parts(&good) ||
			       strstr(t.warning, copy ? "the primary GPT is used"
						      : "the backup is used") == NULL ||
			       t.own.n != 2;
			*p ^= (uint8_t)(1 << i % 8);
			header = last, array = last - 32 * 512;
			n++;
		}
	}
	T_CHECK(bad == 0);
	T_CHECK(n == 2 * (92 + 5 * 128));
	m.b[600] ^= 1, m.b[last + 16] ^= 1;
	m.b[520] ^= 1;
	T_CHECK(is_bad(read_mem(&m), "both copies of the GPT are damaged: primary: "));
	T_CHECK(strstr(e.text, "the header's checksum is wrong; backup: ") != NULL);
	m.b[520] ^= 1, m.b[last + 16] ^= 1;
	/* One unreadable copy is no worse than one that is wrong. */
	m.bad = 512;
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(same_parts(&good));
	T_CHECK(strstr(t.warning, "mem: reading sector 1: Input/output error") != NULL);
	m.b[last] = 0;
	T_CHECK(read_mem(&m) == -1);
	T_CHECK(e.kind == ERR_IO);
	m.bad = 0;
	T_CHECK(read_mem(&m) == -1);
	T_CHECK(e.kind == ERR_IO);
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
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(strstr(t.warning, "no header in sector 19999") != NULL);
	free(m.b);
}

/* A table with an entry that is passed over is fitted to a larger disk, and the entry
 * stays as it is. */
static void
check_fits_beside(const struct mem *m)
{
	size_t more = 64 * 512;
	struct mem larger = mem_of(calloc(1, m->len + more), m->len + more);
	struct disk *d = mem_disk(&larger, DISK_FILE, 512);
	struct ptable_change done;
	struct err closing;

	memcpy(larger.b, m->b, m->len);
	T_CHECK(ptable_fit(d, 512, false, &done, &e) == 0);
	T_CHECK(done.moved);
	T_CHECK(memcmp(larger.b + 1024, m->b + 1024, 128) == 0);
	disk_close(d, &closing);
	free(larger.b);
}

/* Entries that the kernel passes over make no table damaged: those without a length,
 * and those that end behind the disk. */
static void
test_gpt_passed_over(void)
{
	static const struct {
		size_t at; /* offset in the primary array */
		uint64_t value;
		const char *says;
	} entries[] = {
		{ 32, 100,
		    "partition 1 is passed over: it has no length (sectors 100 to 99)" },
		{ 32, UINT64_MAX, "it has no length" },
		{ 40, UINT64_MAX, "partition 1 is passed over: it ends behind the disk" },
		{ 40, GPT_SECTORS, "it ends behind the disk (sectors 34 to 20000)" },
	};
	struct mem m = load("gpt");

	for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
		uint8_t *p = m.b + 1024 + entries[i].at;
		uint64_t was = peek(p, 8);
		poke(p, entries[i].value, 8);
		gpt_mend(&m, 512, 1);
		T_CHECK(read_mem(&m) == 0);
		T_CHECK(t.nparts == 3);
		T_CHECK(ptable_find(&t, 1) == NULL && ptable_find(&t, 2) != NULL);
		T_CHECK(strstr(t.warning, entries[i].says) != NULL);
		/* On a larger disk the last one would end inside the disk. */
		if (entries[i].value != GPT_SECTORS)
			check_fits_beside(&m);
		poke(p, was, 8);
		gpt_mend(&m, 512, 1);
	}
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
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.nparts == 4);
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
		T_CHECK(read_mem(&m) == 0);
		T_CHECK(strcmp(t.parts[0].name, cases[i].utf8) == 0);
	}
	for (int k = 0; k < 36; k++)
		poke(name + 2 * k, 0xffff, 2);
	gpt_mend(&m, 512, 1);
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(strlen(t.parts[0].name) == PTABLE_NAME_CAP - 1);
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
		T_CHECK(bad == 0);
		T_CHECK(accepted == 0);
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
	struct mem m = mem_of(malloc(SECTORS * 512), SECTORS * 512);

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
	struct mem m = mem_of(calloc(SECTORS, 512), SECTORS * 512);

	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 0, 0x83, SECTORS, 5); /* starts behind the disk */
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 1, 0x17, 0, 5); /* on itself, like some CD images */
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
	mbr_put(&m, 0, 2, 0x83, 10, 5); /* but one of them can be right */
	T_CHECK(is_bad(read_mem(&m), "partition 1 (sectors 2000 to 2004)"));
	m.b[446 + 48] = 0x81;
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
	m.b[446 + 48] = 0x80;
	T_CHECK(is_bad(read_mem(&m), "partition 1"));
	mbr_put(&m, 0, 3, 0xee, 2, 5); /* not a protective one */
	T_CHECK(is_bad(read_mem(&m), "partition 1"));
	mbr_put(&m, 0, 3, 0xee, 1, 5);
	T_CHECK(is_bad(read_mem(&m), "both copies of the GPT are damaged"));
	m.b[510] = 0;
	T_CHECK(read_mem(&m) == 0);
	T_CHECK(t.kind == PTABLE_NONE);
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

int
main(void)
{
	scratch_init();
	test_mbr_kind();
	test_mbr_damage();
	if (have("sfdisk") && have("sgdisk")) {
		T_CHECK(make_mbr("mbr", '5'));
		T_CHECK(make_gpt());
		test_gpt_damage();
		test_gpt_lies();
		test_gpt_passed_over();
		test_backup_lies();
		test_gpt_names();
		test_truncated();
	}
	ptable_free(&t);
	return t_done();
}
