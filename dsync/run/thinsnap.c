/* thinsnap.c: takes, shows and deletes snapshots of volumes of dm-thin.  The source of change "thin"
 * and snapshot.c call this, in one thread.  (The kernel's document
 * device-mapper/thin-provisioning.) */
#include "dsync/run/thinsnap.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/random_bytes.h"
#include "common/disk/range.h"
#include "dsync/run/freeze.h"

enum { IDS_TRIED = 16, BLOCK_SECTORS_MAX = 1 << 21 /* of dm-thin */ };

int
thinsnap_tell(const char *pool, const char *message, struct err *e)
{
	return mapper_message(pool, message, e);
}

static int
delete_id(const char *pool, uint64_t id, struct err *e)
{
	char text[60];

	snprintf(text, sizeof text, "delete %" PRIu64, id);
	return mapper_message(pool, text, e);
}

/* Find the volume's number in its pool, and the pool's metadata device. */
static int
look(struct thinsnap *s, struct err *e)
{
	struct mapped volume, pool;
	uint64_t block;

	if (mapper_table(&volume, s->device, e) != 0 || mapper_table(&pool, s->pool, e) != 0)
		return -1;
	if (strcmp(volume.target, "thin") != 0 || volume.n < 2 ||
	    strcmp(pool.target, "thin-pool") != 0 || pool.n < 3)
		return err_set(e, ERR_ABSENT, "%s: is not a thin volume of the pool %s", s->device,
		    s->pool);
	if (number_uint(volume.args[1], 0, THINSNAP_ID_MAX, &s->volume, e) != 0 ||
	    number_uint(pool.args[2], 1, BLOCK_SECTORS_MAX, &block, e) != 0)
		return -1;
	s->sectors = volume.sectors;
	s->block_bytes = block * SECTOR_BYTES;
	if (mapper_beside(s->device, "-dsync", s->shown_as, e) != 0)
		return -1;
	return mapper_path(pool.args[0], s->metadata, e);
}

/* Remove what a run that was killed has left: the mapped device, and its snapshot.  A device of that
 * name that can be written is somebody else's. */
static void
tidy_up(struct thinsnap *s)
{
	struct mapped old;
	struct err e;
	uint64_t id;

	if (mapper_table(&old, s->shown_as, &e) != 0 || strcmp(old.target, "thin") != 0 ||
	    old.n < 2 || !mapper_is_read_only(s->shown_as))
		return;
	if (number_uint(old.args[1], 0, THINSNAP_ID_MAX, &id, &e) != 0 ||
	    mapper_remove(s->shown_as, &e) != 0 || delete_id(s->pool, id, &e) != 0)
		log_tell("%s: an older snapshot may still be there: %s", s->device, e.text);
}

/* Make the snapshot under a random number; the pool refuses one that is in use. */
static int
create(struct thinsnap *s, struct err *e)
{
	char text[80];
	uint32_t chance;
	int rc = -1;

	for (unsigned i = 0; i < IDS_TRIED && !s->taken; i++) {
		random_bytes(&chance, sizeof chance);
		s->id = chance & THINSNAP_ID_MAX;
		snprintf(text, sizeof text, "create_snap %" PRIu64 " %" PRIu64, s->id, s->volume);
		rc = mapper_message(s->pool, text, e);
		s->taken = rc == 0;
	}
	return rc;
}

/* Take the snapshot.  Nothing but the message is done while the devices are suspended. */
static int
take(struct thinsnap *s, const char *top, struct err *e)
{
	bool two = strcmp(top, s->device) != 0;
	uint64_t began = clock_us();
	struct freeze above = { NULL }, volume = { NULL };
	struct err late;

	if (two && freeze_begin(&above, top, e) != 0)
		return -1;
	int rc = freeze_begin(&volume, s->device, e);
	if (rc == 0)
		rc = create(s, e);
	if (freeze_end(&volume, &late) != 0)
		*e = late, rc = -1;
	if (freeze_end(&above, &late) != 0)
		*e = late, rc = -1;
	s->frozen_us = clock_us() - began;
	return rc;
}

static int
show(struct thinsnap *s, struct err *e)
{
	char table[MAPPED_LINE_BYTES];
	struct mapped volume;

	if (mapper_table(&volume, s->device, e) != 0)
		return -1;
	snprintf(table, sizeof table, "0 %" PRIu64 " thin %s %" PRIu64, s->sectors,
	    volume.args[0], s->id);
	int rc = mapper_create(s->shown_as, table, true, e);
	s->shown = rc == 0;
	return rc;
}

int
thinsnap_take(struct thinsnap *s, const char *device, const char *pool, const char *top,
    struct err *e)
{
	*s = (struct thinsnap){ .device = device, .pool = pool };
	if (look(s, e) != 0)
		return -1;
	tidy_up(s);
	return take(s, top, e) == 0 ? show(s, e) : -1;
}

void
thinsnap_end(struct thinsnap *s, bool stays)
{
	struct err e;

	if ((s->shown && mapper_remove(s->shown_as, &e) != 0) ||
	    (s->taken && !stays && delete_id(s->pool, s->id, &e) != 0))
		log_tell("%s: a snapshot of it may still be there: %s", s->device, e.text);
	s->shown = s->taken = false;
}

void
thinsnap_delete(const char *pool, uint64_t id, const char *device)
{
	struct err e;

	if (delete_id(pool, id, &e) != 0)
		log_tell("%s: a snapshot of it may still be there: %s", device, e.text);
}
