/* Which chunks the state of an installation may say to be on the target: those of which
 * nothing remains to be done. */
#include "imageunzip/install/resume.h"

#include <unistd.h>

#include "tests/t.h"
#include "tests/unit/memdisk.h"
#include "tests/unit/scratch.h"

enum { CHUNK = 3, SECTORS = 100 };

/* Does the state have a chunk after it was written? */
static bool
is_noted(uint32_t number, uint32_t firstsect, bool owes)
{
	static const struct state_of of = { { 1 }, 1000, 77 << 20, { 5 } };
	static const uint8_t id[BOOT_AREA_ID_BYTES] = { 9 };
	struct mem m = mem_of(NULL, 77 << 20);
	struct install_config cfg = { .in_place = true }; /* saved after each chunk */
	struct target t = { .cfg = &cfg, .disk = mem_disk(&m, DISK_FILE, 512) };
	struct resume r = { .target = &t };
	struct ndz_header at = { .firstsect = firstsect, .lastsect = firstsect + SECTORS };
	struct job j = { .at = &at, .number = number, .owes = owes };
	struct err e;

	unlink("state");
	T_CHECK(state_open(&r.state, "state", &e) == 0);
	T_CHECK(state_begin(r.state, &of, id, &e) == 0);
	T_CHECK(resume_note(&r, &j, &e) == 0);
	bool noted = state_has(r.state, number);
	state_close(r.state);
	disk_close(t.disk, &e);
	return noted;
}

int
main(void)
{
	scratch_init();
	T_CHECK(chdir(scratch_dir) == 0);
	T_CHECK(is_noted(CHUNK, BOOT_AREA_SECTORS, false));
	/* Its free space waits to be filled: the next run would not fill it. */
	T_CHECK(!is_noted(CHUNK, BOOT_AREA_SECTORS, true));
	/* Its data is in the boot area, which is in memory. */
	T_CHECK(!is_noted(CHUNK, BOOT_AREA_SECTORS - 1, false));
	/* It shows that the state is of this image. */
	T_CHECK(!is_noted(0, BOOT_AREA_SECTORS, false));
	return t_done();
}
