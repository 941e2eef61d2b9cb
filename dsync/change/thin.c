/* thin.c: the source of change "thin": a volume of dm-thin shares its blocks with its
 * snapshots, and thin_delta(8) says which of them are no longer shared.  The extract calls
 * this, in its first thread.
 *
 * Each state is a snapshot.  It is taken while the volume is suspended, so that it is one
 * moment, and the data is read from it.  A snapshot stays until its state is neither pending
 * nor the base.  (The kernel's document device-mapper/thin-provisioning.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/log.h"
#include "common/base/number.h"
#include "dsync/change/change.h"
#include "dsync/change/mapper.h"
#include "dsync/run/command.h"

enum {
	ID_MAX = (1 << 24) - 1, /* numbers of volumes in a pool have 24 bits */
	IDS_TRIED = 16,           /* random numbers tried for a snapshot */
	ANSWER_BYTES = 1 << 30, /* of thin_delta, at most */
	LINE_BYTES = 600,
};

struct thin {
	const struct change_job *job; /* borrowed */
	char metadata[MAPPED_WORD_BYTES]; /* path of the pool's metadata device */
	char snapshot[MAPPED_WORD_BYTES]; /* the mapped device that shows it */
	uint64_t volume, id;              /* their numbers in the pool */
	uint64_t sectors, block_bytes;   /* of the volume; of a block of the pool */
	bool taken, shown, kept;          /* snapshot made; device made; snapshot to stay */
};

static int
tell_pool(const struct change_job *job, struct err *e, const char *fmt, uint64_t a, uint64_t b)
{
	char text[LINE_BYTES];

	if (strcmp(fmt, "create_snap") == 0)
		snprintf(text, sizeof text, "create_snap %" PRIu64 " %" PRIu64, a, b);
	else if (strcmp(fmt, "delete") == 0)
		snprintf(text, sizeof text, "delete %" PRIu64, a);
	else
		snprintf(text, sizeof text, "%s", fmt);
	return mapper_message(job->args, text, e);
}

/* Find the volume's number in its pool, and the pool's metadata device. */
static int
look(struct thin *s, struct err *e)
{
	struct mapped volume, pool;
	uint64_t block;

	if (mapper_table(&volume, s->job->device, e) != 0 ||
	    mapper_table(&pool, s->job->args, e) != 0)
		return -1;
	if (strcmp(volume.target, "thin") != 0 || volume.n < 2 ||
	    strcmp(pool.target, "thin-pool") != 0 || pool.n < 3)
		return err_set(e, ERR_USAGE, "%s: is not a thin volume of the pool %s",
		    s->job->device, s->job->args);
	if (number_uint(volume.args[1], 0, ID_MAX, &s->volume, e) != 0 ||
	    number_uint(pool.args[2], 1, STREAM_BLOCK_MAX / SECTOR_BYTES, &block, e) != 0)
		return -1;
	s->sectors = volume.sectors;
	s->block_bytes = block * SECTOR_BYTES;
	const char *name = strrchr(s->job->device, '/');
	snprintf(s->snapshot, sizeof s->snapshot, "%.100s-dsync",
	    name != NULL ? name + 1 : s->job->device);
	return mapper_path(pool.args[0], s->metadata, e);
}

/* Remove what a run that was killed has left: the mapped device, and its snapshot. */
static void
tidy_up(struct thin *s)
{
	struct mapped old;
	struct err e;
	uint64_t id;

	if (mapper_table(&old, s->snapshot, &e) != 0 || old.n < 2)
		return;
	if (number_uint(old.args[1], 0, ID_MAX, &id, &e) != 0 ||
	    mapper_remove(s->snapshot, &e) != 0 ||
	    tell_pool(s->job, &e, "delete", id, 0) != 0)
		log_tell("%s: an older snapshot may still be there: %s", s->job->device, e.text);
}

static int
new_id(uint64_t *id, struct err *e)
{
	uint32_t chance;

	if (getrandom(&chance, sizeof chance, 0) != sizeof chance)
		return err_os(e, "random numbers");
	*id = chance & ID_MAX;
	return 0;
}

/* Take the snapshot.  Nothing but the message is done while the volume is suspended. */
static int
take(struct thin *s, struct err *e)
{
	struct err late;
	int rc = mapper_suspend(s->job->device, e);

	if (rc != 0)
		return -1;
	/* The pool refuses a number that is in use. */
	for (unsigned i = 0; i < IDS_TRIED && !s->taken; i++) {
		rc = new_id(&s->id, e);
		if (rc == 0)
			rc = tell_pool(s->job, e, "create_snap", s->id, s->volume);
		s->taken = rc == 0;
	}
	if (mapper_resume(s->job->device, &late) != 0)
		*e = late, rc = -1;
	return rc;
}

static int
show(struct thin *s, struct err *e)
{
	char table[LINE_BYTES];
	struct mapped volume;

	if (mapper_table(&volume, s->job->device, e) != 0)
		return -1;
	snprintf(table, sizeof table, "0 %" PRIu64 " thin %s %" PRIu64, s->sectors,
	    volume.args[0], s->id);
	int rc = mapper_create(s->snapshot, table, true, e);
	s->shown = rc == 0;
	return rc;
}

