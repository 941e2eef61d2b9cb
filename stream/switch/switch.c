/* switch.c: makes a device of the device mapper, with its partitions, and exchanges the table
 * under a mounted filesystem.  streamswitch calls this, in its one thread. */
#include "stream/switch/switch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/disk/ptable.h"
#include "stream/nbd/nbd.h"
#include "stream/switch/block.h"
#include "stream/switch/devmap.h"
#include "stream/switch/memory.h"

/* Names. */

static int
check_name(const char *name, struct err *e)
{
	if (strlen(name) > SWITCH_NAME_MAX)
		return err_set(e, ERR_USAGE, "%s: has more than %d characters", name,
		    SWITCH_NAME_MAX);
	return 0;
}

static void
part_name(char out[DEVMAP_NAME_CAP], const char *name, unsigned number)
{
	size_t n = strlen(name);
	bool digit = n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9';

	snprintf(out, DEVMAP_NAME_CAP, "%s%s%u", name, digit ? "p" : "", number);
}

static void
node_path(char out[PATH_MAX], const char *name)
{
	snprintf(out, PATH_MAX, "/dev/mapper/%s", name);
}

/* /dev/mapper/NAME, as udev would make it; where udev runs it makes the same. */
static int
link_node(const char *name, dev_t number, struct err *e)
{
	char path[PATH_MAX], to[32];

	node_path(path, name);
	snprintf(to, sizeof to, "../dm-%u", minor(number));
	/* What an earlier device of this name has left may lead to another device. */
	unlink(path);
	if (symlink(to, path) != 0 && errno != EEXIST)
		return err_os(e, "%s", path);
	return 0;
}

/* Making and removing. */

static int
remove_one(int fd, const char *name, struct err *e)
{
	char path[PATH_MAX];

	if (devmap_remove(fd, name, e) != 0)
		return -1;
	node_path(path, name);
	unlink(path);
	return 0;
}

static int
fill_new(int fd, const char *name, dev_t number, const struct linear *t, struct err *e)
{
	if (devmap_load(fd, name, t, e) != 0 || devmap_resume(fd, name, e) != 0)
		return -1;
	return link_node(name, number, e);
}

static int
make_one(int fd, const char *name, const char *uuid, const struct linear *t, dev_t *number,
    struct err *e)
{
	struct err ignored;

	if (devmap_create(fd, name, uuid, number, e) != 0)
		return -1;
	if (fill_new(fd, name, *number, t, e) == 0)
		return 0;
	remove_one(fd, name, &ignored);
	return -1;
}

static int
make_part(int fd, const char *name, dev_t onto, const struct partition *p, struct err *e)
{
	struct linear t = { .sectors = p->sectors.len, .first = p->sectors.off, .onto = onto };
	char own[DEVMAP_NAME_CAP], uuid[DEVMAP_UUID_CAP];
	dev_t number;

	part_name(own, name, p->number);
	snprintf(uuid, sizeof uuid, "part%u-frisbee-%s", p->number, name);
	return make_one(fd, own, uuid, &t, &number, e);
}

static int
read_table(struct ptable *t, const char *name, struct err *e)
{
	char path[PATH_MAX];
	struct disk *d;
	struct err ignored; /* it is only read */

	node_path(path, name);
	if (disk_open(&d, path, DISK_READ, e) != 0)
		return -1;
	int rc = ptable_read(t, d, e);
	disk_close(d, &ignored);
	return rc;
}

static int
make_parts(int fd, const char *name, dev_t onto, unsigned *made, struct err *e)
{
	struct ptable t;
	int rc = 0;

	if (read_table(&t, name, e) != 0)
		return -1;
	for (unsigned i = 0; i < t.nparts && rc == 0; i++)
		rc = make_part(fd, name, onto, &t.parts[i], e);
	*made = t.nparts;
	ptable_free(&t);
	return rc;
}

/* Does a device of this name lead to the device `onto`?  Somebody else may have made one whose name is
 * like that of a partition. */
static bool
is_part(int fd, const char *name, dev_t onto)
{
	struct linear t;
	struct err ignored; /* such a device is not one of ours */

	return devmap_table(fd, name, &t, NULL, &ignored) == 0 && t.onto == onto;
}

/* Remove the partitions of NAME that are there.  After an error, which is returned, the other
 * ones are removed all the same. */
static int
remove_parts(int fd, const char *name, struct err *e)
{
	char own[DEVMAP_NAME_CAP];
	struct linear whole;
	struct err why;
	dev_t number;
	int rc = 0;

	/* Nothing can lead to a device without a table. */
	if (devmap_table(fd, name, &whole, &number, &why) != 0)
		return 0;
	for (unsigned i = 1; i <= PTABLE_PARTS_MAX; i++) {
		part_name(own, name, i);
		if (!is_part(fd, own, number))
			continue;
		if (remove_one(fd, own, &why) != 0 && rc == 0) {
			*e = why;
			rc = -1;
		}
	}
	return rc;
}

static int
remove_all(int fd, const char *name, struct err *e)
{
	if (remove_parts(fd, name, e) != 0)
		return -1;
	return remove_one(fd, name, e);
}

static int
make(int fd, const char *name, const struct block *b, bool parts, unsigned *made, struct err *e)
{
	struct linear t = { .sectors = b->sectors, .onto = b->number };
	char uuid[DEVMAP_UUID_CAP];
	struct err ignored;
	dev_t number;

	*made = 0;
	snprintf(uuid, sizeof uuid, "frisbee-%s", name);
	if (make_one(fd, name, uuid, &t, &number, e) != 0)
		return -1;
	if (!parts || make_parts(fd, name, number, made, e) == 0)
		return 0;
	remove_all(fd, name, &ignored);
	return -1;
}

