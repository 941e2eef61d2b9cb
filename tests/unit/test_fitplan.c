/* Plans of partitions for disks of other sizes: the usual layouts on several sizes, no room
 * by one sector, plans of users, and random layouts against what fitplan.h promises. */
#include "common/layout/fitplan.h"

#include <stdlib.h>
#include <string.h>

#include "common/disk/ptype.h"
#include "tests/random.h"
#include "tests/t.h"

#define GB(n) ((uint64_t)(n) * 1000 * 1000 * 1000 / 512)
#define MB(n) ((uint64_t)(n) * 2048)
#define TYPE(t, gpt) ((gpt) ? 0 : (t))

enum { GPT_ARRAY = 128 * 128, LAYOUTS_MAX = 8, RANDOM = 2000 };

/* A partition of a layout: its type (gdisk's code, or MBR's), and its filesystem. */
struct slot {
	unsigned number, type;
	const char *fs;
	uint64_t first, sectors, fs_sectors;
};

static struct ptable table;
static struct reach reach;
static struct fitplan_source source;
static struct fitplan p;
static struct err e;

static void
add(bool gpt, const struct slot *s)
{
	struct partition *a = &table.parts[table.nparts++];
	struct reach_part r = { .number = s->number,
		.sectors = { s->first, s->sectors },
		.fs_sectors = s->fs_sectors };

	*a = (struct partition){ .number = s->number,
		.sectors = { s->first, s->sectors },
		.logical = !gpt && s->number > 4,
		.mbr_type = (uint8_t)TYPE(s->type, gpt) };
	if (gpt)
		ptype_guid_bytes(ptype_gpt_by_code(s->type)->guid, a->type_guid);
	strcpy(r.fs, s->fs);
	reach_add(&reach, &r);
}

static uint64_t
stored(void *arg, struct range part)
{
	(void)arg, (void)part;
	return 0;
}

/* The layout on a disk of so many sectors; filesystems may be made as short as they are. */
static void
lay_out(bool gpt, const struct slot *s, uint64_t sectors)
{
	table = (struct ptable){ .kind = gpt ? PTABLE_GPT : PTABLE_MBR,
		.sector_bytes = 512,
		.array_bytes = gpt ? GPT_ARRAY : 0 };
	reach.n = 0;
	for (; s->number != 0; s++)
		add(gpt, s);
	source = (struct fitplan_source){
		.table = &table, .reach = &reach, .sectors = sectors, .stored = stored
	};
}

static int
plan_for(uint64_t sectors, unsigned sector_bytes)
{
	return fitplan_begin(&p, &source, sectors, sector_bytes, &e) == 0
	           ? fitplan_make(&p, &e)
	           : -1;
}

static const struct fitplan_part *
part(unsigned number)
{
	for (unsigned i = 0; i < p.n; i++)
		if (p.parts[i].number == number)
			return &p.parts[i];
	abort();
}

/* What every plan must be, whoever made it. */
static bool
is_right(void)
{
	uint64_t end = 0;

	for (unsigned i = 0; i < p.n; i++) {
		const struct fitplan_part *a = &p.parts[i];
		bool ok = a->is.off >= end && a->is.len >= a->least &&
		          range_end(a->is) <= p.end && (i > 0 || !fitplan_moves(a)) &&
		          (!fitplan_moves(a) || a->is.off % PLAN_ALIGN_SECTORS == 0) &&
		          (a->shares || a->is.len == a->least) && (!a->pinned || !fitplan_moves(a));
		if (!ok)
			printf("# partition %u\n", a->number);
		if (!ok)
			return false;
		end = range_end(a->is);
	}
	return fitplan_check(&p, false, &e) == 0;
}

static const struct slot windows[] = { { 1, 0xef00, "fat", 2048, MB(100), MB(100) },
	{ 2, 0x0c01, "", MB(101), MB(16), 0 },
	{ 3, 0x0700, "ntfs", MB(117), GB(511), GB(40) },
	{ 4, 0x2700, "ntfs", MB(487446), MB(600), MB(600) }, { 0 } };
static const struct slot windows_mbr[] = { { 1, 7, "ntfs", 2048, MB(500), MB(500) },
	{ 2, 7, "ntfs", MB(501), GB(510), GB(60) }, { 0 } };
