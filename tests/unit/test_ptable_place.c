/* A partition table that is written to another disk with all partitions elsewhere: nothing
 * else of it changes, and what cannot be written leaves the disk alone. */
#include "common/base/field.h"
#include "tests/unit/ptables.h"
#include "tests/unit/ptables_sfdisk.h"

enum { TO_SECTORS = 40000, PLACES_MAX = 8 };

static uint8_t to_bytes[TO_SECTORS * 512];
static struct mem to;
static struct ptable was;
static struct ptable_place places[PLACES_MAX];
static unsigned nplaces;

/* Read the table, and give each partition its place. */
static void
begin(struct mem *from)
{
	memset(to_bytes, 0, sizeof to_bytes);
	to = mem_of(to_bytes, sizeof to_bytes);
	ptable_free(&was);
	T_CHECK(read_mem(from) == 0);
	was = t;
	t.own = (struct rangeset){ 0 };
	nplaces = was.nparts;
	for (unsigned i = 0; i < nplaces; i++)
		places[i] = (struct ptable_place){ was.parts[i].number, was.parts[i].sectors };
}

static void
set(unsigned number, uint64_t first, uint64_t count)
{
	for (unsigned i = 0; i < nplaces; i++)
		if (places[i].number == number)
			places[i].sectors = (struct range){ first, count };
}

static int
put(struct mem *from)
{
	struct disk *d = mem_disk(from, DISK_FILE, 512), *b = mem_disk(&to, DISK_BLOCK, 512);
	struct err closing;
	int rc = ptable_place(b, d, &was, places, nplaces, &e);

	disk_close(d, &closing);
	disk_close(b, &closing);
	return rc;
}

/* Is the table there, with the places, and nothing else of it another? */
static bool
is_placed(void)
{
	if (read_mem(&to) != 0 || t.nparts != was.nparts || t.kind != was.kind ||
	    t.warning[0] != '\0')
		return false;
	for (unsigned i = 0; i < t.nparts; i++) {
		struct partition p = was.parts[i];
		p.sectors = places[i].sectors;
		if (memcmp(&p, &t.parts[i], sizeof p) != 0)
			return false;
	}
	return true;
}

static bool
is_refused(struct mem *from, const char *words)
{
	return put(from) == -1 && e.kind == ERR_UNSUPPORTED &&
	       strstr(e.text, words) != NULL && to.writes == 0;
}

static void
test_gpt(void)
{
	struct mem from = load("gpt");

	begin(&from);
	T_CHECK(put(&from) == 0 && is_placed());
	T_CHECK(t.usable.off + t.usable.len == TO_SECTORS - 33);
	begin(&from);
	set(2, 2048, 9000), set(100, 12288, 8), set(5, 14336, TO_SECTORS - 33 - 14336);
	T_CHECK(put(&from) == 0 && is_placed());
	begin(&from);
	set(5, 14336, TO_SECTORS - 32 - 14336);
	T_CHECK(is_refused(&from, "partition 5 would lie where the GPT has to be"));
	begin(&from);
	set(1, 33, 10);
	T_CHECK(is_refused(&from, "partition 1 would lie"));
	begin(&from);
	nplaces--;
	T_CHECK(is_refused(&from, "has no place"));
	begin(&from);
	from.b[512 + 16] ^= 1;
	T_CHECK(is_refused(&from, "damaged"));
	free(from.b);
}

static void
hybrid_entry(uint8_t *mbr, unsigned i, uint8_t type, uint32_t first, uint32_t count)
{
	uint8_t *entry = mbr + 446 + 16 * i;

	memset(entry, 0, 16);
	entry[4] = type;
	put_le32(entry + 8, first);
	put_le32(entry + 12, count);
}

static bool
says(unsigned i, uint8_t type, uint32_t first, uint32_t count)
{
	const uint8_t *entry = to_bytes + 446 + 16 * i;

	return entry[4] == type && get_le32(entry + 8) == first && get_le32(entry + 12) == count;
}

/* A hybrid MBR in which one partition begins where another ends: each entry goes with its own,
 * and does not reach into the gap that is between them now. */
static void
test_hybrid(void)
{
	struct mem from = load("gpt");

	begin(&from);
	/* Make them neighbours, in a table that is written anew. */
	set(was.parts[0].number, 2048, 1000), set(was.parts[1].number, 3048, 1000);
	set(was.parts[2].number, 4048, 1000);
	T_CHECK(nplaces >= 3 && put(&from) == 0);
	free(from.b);
	from = mem_of(malloc(sizeof to_bytes), sizeof to_bytes);
	memcpy(from.b, to_bytes, sizeof to_bytes);
	hybrid_entry(from.b, 0, 0xee, 1, 2047);
	hybrid_entry(from.b, 1, 0x83, 2048, 1000);
	hybrid_entry(from.b, 2, 0x83, 3048, 1000);
	hybrid_entry(from.b, 3, 0xee, 4048, TO_SECTORS - 4048);
	begin(&from);
	set(was.parts[0].number, 2048, 1500), set(was.parts[1].number, 6144, 1200);
	set(was.parts[2].number, 8192, 1000);
	T_CHECK(put(&from) == 0);
	T_CHECK(says(0, 0xee, 1, 2047) && says(1, 0x83, 2048, 1500) && says(2, 0x83, 6144, 1200));
	T_CHECK(says(3, 0xee, 7344, TO_SECTORS - 7344));
	free(from.b);
}

/* A GPT on a disk that is shorter than the one it was made for. */
static void
test_shorter(void)
{
	struct mem from = load("gpt");

	begin(&from);
	to.len = 12000 * 512;
	set(2, 100, 3000), set(100, 4096, 4), set(5, 6144, 12000 - 33 - 6144);
	T_CHECK(put(&from) == 0 && is_placed());
	free(from.b);
}

static void
test_mbr(void)
{
	struct mem from = load("mbr");

	from.b[100] = 0x77; /* a boot loader */
	begin(&from);
	T_CHECK(put(&from) == 0 && is_placed() && to_bytes[100] == 0x77);
	/* Nothing moved, so each record is where it was. */
	T_CHECK(memcmp(to_bytes + 3000 * 512, from.b + 3000 * 512, 446 + 16) == 0);
	begin(&from);
	set(5, 6144, 2048), set(6, 10240, 4096), set(7, 16384, 10000), set(4, 30000, 500);
	T_CHECK(put(&from) == 0 && is_placed());
	T_CHECK(rangeset_contains(&t.own, 4096) && rangeset_contains(&t.own, 8192));
	/* The first sector of a partition of Windows is in its entry, cylinders and all. */
	T_CHECK(memcmp(to_bytes + 446 + 16, from.b + 446 + 16, 16) == 0);
	begin(&from);
	set(5, 6144, 4096), set(6, 12288, 4096), set(7, 18432, 10000), set(4, 30000, 500);
	T_CHECK(put(&from) == 0 && is_placed());
	begin(&from);
	set(5, 6144, 4097), set(6, 12288, 4096), set(7, 18432, 10000), set(4, 30000, 500);
	T_CHECK(is_refused(&from, "no room for the record of partition 6"));
	free(from.b);
}

int
main(void)
{
	scratch_init();
	if (have("sfdisk") && have("sgdisk")) {
		T_CHECK(make_mbr("mbr", '5') && make_gpt());
		test_gpt();
		test_shorter();
		test_hybrid();
		test_mbr();
	}
	ptable_free(&was);
	ptable_free(&t);
	return t_done();
}
