/* claim.c: an installation into one partition of a disk (--only) has a claim while it runs.
 * The disk itself cannot be opened exclusively while one of its partitions is mounted, so
 * the partitions concerned are opened exclusively.  parts.c calls this, in the thread that
 * opens and ends the installation. */
#include "common/disk/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/disk/inuse.h"

static int
hold(struct claim *c, const char *path, const char *name, struct err *e)
{
	int fd = open(name, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd < 0 && errno == EBUSY)
		return err_set(e, ERR_REFUSED, "%s is in use: another program holds %s",
		    path, name);
	/* A partition without a node in /dev is passed over: nobody can open it by name. */
	if (fd >= 0)
		c->fd[c->n++] = fd;
	return 0;
}

int
claim_sectors(struct claim *c, const char *path, struct range sectors, struct err *e)
{
	char names[CLAIM_MAX][INUSE_NAME_CAP];
	struct stat st;

	c->n = 0;
	if (stat(path, &st) != 0)
		return err_os(e, "%s", path);
	if (inuse_check_area("", path, &st, sectors, e) != 0)
		return -1;
	unsigned n = inuse_partitions("", &st, sectors, names, CLAIM_MAX);
	for (unsigned i = 0; i < n; i++)
		if (hold(c, path, names[i], e) != 0) {
			claim_release(c);
			return -1;
		}
	return 0;
}

void
claim_release(struct claim *c)
{
	while (c->n > 0)
		close(c->fd[--c->n]);
}