static void
thin_close(void *self)
{
	struct thin *s = self;
	struct err e;

	if ((s->shown && mapper_remove(s->snapshot, &e) != 0) ||
	    (s->taken && !s->kept && tell_pool(s->job, &e, "delete", s->id, 0) != 0))
		log_tell("%s: a snapshot of it may still be there: %s", s->job->device, e.text);
	free(s);
}

static int
thin_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	struct thin *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "thin");
	s->job = job;
	int rc = job->args[0] != '\0'
	             ? look(s, e)
	             : err_set(e, ERR_USAGE, "--since=thin: the pool is missing");
	if (rc == 0) {
		tidy_up(s);
		rc = take(s, e);
	}
	if (rc == 0)
		rc = show(s, e);
	if (rc != 0) {
		thin_close(s);
		return -1;
	}
	about->block_bytes = (uint32_t)(s->block_bytes & -s->block_bytes);
	about->cumulative = true;
	snprintf(about->from, sizeof about->from, "/dev/mapper/%s", s->snapshot);
	*self = s;
	return 0;
}

/* Parse one element of the answer.  Blocks that neither snapshot has appear in no element. */
static int
take_element(const struct thin *s, const char *text, size_t n, struct rangeset *to,
    struct err *e)
{
	static const char *const differs[] = { "different ", "left_only ", "right_only " };
	uint64_t begin, length, blocks = s->sectors * SECTOR_BYTES / s->block_bytes + 1;

	for (size_t i = 0; i < sizeof differs / sizeof *differs; i++) {
		size_t len = strlen(differs[i]);
		if (n < len || memcmp(text, differs[i], len) != 0)
			continue;
		if (!mapper_xml_number(text, n, "begin", &begin) ||
		    !mapper_xml_number(text, n, "length", &length) ||
		    !range_within((struct range){ begin, length }, blocks))
			return err_set(e, ERR_FORMAT,
			    "thin_delta: it prints blocks beyond the end of the "
			    "device");
		return rangeset_add(to,
		    (struct range){ begin * s->block_bytes, length * s->block_bytes }, e);
	}
	return 0;
}

/* Parse the whole answer; the blocks must have the size of this pool's. */
static int
take_answer(const struct thin *s, const char *text, struct rangeset *to, struct err *e)
{
	uint64_t block = 0;
	bool whole = false;
	int rc = 0;

	for (const char *at = text; rc == 0 && (at = strchr(at, '<')) != NULL; at++) {
		size_t n = strcspn(at, ">");
		if (strncmp(at, "<superblock", 11) == 0)
			mapper_xml_number(at, n, "data_block_size", &block);
		else if (strncmp(at, "</superblock", 12) == 0)
			whole = true;
		else
			rc = take_element(s, at + 1, n - 1, to, e);
	}
	if (rc == 0 && (!whole || block * SECTOR_BYTES != s->block_bytes))
		rc = err_set(e, ERR_FORMAT, "thin_delta: its output is not understood");
	return rc;
}

static int
ask(struct thin *s, const char *base, struct rangeset *changed, struct err *e)
{
	char number[24], *answer = NULL;
	const char *const argv[] = { "thin_delta", "-m", "--thin1", base, "--thin2", number,
		s->metadata, NULL };
	struct err late;

	snprintf(number, sizeof number, "%" PRIu64, s->id);
	/* A metadata snapshot left by a run that was killed would be in the way. */
	tell_pool(s->job, &late, "release_metadata_snap", 0, 0);
	if (tell_pool(s->job, e, "reserve_metadata_snap", 0, 0) != 0)
		return -1;
	int rc = command_answer(argv, ANSWER_BYTES, &answer, e);
	if (tell_pool(s->job, &late, "release_metadata_snap", 0, 0) != 0 && rc == 0)
		*e = late, rc = -1;
	if (rc == 0)
		rc = take_answer(s, answer, changed, e);
	free(answer);
	return rc;
}

static int
thin_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct thin *s = self;
	struct rangeset changed;

	rangeset_init(&changed);
	int rc = ask(s, base->token, &changed, e);
	rangeset_seal(&changed);
	if (rc == 0)
		rc = same_but(sink, &changed, e);
	rangeset_free(&changed);
	return rc;
}

static int
thin_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES], struct err *e)
{
	struct thin *s = self;

	(void)id, (void)e;
	snprintf(token, BASE_TOKEN_BYTES, "%" PRIu64, s->id);
	s->kept = true;
	return 0;
}

static void
thin_dropped(const struct change_job *job, const struct base *base)
{
	struct err e;
	uint64_t id;

	if (number_uint(base->token, 0, ID_MAX, &id, &e) != 0 ||
	    tell_pool(job, &e, "delete", id, 0) != 0)
		log_tell("%s: a snapshot of it may still be there: %s", job->device, e.text);
}

const struct change_kind change_thin = {
	.name = "thin",
	.args = "POOL",
	.about = "what differs between snapshots of a thin volume; POOL is its pool",
	.has_bases = true,
	.open = thin_open,
	.same = thin_same,
	.keep = thin_keep,
	.dropped = thin_dropped,
	.close = thin_close,
};
