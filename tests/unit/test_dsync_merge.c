/* Merges into a small file: the same full copy twice, parts of streams that do not belong together,
 * and what must be on the disk when a merge has ended. */
#include "dsync/merge/merge.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

enum { BLOCK = 4096, BLOCKS = 8, BYTES = BLOCKS * BLOCK, ROOM = BYTES + 4096 };

/* --- what the library asks of the system --- */

static unsigned folder_flushes;
static const char *taken_away; /* the path of a file that is removed before it is locked; or NULL */

int
fsync(int fd)
{
	struct stat st, dir;

	if (fstat(fd, &st) == 0 && stat(scratch_dir, &dir) == 0 && st.st_ino == dir.st_ino)
		folder_flushes++;
	return (int)syscall(SYS_fsync, fd);
}

int
flock(int fd, int how)
{
	if (taken_away != NULL && unlink(taken_away) == 0)
		taken_away = NULL;
	return (int)syscall(SYS_flock, fd, how);
}

/* --- streams --- */

struct made {
	uint8_t bytes[ROOM];
	size_t n;
};

static struct stream_id
id(int n)
{
	struct stream_id i;

	memset(&i, n, sizeof i);
	return i;
}

/* State `to` of lineage `lineage`, as a full copy without a base (0), or what has changed since the
 * base: all blocks, which hold `to`. */
static struct stream_head
head(int lineage, int base, int to)
{
	struct stream_head h = { .device_bytes = BYTES, .block_bytes = BLOCK, .id = id(to),
		.flags = base == 0 ? STREAM_FULL : STREAM_CUMULATIVE, .lineage = id(lineage),
		.nbases = base != 0, .bases = { id(base) }, .made_at = (uint64_t)to, .kind = "era" };

	return h;
}

static void
make(struct made *m, const struct stream_head *h)
{
	struct stream_end end = { .fuzzy = false };

	stream_put_head(h, m->bytes, &end.totals);
	m->n = STREAM_TOP_BYTES;
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint8_t *at = m->bytes + m->n;
		memset(at + STREAM_RECORD_HEAD, h->id.bytes[0], BLOCK);
		size_t n = stream_put_record(at, STREAM_DATA, STREAM_RAW,
		    (struct range){ i * (uint64_t)BLOCK, BLOCK }, BLOCK);
		stream_count(&end.totals, at, n);
		m->n += n;
	}
	stream_put_end(&end, m->bytes + m->n);
	m->n += STREAM_END_BYTES;
}

/* --- merges --- */

enum how { PLAIN = 0, IN_PLACE = 1, FORCE = 2, CUT = 4 };

static struct merge_report report;
static struct err why;

/* Merge a stream into the file `target`; CUT: its end is missing. */
static int
merge_it(const struct stream_head *h, unsigned how)
{
	const struct merge_config c = { .target = in_scratch("target"), .folder = "/nowhere",
		.in_place = (how & IN_PLACE) != 0, .force = (how & FORCE) != 0 };
	struct made m;
	struct err e;

	make(&m, h);
	struct mem mem = mem_of(m.bytes, m.n - ((how & CUT) != 0 ? 1 : 0));
	struct disk *from = mem_disk(&mem, DISK_FILE, SECTOR_BYTES);
	int rc = merge_into_target(&c, from, &report, &why);
	disk_close(from, &e);
	return rc;
}

static bool
holds(int state)
{
	uint8_t all[BYTES];

	memset(all, state, sizeof all);
	return scratch_holds("target", all, sizeof all);
}

static void
begin_anew(void)
{
	unlink(in_scratch("target"));
	unlink(in_scratch("target.dsync"));
}

/* The journal says that the target has this state, but the target was removed or written. */
static void
test_full_copy_again(void)
{
	struct stream_head h = head(9, 0, 5);

	begin_anew();
	T_CHECK(merge_it(&h, PLAIN) == 0 && !report.same && holds(5));
	T_CHECK(merge_it(&h, PLAIN) == 0 && report.same && holds(5));
	unlink(in_scratch("target"));
	T_CHECK(merge_it(&h, PLAIN) == 0 && !report.same && holds(5));
	T_CHECK(sh("printf x | dd of=target bs=1 seek=100 conv=notrunc") == 0 && !holds(5));
	T_CHECK(merge_it(&h, PLAIN) == 0 && !report.same && holds(5));
	T_CHECK(sh("truncate -s 100 target") == 0);
	T_CHECK(merge_it(&h, PLAIN) == 0 && !report.same && holds(5));
	T_CHECK(merge_it(&h, FORCE) == 0 && !report.same && holds(5));
}