static const struct slot debian[] = { { 1, 0xef00, "fat", 2048, MB(512), MB(512) },
	{ 2, 0x8300, "ext4", MB(513), GB(510), GB(20) },
	{ 3, 0x8200, "swap", MB(486900), MB(976), MB(976) }, { 0 } };
static const struct slot debian_mbr[] = { { 1, 0x83, "ext4", 2048, GB(510), GB(20) },
	{ 5, 0x82, "swap", MB(486600) + 2, MB(976), MB(976) }, { 0 } };
static const struct slot lvm[] = { { 1, 0xef00, "fat", 2048, MB(512), MB(512) },
	{ 2, 0x8300, "ext4", MB(513), MB(1024), MB(1024) },
	{ 3, 0x8e00, "lvm2", MB(1537), GB(510), GB(30) }, { 0 } };
static const struct slot two[] = { { 1, 0x8300, "btrfs", 2048, GB(100), GB(10) },
	{ 2, 0x8300, "xfs", MB(95400), GB(400), GB(10) }, { 0 } };

static const struct {
	const char *name;
	bool gpt;
	const struct slot *slots;
	unsigned moves, grows; /* on 1 TB: the last partition that moves, one that grows */
} layouts[] = { { "Windows 11", true, windows, 4, 3 },
	{ "Windows, MBR", false, windows_mbr, 0, 2 }, { "Debian, GPT", true, debian, 3, 2 },
	{ "Debian, MBR", false, debian_mbr, 5, 1 }, { "LVM", true, lvm, 0, 3 },
	{ "btrfs and XFS", true, two, 2, 1 } };

static const uint64_t smaller[] = { GB(256), GB(256) + 1 };
static const uint64_t larger[] = { GB(1000), GB(2200) };

static void
test_smaller(void)
{
	for (size_t k = 0; k < sizeof smaller / sizeof smaller[0]; k++)
		for (unsigned bytes = 512; bytes <= 4096; bytes *= 8) {
			T_CHECK(plan_for(smaller[k], bytes) == 0);
			T_CHECK(is_right() && fitplan_changes(&p));
			/* Less than 3 MiB are left over. */
			T_CHECK(p.end - range_end(p.parts[p.n - 1].is) < MB(3));
		}
}

static void
test_larger(unsigned moves, unsigned grows)
{
	for (size_t k = 0; k < sizeof larger / sizeof larger[0]; k++)
		for (unsigned bytes = 512; bytes <= 4096; bytes *= 8) {
			T_CHECK(plan_for(larger[k], bytes) == 0);
			T_CHECK(is_right());
			T_CHECK(p.end - range_end(p.parts[p.n - 1].is) < MB(3));
			T_CHECK(part(grows)->is.len > part(grows)->was.len);
			T_CHECK(moves == 0 || fitplan_moves(part(moves)));
			if (!p.mbr || larger[k] < UINT32_MAX)
				T_CHECK(p.end > larger[k] - 64);
		}
}

/* The least disk is enough, and one sector less is not. */
static void
test_least(void)
{
	T_CHECK(plan_for(GB(2), 512) == -1);
	T_CHECK(e.kind == ERR_REFUSED && strstr(e.text, "--shrink") != NULL);
	uint64_t least = p.least;
	T_CHECK(plan_for(least, 512) == 0 && is_right());
	T_CHECK(plan_for(least - 1, 512) == -1 && p.least == least);
	T_CHECK(e.kind == ERR_REFUSED);
	/* When it is not known what is stored, nothing becomes shorter. */
	source.stored = NULL;
	T_CHECK(plan_for(GB(256), 512) == -1 && e.kind == ERR_REFUSED);
	T_CHECK(p.least > GB(500));
	source.stored = stored;
}

static void
test_layouts(void)
{
	for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
		printf("# %s\n", layouts[i].name);
		lay_out(layouts[i].gpt, layouts[i].slots, GB(512));
		T_CHECK(plan_for(GB(512), 512) == 0 && is_right());
		test_smaller();
		test_larger(layouts[i].moves, layouts[i].grows);
		test_least();
	}
}

/* The shares are those of before. */
static void
test_shares(void)
{
	lay_out(true, two, GB(500));
	T_CHECK(plan_for(GB(1000), 512) == 0);
	T_CHECK(part(1)->is.len > GB(199) && part(1)->is.len < GB(201));
	T_CHECK(part(2)->is.len > GB(799));
}