int
switch_make(const char *name, const char *device, bool parts, unsigned *made, struct err *e)
{
	struct block b;
	int rc = -1;

	if (check_name(name, e) != 0 || block_open(&b, device, e) != 0)
		return -1;
	int fd = devmap_open(e);
	if (fd >= 0) {
		rc = make(fd, name, &b, parts, made, e);
		close(fd);
	}
	block_close(&b);
	return rc;
}

int
switch_remove(const char *name, struct err *e)
{
	if (check_name(name, e) != 0)
		return -1;
	int fd = devmap_open(e);
	if (fd < 0)
		return -1;
	int rc = remove_all(fd, name, e);
	close(fd);
	return rc;
}

/* Moving. */

struct mover {
	const struct switch_move *m;
	int fd;              /* of the device mapper */
	struct block to;
	struct linear table; /* of NAME, before */
	int sector_bytes;    /* of NAME */
};

static void
mover_close(struct mover *v)
{
	block_close(&v->to);
	if (v->fd >= 0)
		close(v->fd);
}

static int
sector_bytes_of(const char *name, int *bytes, struct err *e)
{
	char path[PATH_MAX];
	struct block b;

	node_path(path, name);
	if (block_open(&b, path, e) != 0)
		return -1;
	*bytes = b.sector_bytes;
	block_close(&b);
	return 0;
}

static int
mover_open(struct mover *v, const struct switch_move *m, struct err *e)
{
	*v = (struct mover){ .m = m, .fd = -1, .to.fd = -1 };
	if (check_name(m->name, e) != 0)
		return -1;
	v->fd = devmap_open(e);
	if (v->fd >= 0 && devmap_table(v->fd, m->name, &v->table, NULL, e) == 0 &&
	    sector_bytes_of(m->name, &v->sector_bytes, e) == 0 &&
	    block_open(&v->to, m->device, e) == 0)
		return 0;
	mover_close(v);
	return -1;
}

static int
check_fits(const struct mover *v, struct err *e)
{
	const struct switch_move *m = v->m;

	if (m->nbd != NULL && !nbd_is_attached(m->nbd))
		return err_set(e, ERR_ABSENT, "%s: is not attached", m->nbd);
	if (v->table.first != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "/dev/mapper/%s: begins at sector %" PRIu64
		    " of the device below it, so it is a partition",
		    m->name, v->table.first);
	if (v->to.sectors < v->table.sectors)
		return err_set(e, ERR_REFUSED,
		    "%s: has %" PRIu64 " sectors, fewer than the %" PRIu64 " of /dev/mapper/%s",
		    m->device, v->to.sectors, v->table.sectors, m->name);
	if (v->to.sector_bytes > v->sector_bytes)
		return err_set(e, ERR_REFUSED,
		    "%s: has sectors of %d bytes, larger than those of /dev/mapper/%s (%d)",
		    m->device, v->to.sector_bytes, m->name, v->sector_bytes);
	return 0;
}

/* Go on with the table in effect.  Where the kernel has suspended the device and could not take the new
 * table then, it leaves the device suspended, and with it the filesystem on it. */
static void
go_back(struct mover *v)
{
	struct err ignored; /* the first error counts */

	devmap_unload(v->fd, v->m->name);
	devmap_resume(v->fd, v->m->name, &ignored);
}

/* The new device is flushed, so that what was written to it in other ways is on its medium. */
static int
exchange(struct mover *v, struct switch_moved *r, struct err *e)
{
	struct linear t = { .sectors = v->table.sectors, .onto = v->to.number };

	if (devmap_load(v->fd, v->m->name, &t, e) != 0)
		return -1;
	if (fsync(v->to.fd) != 0) {
		err_os(e, "%s", v->m->device);
		devmap_unload(v->fd, v->m->name);
		return -1;
	}
	uint64_t began = clock_us();
	if (devmap_resume(v->fd, v->m->name, e) != 0) {
		go_back(v);
		return -1;
	}
	r->pause_us = clock_us() - began;
	r->moved = true;
	return 0;
}

/* The kernel has answered the last request to the NBD device, or it would not have exchanged the
 * table. */
static int
disconnect(struct mover *v, struct switch_moved *r, struct err *e)
{
	if (v->m->nbd == NULL)
		return 0;
	r->disconnected = nbd_detach(v->m->nbd, e) == 0;
	return r->disconnected ? 0 : -1;
}

int
switch_move(const struct switch_move *m, struct switch_moved *r, struct err *e)
{
	struct mover v;

	*r = (struct switch_moved){ .moved = false };
	if (mover_open(&v, m, e) != 0)
		return -1;
	int rc = -1;
	if (check_fits(&v, e) == 0 && memory_lock(e) == 0 && exchange(&v, r, e) == 0)
		rc = disconnect(&v, r, e);
	mover_close(&v);
	return rc;
}

int
switch_below(const char *name, char buf[BLOCK_NAME_CAP], struct err *e)
{
	struct linear t;
	int fd = devmap_open(e);

	if (fd < 0)
		return -1;
	int rc = devmap_table(fd, name, &t, NULL, e);
	close(fd);
	return rc == 0 ? block_name(t.onto, buf, e) : -1;
}
