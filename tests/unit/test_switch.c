/* A device whose table is exchanged, by a device mapper that is played here: it leads
 * to the other disk, or, where the kernel refuses at any step, to the one that it had;
 * and it never stays suspended, since a filesystem is on it. */
#include "stream/switch/switch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "stream/switch/devmap.h"
#include "tests/unit/scratch.h"

enum { SECTORS = 4096 };

/* Steps that the kernel may refuse. */
enum step { NONE, LOAD, RESUME };

static struct {
	enum step refused;
	struct linear active, loaded;
	bool is_loaded, suspended;
} dm;
static struct err e;

int
devmap_open(struct err *why)
{
	int fd = open(in_scratch("dm"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : err_os(why, "dm");
}

int
devmap_load(int fd, const char *name, const struct linear *t, struct err *why)
{
	(void)fd;
	if (dm.refused == LOAD)
		return err_set(why, ERR_IO, "%s: is held", name);
	dm.loaded = *t;
	dm.is_loaded = true;
	return 0;
}

void
devmap_unload(int fd, const char *name)
{
	(void)fd, (void)name;
	dm.is_loaded = false;
}

/* The kernel suspends the device, then takes the loaded table.  When it cannot, the
 * table is gone, and the device stays suspended until it is resumed without one. */
int
devmap_resume(int fd, const char *name, struct err *why)
{
	(void)fd;
	if (dm.is_loaded && dm.refused == RESUME) {
		dm.suspended = true;
		dm.is_loaded = false;
		return err_set(why, ERR_IO, "%s: cannot be resumed", name);
	}
	if (dm.is_loaded)
		dm.active = dm.loaded;
	dm.is_loaded = false;
	dm.suspended = false;
	return 0;
}

int
devmap_table(int fd, const char *name, struct linear *t, dev_t *device, struct err *why)
{
	(void)fd, (void)name, (void)why;
	*t = dm.active;
	if (device != NULL)
		*device = makedev(253, 0);
	return 0;
}

int
devmap_create(int fd, const char *name, const char *uuid, dev_t *device, struct err *why)
{
	(void)fd, (void)uuid, (void)device;
	return err_set(why, ERR_IO, "%s: is not made here", name);
}

int
devmap_remove(int fd, const char *name, struct err *why)
{
	(void)fd;
	return err_set(why, ERR_IO, "%s: is not removed here", name);
}

/* Block devices: files, of which "disk" has number 8:0. */
int
block_open(struct block *b, const char *path, struct err *why)
{
	const char *last = strrchr(path, '/');

	*b = (struct block){ .fd = devmap_open(why),
		.number = strcmp(last, "/disk") == 0 ? makedev(8, 0) : makedev(253, 0),
		.sectors = SECTORS,
		.sector_bytes = 512 };
	return b->fd >= 0 ? 0 : -1;
}

void
block_close(struct block *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

int
block_name(dev_t number, char buf[BLOCK_NAME_CAP], struct err *why)
{
	(void)buf;
	return err_set(why, ERR_IO, "%u: has no name here", major(number));
}

/* Who is not root may not do these two. */
int
mlockall(int flags)
{
	(void)flags;
	return 0;
}

int
prctl(int option, ...)
{
	(void)option;
	return 0;
}

static bool
leads_to(dev_t number)
{
	return dm.active.onto == number && dm.active.sectors == SECTORS &&
	       dm.active.first == 0;
}

/* What came of it: whether the device leads to the new disk, and is not suspended. */
static bool
move(enum step refused)
{
	const struct switch_move m = { .name = "root", .device = "/dev/disk" };
	const dev_t nbd = makedev(43, 0), disk = makedev(8, 0);
	struct switch_moved r;

	memset(&dm, 0, sizeof dm);
	dm.refused = refused;
	dm.active = (struct linear){ .sectors = SECTORS, .onto = nbd };
	int rc = switch_move(&m, &r, &e);
	T_CHECK(r.moved == (rc == 0));
	T_CHECK(leads_to(r.moved ? disk : nbd));
	T_CHECK(!dm.is_loaded);
	T_CHECK(!dm.suspended);
	return r.moved;
}

int
main(void)
{
	scratch_init();
	T_CHECK(move(NONE));
	T_CHECK(!move(LOAD));
	T_CHECK(strstr(e.text, "is held") != NULL);
	T_CHECK(!move(RESUME));
	T_CHECK(strstr(e.text, "cannot be resumed") != NULL);
	scratch_done();
	return t_done();
}
