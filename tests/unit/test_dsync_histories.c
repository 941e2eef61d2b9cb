/* Random histories of a device and two copies: writes that are undone, streams that are lost,
 * cut, merged late, twice or in place, confirmations that come late or never, an old state
 * restored.  Whatever happens, a merge that succeeds leaves the state that was extracted, one
 * that fails leaves the copy as it was (in place: marked), and in the end both are equal.
 *	HISTORIES=10000 SEED=1 test_dsync_histories		default: 60
 */
#include <stdlib.h>
#include <string.h>

#include "dsync/change/bases.h"
#include "dsync/extract/extract.h"
#include "dsync/merge/merge.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

enum { BLOCK = 4096, BLOCKS = 12, BYTES = BLOCKS * BLOCK - 100, STREAMS = 6, COPIES = 2, STEPS = 80 };

static uint64_t seed;

static unsigned
chance(unsigned n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (unsigned)(seed >> 20) % n;
}

/* A stream that was extracted, and what the device was then. */
struct sent {
	bool there;
	struct stream_id id;
	uint8_t device[BYTES];
};

struct world {
	uint8_t device[BYTES];
	struct sent sent[COPIES][STREAMS];
	bool broken[COPIES]; /* a merge in place has not ended */
	unsigned last[COPIES]; /* the slot of the last stream */
	unsigned merges, refusals;
	const char *wrong;
};

static char path_of[300];

static const char *
path(const char *name, unsigned i)
{
	snprintf(path_of, sizeof path_of, "%s/%s%u", scratch_dir, name, i);
	return path_of;
}

static void
put_file(const char *name, unsigned i, const void *bytes, size_t n)
{
	FILE *f = fopen(path(name, i), "w");

	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		abort();
}

static size_t
get_file(const char *name, unsigned i, void *bytes, size_t most)
{
	FILE *f = fopen(path(name, i), "r");
	size_t n = f != NULL ? fread(bytes, 1, most, f) : 0;

	if (f != NULL)
		fclose(f);
	return n;
}

static struct extract_config
from_config(unsigned copy, char since[400], char device[300])
{
	snprintf(since, 400, "scan:%s/state%u", scratch_dir, copy);
	snprintf(device, 300, "%s/device0", scratch_dir);
	return (struct extract_config){ .since = since, .device = device, .folder = "/nowhere",
		.jobs = 1 };
}

/* Few contents, so that blocks often get back what they had. */
static void
write_blocks(struct world *w)
{
	for (unsigned n = 1 + chance(3); n > 0; n--) {
		size_t at = chance(BLOCKS) * (size_t)BLOCK;
		size_t len = at + BLOCK > BYTES ? BYTES - at : BLOCK;
		memset(w->device + at, (int)chance(3), len);
	}
	put_file("device", 0, w->device, BYTES);
}

static int
do_extract(struct world *w, unsigned copy, unsigned slot, bool full, struct err *e)
{
	char since[400], device[300];
	struct extract_config c = from_config(copy, since, device);
	struct extract_report r;
	struct disk *to;

	c.full = full;
	if (disk_open(&to, path("stream", copy * STREAMS + slot),
		DISK_WRITE | DISK_CREATE | DISK_TRUNC, e) != 0)
		return -1;
	struct sent *s = &w->sent[copy][slot];
	s->there = extract(&c, to, &r, e) == 0;
	struct err late;
	disk_close(to, &late);
	if (!s->there)
		return -1;
	s->id = r.head.id;
	w->last[copy] = slot;
	memcpy(s->device, w->device, BYTES);
	return 0;
}

static int
do_merge(unsigned copy, unsigned slot, bool in_place, struct merge_report *r, struct err *e)
{
	char target[300];
	struct disk *from;
	struct err late;

	snprintf(target, sizeof target, "%s/copy%u", scratch_dir, copy);
	struct merge_config c = { .target = target, .folder = "/nowhere",
		.in_place = in_place };
	if (disk_open(&from, path("stream", copy * STREAMS + slot), DISK_READ, e) != 0)
		return -1;
	int rc = merge(&c, from, r, e);
	disk_close(from, &late);
	return rc;
}

static void
cut_stream(unsigned copy, unsigned slot)
{
	static uint8_t bytes[1 << 17];
	size_t n = get_file("stream", copy * STREAMS + slot, bytes, sizeof bytes);

	put_file("stream", copy * STREAMS + slot, bytes, n > 0 ? chance((unsigned)n) : 0);
}

