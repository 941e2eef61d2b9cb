/* The types of partitions, set: nothing else changes. */
#include "tests/unit/ptables.h"
#include "tests/unit/ptables_sfdisk.h"

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
		T_CHECK(sh("cp mbr set") == 0);
		T_CHECK(set_type("set", where[i].number, 0x8e));
		struct mem after = load("set");
		T_CHECK(differing(&before, &after, &at) == 1);
		T_CHECK(at == where[i].at);
		T_CHECK(after.b[at] == 0x8e);
		T_CHECK(read_path(in_scratch("set")) == 0);
		T_CHECK(ptable_find(&t, where[i].number)->mbr_type == 0x8e);
		free(after.b);
	}
	T_CHECK(set_type("set", 7, 255));
	T_CHECK(sfdisk_agrees(in_scratch("set")) == false);
	T_CHECK(read_path(in_scratch("set")) == 0);
	T_CHECK(sfdisk_agrees(in_scratch("set")));
	static const unsigned bad[] = { 0, 5, 15, 0x85, 0xee, 256, 0x8300, UINT32_MAX };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		T_CHECK(!set_type("set", 1, bad[i]));
		T_CHECK(e.kind == ERR_USAGE);
	}
	T_CHECK(!set_type("set", 3, 0x83));
	T_CHECK(e.kind == ERR_ABSENT); /* the extended one */
	T_CHECK(!set_type("set", 0, 0x83));
	T_CHECK(!set_type("set", 8, 0x83));
	T_CHECK(sh("truncate -s 1M blank") == 0);
	T_CHECK(!set_type("blank", 1, 0x83));
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(strstr(e.text, "no partition table") != NULL);
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
	T_CHECK(n > 12);
	T_CHECK(ptype_gpt_at(n - 1) != NULL);
	T_CHECK(ptype_gpt_at(n) == NULL);
	/* From the next one's type, so that each is really set. */
	T_CHECK(sh("cp all set") == 0);
	for (unsigned i = 0; i < n; i++)
		T_CHECK(set_type("set", i + 1, ptype_gpt_at((i + 1) % n)->code));
	for (unsigned i = 0; i < n; i++)
		T_CHECK(set_type("set", i + 1, ptype_gpt_at(i)->code));
	T_CHECK(read_path(in_scratch("set")) == 0);
	T_CHECK(t.nparts == n);
	T_CHECK(t.warning[0] == '\0');
	for (unsigned i = 0; i < n; i++) {
		p = ptype_gpt_at(i);
		printf("# %04x\n", p->code);
		T_CHECK(memcmp(t.parts[i].type_guid, theirs[i].type_guid, 16) == 0);
		T_CHECK(memcmp(t.parts[i].part_guid, theirs[i].part_guid, 16) == 0);
		T_CHECK(strlen(p->name) <= 36);
		T_CHECK(strcmp(t.parts[i].name, p->name) == 0);
	}
	T_CHECK(sfdisk_agrees(in_scratch("set")));
	T_CHECK(sh("sgdisk -v set | grep -q 'No problems found'") == 0);
	static const unsigned like[][2] = { { 131, 0x8300 }, { 130, 0x8200 },
		{ 165, 0xa500 }, { 7, 0x0700 }, { 166, 0xa600 }, { 0x8e, 0x8e00 },
		{ 0xfd, 0xfd00 } };
	for (size_t i = 0; i < sizeof like / sizeof *like; i++) {
		T_CHECK(sh("cp gpt a; cp gpt b") == 0);
		T_CHECK(set_type("a", 5, like[i][0]));
		T_CHECK(set_type("b", 5, like[i][1]));
		T_CHECK(sh("cmp a b && ! cmp a gpt") == 0);
	}
	static const unsigned bad[] = { 0, 1, 5, 255, 0xee, 0xbf00, 0x8399,
		0x10000 + 0x8300 };
	T_CHECK(sh("cp a was") == 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		unknown += try_type("a", 5, bad[i]) == 1 &&
		           strstr(e.text, "type of partition 5 is not changed") != NULL;
	T_CHECK(unknown == sizeof bad / sizeof bad[0]);
	T_CHECK(sh("cmp a was") == 0);
	T_CHECK(try_type("a", 3, 0xbf00) == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(!set_type("a", 3, 0x8300));
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(!set_type("a", 1000, 0x8300));
	T_CHECK(e.kind == ERR_ABSENT);
}

/* Exactly the entry's type and name and four checksums change, in each copy that
 * is whole; and only a whole copy is touched. */
static void
test_set_gpt_bytes(void)
{
	struct mem before = load("gpt");
	size_t last = before.len - 512, outside = 0;

	T_CHECK(sh("cp gpt set") == 0);
	T_CHECK(set_type("set", 5, 0x8300));
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
	T_CHECK(set_type("set", 5, 0x8300));
	T_CHECK(read_path(in_scratch("set")) == 0);
	T_CHECK(strcmp(ptable_find(&t, 5)->name, "Linux filesystem") == 0);
	T_CHECK(sh("cmp -n 17408 set was && ! cmp set was") == 0);
	free(before.b);
}

int
main(void)
{
	scratch_init();
	if (have("sfdisk") && have("sgdisk")) {
		T_CHECK(make_mbr("mbr", '5'));
		T_CHECK(make_gpt());
		test_set_mbr();
		test_set_gpt();
		test_set_gpt_bytes();
	}
	ptable_free(&t);
	return t_done();
}
