/* gc that does not come to its end: of a pack that nobody needs, the table goes first,
 * so that no table promises a pack that is gone. */
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
put_pack(void)
{
	static const uint8_t data[5000] = { 1, 2, 3 };
	struct pack_fragment f = { .bytes = sizeof data };
	struct store s;

	sha256(data, sizeof data, f.head.sha256);
	T_CHECK(store_open(&s, path, STORE_WRITE, &e) == 0);
	T_CHECK(store_begin(&s, &e) == 0);
	T_CHECK(writer_add(s.putting, &f, data, &e) == 0);
	T_CHECK(writer_flush(s.putting, &e) == 0);
	T_CHECK(store_commit(&s, &e) == 0);
	store_close(&s);
}

static int
collect(int succeed)
{
	struct gc_stats stats = { 0 };
	struct store s;

	T_CHECK(store_open(&s, path, STORE_WRITE | STORE_ANEW, &e) == 0);
	removals = succeed;
	int rc = gc_run(&s, GC_DEAD_PERCENT, &stats, &e);
	removals = -1;
	store_close(&s);
	return rc;
}

static bool
has_any(const char *folder)
{
	return sh("find store/%s -type f | grep -q .", folder) == 0;
}

int
main(void)
{
	scratch_init();
	snprintf(path, sizeof path, "%s/store", scratch_dir);
	T_CHECK(store_init(path, 0, 0, &e, &e) == 0);
	put_pack();
	T_CHECK(collect(0) == -1);
	T_CHECK(has_any("packs"));
	T_CHECK(has_any("tables"));
	T_CHECK(collect(1) == -1);
	T_CHECK(has_any("packs"));
	T_CHECK(!has_any("tables"));
	scratch_done();
	return t_done();
}