static void
test_rules(void)
{
	lay_out(true, lvm, GB(512));
	T_CHECK(plan_for(GB(1000), 512) == 0);
	T_CHECK(!part(1)->shares && !part(2)->shares && part(3)->shares);
	T_CHECK(strcmp(part(2)->why, "taken for /boot") == 0);
	lay_out(false, windows_mbr, GB(512));
	T_CHECK(plan_for(GB(1000), 512) == 0);
	T_CHECK(part(1)->pinned && !part(1)->shares && !fitplan_moves(part(2)));
	static const struct slot ldm[] = { { 1, 0x4200, "", 2048, GB(1), 0 }, { 0 } };
	lay_out(true, ldm, GB(512));
	T_CHECK(plan_for(GB(1000), 512) == -1 && e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "a dynamic disk of Windows (LDM)") != NULL);
	lay_out(true, windows + 4, GB(512));
	T_CHECK(plan_for(GB(1000), 512) == -1 && e.kind == ERR_UNSUPPORTED);
}

static int
take(const char *text)
{
	e = (struct err){ 0 };
	if (fitplan_begin(&p, &source, GB(1000), 512, &e) != 0)
		return -1;
	int rc = fitplan_take(&p, text, strlen(text), "it", &e);
	return rc == 0 ? fitplan_check(&p, false, &e) : -1;
}

#define PART(n, first, sectors) \
	"{\"number\":" #n ",\"first_sector\":" #first ",\"sectors\":" #sectors "}"
#define PARTS(...) "{\"partitions\":[" __VA_ARGS__ "]}"

static const struct slot small[] = { { 1, 0x8300, "ext4", 2048, 4096, 4000 },
	{ 2, 0x8300, "ext4", 6144, 4096, 4000 }, { 0 } };

static void
test_users(void)
{
	static const struct {
		const char *text, *words;
		enum err_kind kind;
	} bad[] = {
		{ PARTS(PART(1, 2048, 8192) "," PART(2, 10239, 4096)), "before the end",
		    ERR_REFUSED },
		{ PARTS(PART(1, 8192, 4096) "," PART(2, 2048, 4096)), "the order",
		    ERR_REFUSED },
		{ PARTS(PART(1, 2048, 4096)), "lacks partition 2", ERR_FORMAT },
		{ PARTS(PART(1, 2048, 4096) "," PART(1, 2048, 4096)), "1 twice", ERR_FORMAT },
		{ PARTS(PART(1, 2048, 4096) "," PART(3, 8192, 4096)), "does not have",
		    ERR_FORMAT },
		{ PARTS(PART(1, 2048, 3999) "," PART(2, 8192, 4096)), "--shrink",
		    ERR_REFUSED },
		{ PARTS(PART(1, 2047, 4096) "," PART(2, 8192, 4096)), "begins before",
		    ERR_REFUSED },
		{ PARTS(PART(1, 2048, 4096) "," PART(2, 8192, 18446744073709551614)),
		    "does not lie", ERR_REFUSED },
		{ PARTS(PART(1, 2048, 4096) "," PART(2, 18446744073709551614, 4096)),
		    "does not lie", ERR_REFUSED },
		{ PARTS(PART(1, 2048, 4096) "," PART(2, 8192, 18446744073709551616)),
		    "no plan", ERR_FORMAT },
		{ PARTS(PART(1, 2048, 4096) "," PART(2, 1953125000, 4096)), "does not lie",
		    ERR_REFUSED },
		{ PARTS(PART(1, 2048, 4096) "," PART(2, 8192, 4096.5)), "no plan", ERR_FORMAT },
		{ PARTS(PART(1, 2048, -4096)), "no plan", ERR_FORMAT },
		{ "", "not JSON", ERR_FORMAT }, { "[]", "no plan", ERR_FORMAT },
		{ "{}", "no plan", ERR_FORMAT },
		{ PARTS("{\"number\":1}"), "no plan", ERR_FORMAT },
		{ PARTS() " x", "not JSON", ERR_FORMAT },
	};

	lay_out(true, small, GB(512));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CHECK(take(bad[i].text) == -1);
		T_CHECK(e.kind == bad[i].kind && strstr(e.text, bad[i].words) != NULL);
		if (strstr(e.text, bad[i].words) == NULL)
			printf("# %s: %s\n", bad[i].text, e.text);
	}
	T_CHECK(take(" { \"x\\\"\": [1.5e3, {\"a\":null}, []], \"partitions\" : [ " PART(1,
		    2048, 8192) " , " PART(2, 10240, 4096) " ] } \n") == 0);
	T_CHECK(part(1)->is.len == 8192 && part(2)->is.off == 10240);
	/* Every beginning of a plan is none. */
	static const char whole[] = PARTS(PART(1, 2048, 8192) "," PART(2, 10240, 4096));
	for (size_t n = 0; n < sizeof whole - 1; n++)
		T_CHECK(fitplan_take(&p, whole, n, "it", &e) == -1);
	char deep[100];
	memset(deep, '[', sizeof deep);
	memcpy(deep, "{\"a\":", 5);
	T_CHECK(fitplan_take(&p, deep, sizeof deep, "it", &e) == -1);
}

