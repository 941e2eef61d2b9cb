/* gc that does not come to its end: of a pack that nobody needs, the table goes first,
 * so that no table promises a pack that is gone.  A pack goes when enough of it is not needed. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "emustore/store/gc.h"
#include "emustore/store/store_impl.h"
#include "emustore/store/writer.h"
#include "tests/unit/scratch.h"

static char path[200];
static int removals = -1; /* so many succeed still; -1: all */
static struct err e;

/* What the library asks of the system. */
int
unlinkat(int fd, const char *name, int flags)
{
	if (removals == 0)
		return errno = EIO, -1;
	removals -= removals > 0;
	return (int)syscall(SYS_unlinkat, fd, name, flags);
}

/* A pack that no image needs. */
static void
put_pack(uint32_t bytes)
{
	static const uint8_t data[5000] = { 1, 2, 3 };
	struct pack_fragment f = { .bytes = bytes };
	struct store s;

	sha256(data, bytes, f.head.sha256);
	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(store_begin(&s, &e) == 0);
	T_CHECK(writer_add(s.putting, &f, data, &e) == 0);
	T_CHECK(writer_flush(s.putting, &e) == 0);
	T_CHECK(store_commit(&s, &e) == 0);
	store_close(&s);
}

static int
collect(unsigned dead_percent, int succeed)
{
	const struct gc_watch nobody = { .progress = NULL };
	struct gc_stats stats = { 0 };
	struct store s;

	T_CHECK(store_open(&s, path, STORE_WRITE | STORE_ANEW, &e) == 0);
	removals = succeed;
	int rc = gc_run(&s, dead_percent, &nobody, &stats, &e);
	removals = -1;
	store_close(&s);
	return rc;
}

static bool
has_any(const char *folder)
{
	return sh("find store/%s -type f | grep -q .", folder) == 0;
}

/* A pack goes when at least so much of it is not needed: all but its first record, here. */
static void
test_share(void)
{
	const uint64_t first = record_whole_bytes(4);
	const uint32_t bytes = (uint32_t)(99 * first - RECORD_HEAD_BYTES - FRAGMENT_HEAD_BYTES);

	put_pack(bytes - RECORD_ALIGN);
	T_CHECK(sh("find store/packs -type f -size -%dc | grep -q .", (int)(100 * first)) == 0);
	T_CHECK(collect(99, -1) == 0 && has_any("packs"));
	T_CHECK(collect(98, -1) == 0 && !has_any("packs"));
	put_pack(bytes);
	T_CHECK(sh("find store/packs -type f -size %dc | grep -q .", (int)(100 * first)) == 0);
	T_CHECK(collect(99, -1) == 0 && !has_any("packs"));
}

int
main(void)
{
	scratch_init();
	snprintf(path, sizeof path, "%s/store", scratch_dir);
	T_CHECK(store_init(path, 0, 0, &e, &e) == 0);
	put_pack(5000);
	T_CHECK(collect(GC_DEAD_PERCENT, 0) == -1);
	T_CHECK(has_any("packs"));
	T_CHECK(has_any("tables"));
	T_CHECK(collect(GC_DEAD_PERCENT, 1) == -1);
	T_CHECK(has_any("packs"));
	T_CHECK(!has_any("tables"));
	T_CHECK(collect(GC_DEAD_PERCENT, -1) == 0 && !has_any("packs"));
	test_share();
	scratch_done();
	return t_done();
}