static void
deliver(struct world *w, unsigned copy, unsigned slot, bool cut, bool in_place)
{
	static uint8_t before[BYTES], after[BYTES];
	struct sent *s = &w->sent[copy][slot];
	struct merge_report r;
	struct err e;

	if (!s->there)
		return;
	if (cut)
		cut_stream(copy, slot);
	size_t had = get_file("copy", copy, before, BYTES);
	int rc = do_merge(copy, slot, in_place, &r, &e);
	size_t has = get_file("copy", copy, after, BYTES);
	if (rc == 0) {
		w->merges++;
		w->broken[copy] = false;
		if (has != BYTES || memcmp(after, s->device, BYTES) != 0)
			w->wrong = "a merge succeeded, and the copy is another state";
	} else {
		w->refusals++;
		bool same = has == had && memcmp(after, before, has) == 0;
		w->broken[copy] |= in_place && !same;
		if (!in_place && !same)
			w->wrong = "a merge failed, and the copy was changed";
	}
	s->there = s->there && !cut;
}

static bool
copy_id(unsigned copy, struct target_state *s)
{
	char target[300];
	struct err e;

	snprintf(target, sizeof target, "%s/copy%u", scratch_dir, copy);
	struct merge_config c = { .target = target, .folder = "/nowhere" };
	return merge_look(&c, s, &e) == 0;
}

/* Only what the copy has is ever confirmed. */
static void
confirm(unsigned copy)
{
	char since[400], device[300];
	struct extract_config c = from_config(copy, since, device);
	struct target_state s;
	struct err e;

	if (copy_id(copy, &s) && stream_id_set(&s.id))
		extract_done(&c, &s.id, &e);
}

static void
save_state(unsigned copy)
{
	sh("rm -rf saved%u && mkdir saved%u && cp state%u* saved%u", copy, copy, copy, copy);
}

static void
restore_state(unsigned copy)
{
	sh("[ ! -e saved%u ] || { rm -f state%u*; cp saved%u/* .; }", copy, copy, copy);
}

static void
step(struct world *w)
{
	unsigned copy = chance(COPIES), slot = chance(STREAMS);
	unsigned late = chance(3) == 0 ? slot : w->last[copy]; /* mostly the last one */
	struct err e;

	switch (chance(16)) {
	case 0 ... 4: write_blocks(w); break;
	case 5 ... 8:
		if (do_extract(w, copy, slot, chance(12) == 0, &e) != 0)
			w->wrong = "an extract failed";
		break;
	case 9 ... 11: deliver(w, copy, late, false, false); break;
	case 12: deliver(w, copy, late, chance(2) == 0, true); break;
	case 13: deliver(w, copy, late, true, false); break;
	case 14: confirm(copy); break;
	default:
		if (chance(12) == 0)
			save_state(copy);
		else if (chance(12) == 0)
			restore_state(copy);
		break;
	}
}

/* What is left to do in the end: send what has changed; if that is refused, send it all. */
static void
settle(struct world *w, unsigned copy)
{
	static uint8_t after[BYTES];
	struct merge_report r;
	struct err e;

	confirm(copy);
	if (do_extract(w, copy, 0, false, &e) != 0)
		w->wrong = "the last extract failed";
	else if (do_merge(copy, 0, false, &r, &e) != 0 &&
	         (do_extract(w, copy, 0, true, &e) != 0 || do_merge(copy, 0, false, &r, &e) != 0))
		w->wrong = "a full copy was refused";
	else if (get_file("copy", copy, after, BYTES) != BYTES ||
	         memcmp(after, w->device, BYTES) != 0)
		w->wrong = "not equal in the end";
}

static struct world world;

static bool
history(uint64_t number, unsigned *merges, unsigned *refusals)
{
	memset(&world, 0, sizeof world);
	seed = number * 0x9e3779b97f4a7c15u + 1;
	sh("rm -rf copy* state* stream* saved* device*");
	write_blocks(&world);
	for (unsigned i = 0; i < COPIES; i++)
		settle(&world, i), confirm(i);
	for (unsigned i = 0; i < STEPS && world.wrong == NULL; i++)
		step(&world);
	for (unsigned i = 0; i < COPIES && world.wrong == NULL; i++)
		settle(&world, i);
	*merges += world.merges;
	*refusals += world.refusals;
	if (world.wrong != NULL)
		printf("# HISTORIES=1 SEED=%llu: %s\n", (unsigned long long)number, world.wrong);
	return world.wrong == NULL;
}

int
main(void)
{
	const char *n = getenv("HISTORIES"), *first = getenv("SEED");
	uint64_t histories = n != NULL ? strtoull(n, NULL, 10) : 60, good = 0;
	uint64_t from = first != NULL ? strtoull(first, NULL, 10) : 1;
	unsigned merges = 0, refusals = 0;

	/* In memory: everything is flushed. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	scratch_init();
	for (uint64_t i = 0; i < histories; i++)
		good += history(from + i, &merges, &refusals);
	printf("# %u merges, %u that were refused or cut\n", merges, refusals);
	T_CHECK(good == histories);
	T_CHECK(merges > histories && refusals > histories / 2);
	scratch_done();
	return t_done();
}
