/* addresses.c: writes where images are served into a file.  daemon.c calls this once, when all
 * sessions are open, in the program's first thread. */
#include "frisbeed/addresses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/disk.h"

/* The line of a session, with its image unless it is the only one.  NULL: no memory. */
static char *
text_of(const struct session_view *s, bool alone)
{
	char *text;
	int n = alone ? asprintf(&text, "%s\n", s->stats.where)
	              : asprintf(&text, "%s %s\n", s->stats.where, s->image);

	return n < 0 ? NULL : text;
}

static int
write_all(const struct session_views *all, struct disk *f, struct err *e)
{
	uint64_t at = 0;
	int rc = 0;

	for (unsigned i = 0; i < all->n && rc == 0; i++) {
		const struct session_view *s = &all->session[i];
		if (s->stats.state == SESSION_FAILED)
			continue;
		char *text = text_of(s, all->n == 1);
		if (text == NULL)
			return err_nomem(e, "the addresses");
		size_t n = strlen(text);
		rc = disk_write(f, text, n + (all->n == 1), at, e);
		at += n;
		free(text);
	}
	return rc;
}

int
addresses_write(const struct session_views *all, const char *path, struct err *e)
{
	struct disk *f;
	struct err closing;

	if (path == NULL)
		return 0;
	if (disk_open(&f, path, DISK_WRITE | DISK_CREATE | DISK_TRUNC, e) != 0)
		return -1;
	int rc = write_all(all, f, e);
	if (disk_close(f, rc == 0 ? e : &closing) != 0)
		rc = -1;
	return rc;
}
