/* A piece of a chunk of which one region cannot be written: no write of the piece is under way
 * any more when its bytes may be used again. */
#include "imageunzip/install/job_impl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/disk/flight.h"
#include "tests/unit/scratch.h"

enum {
	REGION_SECTORS = 128,
	PIECE_BYTES = 2 * REGION_SECTORS * SECTOR_BYTES,
	LIMIT_BYTES = 16 << 20, /* of a file of this process */
	BEHIND = 2 * LIMIT_BYTES / SECTOR_BYTES,
};

static unsigned calls;

/* The first region is launched, and fails when it lands; the second one fails at once. */
static int
put(struct target *t, uint64_t sector, const void *data, uint64_t bytes,
    struct ledger_parts *parts, struct err *e)
{
	(void)parts;
	return calls++ == 0
	           ? flight_write(t->flight, data, bytes, sector * SECTOR_BYTES, e)
	           : err_set(e, ERR_IO, "the second region");
}

static void
test_lands(void)
{
	static const struct ndz_header h = { .version = 5,
		.nregions = 2,
		.regions = { { BEHIND, REGION_SECTORS }, { 2 * BEHIND, REGION_SECTORS } } };
	uint8_t *bytes = aligned_alloc(4096, PIECE_BYTES);
	const struct install_config cfg = { .slice = 0 };
	struct target t = { .cfg = &cfg };
	const struct maps all = maps_one((struct range){ 0, UINT64_MAX });
	struct cursor c = { .t = &t, .h = &h, .maps = &all, .put = put };
	struct err e = { 0 };

	calls = 0;
	memset(bytes, 1, PIECE_BYTES);
	T_CHECK(disk_open(&t.disk, in_scratch("disk"), DISK_READ | DISK_WRITE | DISK_CREATE,
		    &e) == 0);
	T_CHECK(flight_new(&t.flight, t.disk, false, &e) == 0);
	if (t.flight == NULL) {
		skip("writes in flight", "this filesystem has no O_DIRECT");
	} else {
		T_CHECK(cursor_put_piece(&c, bytes, PIECE_BYTES, &e) == -1);
		T_CHECK(strcmp(e.text, "the second region") == 0);
		T_CHECK(calls == 2);
		/* A write that landed only now would tell its error now. */
		T_CHECK(target_land(&t, &e) == 0);
	}
	flight_free(t.flight);
	disk_close(t.disk, &e);
	free(bytes);
}

int
main(void)
{
	const struct rlimit limit = { LIMIT_BYTES, LIMIT_BYTES };

	scratch_init();
	signal(SIGXFSZ, SIG_IGN);
	T_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	test_lands();
	setenv("FRISBEE_NO_URING", "1", 1);
	test_lands();
	return t_done();
}