/* The target has state 5, and a part of `part` is merged in place.  Can state 20, which leads on from
 * state 5, be merged then? */
static bool
mends(const struct stream_head *part, unsigned how, int lineage)
{
	struct stream_head first = head(9, 0, 5), later = head(lineage, 5, 20);

	begin_anew();
	T_CHECK(merge_it(&first, PLAIN) == 0);
	T_CHECK(merge_it(part, IN_PLACE | CUT | how) != 0 && why.kind == ERR_FORMAT);
	T_CHECK((report.state.flags & TARGET_INCOMPLETE) != 0);
	int rc = merge_it(&later, PLAIN);
	T_CHECK(rc == 0 ? holds(20) : why.kind == ERR_REFUSED);
	return rc == 0;
}

static void
test_parts(void)
{
	struct stream_head on = head(9, 5, 7), full = head(9, 0, 7), older = head(9, 0, 4);
	struct stream_head other = head(8, 0, 7), elsewhere = head(9, 3, 4), none = head(9, 5, 7);

	T_CHECK(mends(&on, PLAIN, 9));
	T_CHECK(mends(&full, PLAIN, 9));
	T_CHECK(!mends(&older, PLAIN, 9));   /* it has what the source held before state 5 */
	T_CHECK(!mends(&other, FORCE, 9));   /* it is of another source */
	T_CHECK(!mends(&elsewhere, FORCE, 9));
	memset(&none.lineage, 0, sizeof none.lineage);
	T_CHECK(!mends(&none, PLAIN, 0)); /* perhaps of another disk that had state 5, too */
}

/* A part of state 9, then a part of a full copy of state 7: state 8 does not mend the first part. */
static void
test_newest_part_counts(void)
{
	struct stream_head first = head(9, 0, 5), part = head(9, 5, 9), full = head(9, 0, 7);
	struct stream_head between = head(9, 5, 8), later = head(9, 5, 10);

	begin_anew();
	T_CHECK(merge_it(&first, PLAIN) == 0);
	T_CHECK(merge_it(&part, IN_PLACE | CUT) != 0 && merge_it(&full, IN_PLACE | CUT) != 0);
	T_CHECK(merge_it(&between, PLAIN) != 0 && why.kind == ERR_REFUSED);
	T_CHECK(merge_it(&later, IN_PLACE) == 0 && holds(10));
	T_CHECK(report.state.made_at == 10 && report.state.flags == 0);
}

/* The names of a new journal and of a new target are on the disk before the target changes. */
static void
test_names_are_flushed(void)
{
	struct stream_head h = head(9, 0, 5);

	begin_anew();
	folder_flushes = 0;
	T_CHECK(merge_it(&h, IN_PLACE | CUT) != 0 && folder_flushes == 2);
	T_CHECK(merge_it(&h, IN_PLACE) == 0 && folder_flushes == 3);
	begin_anew();
	folder_flushes = 0;
	T_CHECK(merge_it(&h, PLAIN) == 0 && folder_flushes == 2);
}

/* A part of a stream takes no room in the journal, also when the target has no state. */
static void
test_part_takes_no_room(void)
{
	struct stream_head h = head(9, 0, 5);
	struct stat st;

	begin_anew();
	T_CHECK(merge_it(&h, IN_PLACE | CUT) != 0);
	T_CHECK(merge_it(&h, CUT) != 0);
	T_CHECK(stat(in_scratch("target.dsync"), &st) == 0 && st.st_size == JOURNAL_STREAM_AT);
	T_CHECK(merge_it(&h, PLAIN) == 0 && holds(5));
	begin_anew();
	T_CHECK(merge_it(&h, CUT) != 0);
	T_CHECK(stat(in_scratch("target.dsync"), &st) != 0 && stat(in_scratch("target"), &st) != 0);
}

/* Another program removes its new journal between this one's opening and locking it: what would be
 * written into that file would be lost, so another one is made. */
static void
test_journal_is_taken_away(void)
{
	struct stream_head h = head(9, 0, 5);
	char path[300];

	begin_anew();
	T_CHECK(sh("touch target.dsync") == 0);
	snprintf(path, sizeof path, "%s/target.dsync", scratch_dir);
	taken_away = path;
	T_CHECK(merge_it(&h, PLAIN) == 0 && holds(5));
	T_CHECK(taken_away == NULL && access(path, F_OK) == 0);
	T_CHECK(merge_it(&h, PLAIN) == 0 && report.same);
}

int
main(void)
{
	scratch_init();
	test_full_copy_again();
	test_parts();
	test_newest_part_counts();
	test_names_are_flushed();
	test_part_takes_no_room();
	test_journal_is_taken_away();
	scratch_done();
	return t_done();
}
