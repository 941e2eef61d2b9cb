/* cowsnap.c: takes and removes a snapshot by dm-snapshot.  snapshot.c calls this, in one thread.
 *
 * All devices are made before the freeze.  Until the device is a snapshot-origin, the snapshot
 * shows what the device has; its point in time is when the device changes its table, which waits for
 * writes that have begun, and freezes a filesystem on it.  (The kernel's document
 * device-mapper/snapshot.)
 */
#include "dsync/run/cowsnap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "dsync/run/freeze.h"

enum { CHUNK_SECTORS = 128 }; /* 64 KiB: a write copies as much as dm-era notes at once */

/* Give the device below its table back.  `table` is the one that NAME-dsync-real has. */
static int
restore(const struct cowsnap *s, const char *table, struct err *e)
{
	struct mapped now;

	if (mapper_table(&now, s->stack.below, e) == 0 &&
	    strcmp(now.target, "snapshot-origin") != 0)
		return 0;
	return mapper_replace(s->stack.below, table, e);
}

/* Remove what a run that was killed has left. */
static int
tidy_up(const struct cowsnap *s, struct err *e)
{
	char word[MAPPED_WORD_BYTES], *table;

	if (mapper_name(s->shown_as, word) && mapper_remove(s->shown_as, e) != 0)
		return -1;
	if (!mapper_name(s->real, word))
		return 0;
	if (mapper_text(s->real, &table, e) != 0)
		return -1;
	/* If that run was killed before the freeze, a table waits that uses the device. */
	mapper_unload(s->stack.below);
	int rc = restore(s, table, e);
	free(table);
	return rc == 0 ? mapper_remove(s->real, e) : rc;
}

/* Make the devices that the snapshot consists of.  Nothing that is in use changes. */
static int
prepare(struct cowsnap *s, const char *cow, uint64_t sectors, struct err *e)
{
	char line[MAPPED_LINE_BYTES];

	if (mapper_create(s->real, s->table, false, e) != 0)
		return -1;
	s->moved = true;
	snprintf(line, sizeof line, "0 %" PRIu64 " snapshot /dev/mapper/%s %s N %d", sectors,
	    s->real, cow, CHUNK_SECTORS);
	if (mapper_create(s->shown_as, line, true, e) != 0)
		return -1;
	s->shown = true;
	snprintf(line, sizeof line, "0 %" PRIu64 " snapshot-origin /dev/mapper/%s", sectors,
	    s->real);
	return mapper_load(s->stack.below, line, e);
}

/* The freeze: the tables change while nothing is written. */
static int
begin(struct cowsnap *s, struct err *e)
{
	bool two = strcmp(s->stack.top, s->stack.below) != 0;
	uint64_t began = clock_us();
	struct freeze top = { NULL };
	struct err late;

	if (two && freeze_begin(&top, s->stack.top, e) != 0)
		return -1;
	int rc = mapper_resume(s->stack.below, e);
	s->origin = rc == 0;
	if (freeze_end(&top, &late) != 0)
		*e = late, rc = -1;
	s->frozen_us = clock_us() - began;
	return rc;
}

/* Find the device and the names of those that a snapshot consists of. */
static int
look(struct cowsnap *s, const char *device, struct err *e)
{
	memset(s, 0, sizeof *s);
	if (mapper_stack(&s->stack, device, e) != 0 ||
	    mapper_beside(s->stack.below, "-dsync-real", s->real, e) != 0)
		return -1;
	return mapper_beside(s->stack.below, "-dsync-snapshot", s->shown_as, e);
}

int
cowsnap_tidy(const char *device, struct err *e)
{
	struct cowsnap s;

	return look(&s, device, e) == 0 ? tidy_up(&s, e) : -1;
}

int
cowsnap_take(struct cowsnap *s, const char *device, const char *cow, struct err *e)
{
	uint64_t sectors;

	if (look(s, device, e) != 0 || tidy_up(s, e) != 0 ||
	    mapper_size(s->stack.below, &sectors, e) != 0 ||
	    mapper_text(s->stack.below, &s->table, e) != 0 ||
	    prepare(s, cow, sectors, e) != 0)
		return -1;
	return begin(s, e);
}

void
cowsnap_end(struct cowsnap *s)
{
	struct err e;
	int rc = 0;

	if (s->moved && !s->origin)
		mapper_unload(s->stack.below);
	if (s->origin)
		rc = restore(s, s->table, &e);
	if (rc == 0 && s->shown)
		rc = mapper_remove(s->shown_as, &e);
	if (rc == 0 && s->moved)
		rc = mapper_remove(s->real, &e);
	if (rc != 0)
		log_tell("%s: a snapshot of it may still be there: %s", s->stack.below, e.text);
	free(s->table);
	memset(s, 0, sizeof *s);
}
