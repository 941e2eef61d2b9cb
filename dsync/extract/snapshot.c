/* snapshot.c: runs the user's program that takes and drops snapshots.  extract.c calls this, in
 * its first thread. */
#include "dsync/extract/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "dsync/run/command.h"

enum { PATH_BYTES = 4096 };

int
snapshot_take(struct snapshot *s, const char *program, const char *device, struct err *e)
{
	const char *const argv[] = { program, "take", device, NULL };

	if (command_answer(argv, PATH_BYTES, &s->path, e) != 0)
		return -1;
	s->program = program;
	s->device = device;
	s->path[strcspn(s->path, "\n")] = '\0';
	if (s->path[0] == '/')
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s take %s: must print the path of the snapshot, which begins with /", program,
	    device);
}

void
snapshot_drop(struct snapshot *s)
{
	const char *const argv[] = { s->program, "drop", s->device, s->path, NULL };
	struct command *c;
	struct err e;

	if (s->program != NULL &&
	    (command_start(&c, argv, 0, &e) != 0 || command_end(c, &e) != 0))
		log_tell("%s: the snapshot may still be there: %s", s->device, e.text);
	free(s->path);
	memset(s, 0, sizeof *s);
}