/* What --plan --json prints is a plan that can be taken. */
static void
test_round_trip(void)
{
	char *text = NULL;
	size_t len = 0;

	lay_out(true, windows, GB(512));
	T_CHECK(plan_for(GB(1000), 512) == 0);
	uint64_t hash = fitplan_hash(&p);
	FILE *f = open_memstream(&text, &len);
	struct json *j = json_new();
	json_object(j, NULL);
	fitplan_json(&p, j);
	json_end(j);
	T_CHECK(json_show_on(j, f, &e) == 0);
	fclose(f);
	T_CHECK(take(text) == 0 && fitplan_hash(&p) == hash);
	p.parts[1].is.off++;
	T_CHECK(fitplan_hash(&p) != hash);
	free(text);
}

static void
test_pinned(void)
{
	lay_out(false, windows_mbr, GB(512));
	T_CHECK(fitplan_begin(&p, &source, GB(1000), 512, &e) == 0);
	p.parts[1].is.off += 2048;
	T_CHECK(fitplan_check(&p, false, &e) == -1 && e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "of Windows") != NULL);
	T_CHECK(fitplan_check(&p, true, &e) == 0);
	/* The record of a logical partition needs room. */
	lay_out(false, debian_mbr, GB(512));
	T_CHECK(fitplan_begin(&p, &source, GB(1000), 512, &e) == 0);
	p.parts[0].is.len = p.parts[1].was.off - 2048;
	T_CHECK(fitplan_check(&p, false, &e) == -1);
	T_CHECK(strstr(e.text, "for its record") != NULL);
}

/* A layout by chance: 1 to 12 partitions with gaps, each fixed or not. */
static uint64_t
random_layout(bool gpt)
{
	static struct slot s[16];
	uint64_t at = 34 + draw(4000), n = gpt ? 1 + draw(12) : 1 + draw(3);
	uint64_t logical = gpt ? 0 : draw(5);

	for (uint64_t i = 0; i < n + logical; i++) {
		uint64_t len = MB(1) / (draw(3) == 0 ? 7 : 1) * (1 + draw(1 << draw(14)));
		bool grows = draw(2) == 0;
		at += i >= n ? 2 + draw(3000) : draw(4) == 0 ? draw(5000) : 0;
		s[i] = (struct slot){ (unsigned)(i < n ? i + 1 : i - n + 5),
			gpt ? 0x8300 : 0x83, grows ? "ext4" : "", at, len,
			1 + draw(len) };
		at += len;
	}
	s[n + logical] = (struct slot){ 0 };
	lay_out(gpt, s, at + 34 + draw(100000));
	return source.sectors;
}

static bool
right_for(uint64_t sectors)
{
	if (plan_for(sectors, 512) == 0)
		return is_right() && sectors >= p.least;
	return e.kind == ERR_REFUSED && sectors < p.least;
}

static void
test_random(void)
{
	const char *seeds = getenv("FIT_SEEDS");
	unsigned bad = 0, n = seeds != NULL ? (unsigned)atoi(seeds) : RANDOM;

	for (unsigned seed = 1; seed <= n && bad == 0; seed++) {
		draw_seed = seed;
		uint64_t sectors = random_layout(draw(2) == 0);
		bool ok = right_for(sectors / (1 + draw(4)) + 100) &&
		          right_for(sectors + draw(sectors)) && right_for(p.least) &&
		          right_for(p.least - 1) && right_for(p.least + draw(10000));
		if (!ok)
			printf("# seed %u: %s\n", seed, e.text);
		bad += !ok;
	}
	T_CHECK(bad == 0);
}

int
main(void)
{
	test_layouts();
	test_shares();
	test_rules();
	test_users();
	test_round_trip();
	test_pinned();
	test_random();
	return t_done();
}
