/* era.c: the source of change "era": the device mapper's target of that name notes for each
 * block in which era it was written last.  The extract calls this, in its first thread.
 *
 * A checkpoint begins a new era, and the token of a state names the first era after it.  What
 * was written since is read by era_invalidate(8) from a snapshot of the metadata, while
 * the device is in use.  (The kernel's document device-mapper/era.)
 *
 * The era target does not see what is written to the device beneath it.  For this reason a
 * token also names the history of the device (dsync/track/record.h): an activation of which it is
 * not known that nothing was missed begins another history, and everything counts as changed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/child.h"
#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/timed.h"
#include "dsync/change/change.h"
#include "dsync/run/mapper.h"
#include "dsync/track/record.h"

enum {
	CHECKPOINTS_MAX = 200, /* times that a new era is asked for: about 4 s in all */
	NAP_US = 20000,        /* the pause between two of these requests */
	ANSWER_BYTES = 1 << 30, /* of era_invalidate, at most */
	/* Indices in the words of the status. */
	STATUS_ERA = 2,  /* the era */
	STATUS_HELD = 3, /* the block of the metadata's snapshot, or "-" */
};

struct era {
	const struct change_job *job; /* borrowed */
	char history[MAPPED_WORD_BYTES]; /* record_identity() */
	uint64_t first; /* the era that began with open() */
	uint64_t block_bytes;
	bool held; /* a metadata snapshot that this program took exists */
};

static int
get_era(const struct era *s, uint64_t *era, bool *held, struct err *e)
{
	struct mapped m;

	if (mapper_status(&m, s->job->device, e) != 0)
		return -1;
	if (strcmp(m.target, "era") != 0 || m.n <= STATUS_HELD)
		return err_set(e, ERR_UNSUPPORTED, "%s: is not tracked by dm-era: it is a \"%s\" "
			"device, or its metadata has failed", s->job->device, m.target);
	*held = strcmp(m.args[STATUS_HELD], "-") != 0;
	return number_uint(m.args[STATUS_ERA], 0, UINT32_MAX, era, e);
}

/* Begin a new era.  The message only asks for one, so it is repeated until the era counts up. */
static int
checkpoint(struct era *s, struct err *e)
{
	uint64_t before, now;
	bool held;

	if (get_era(s, &before, &held, e) != 0)
		return -1;
	/* A metadata snapshot that exists now is left from a run that was killed. */
	if (held && mapper_message(s->job->device, "drop_metadata_snap", e) != 0)
		return -1;
	for (unsigned i = 0; i < CHECKPOINTS_MAX; i++) {
		if (cancel_check(e) != 0 ||
		    mapper_message(s->job->device, "checkpoint", e) != 0 ||
		    get_era(s, &now, &held, e) != 0)
			return -1;
		if (now > before) {
			s->first = now;
			return 0;
		}
		timed_sleep(NAP_US);
	}
	return err_set(e, ERR_IO,
	    "%s: dm-era did not begin a new era when it was asked to", s->job->device);
}

static int
look(struct era *s, struct err *e)
{
	char name[MAPPED_WORD_BYTES];
	struct mapped m;
	uint64_t sectors;

	if (mapper_table(&m, s->job->device, e) != 0)
		return -1;
	if (strcmp(m.target, "era") != 0 || m.n < 3)
		return err_set(e, ERR_ABSENT, "%s: is not tracked by dm-era", s->job->device);
	if (number_uint(m.args[2], 1, STREAM_BLOCK_MAX / SECTOR_BYTES, &sectors, e) != 0)
		return -1;
	s->block_bytes = sectors * SECTOR_BYTES;
	if (m.sectors * SECTOR_BYTES != s->job->device_bytes)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: is only partly tracked by dm-era", s->job->device);
	if (!mapper_name(s->job->device, name))
		return err_set(e, ERR_ABSENT, "%s: is not there", s->job->device);
	return record_identity(s->job->folder, name, s->history, e);
}

/* The largest power of two that divides the block size. */
static uint32_t
unit_of(uint64_t block_bytes)
{
	return (uint32_t)(block_bytes & -block_bytes);
}

static int
era_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	struct era *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "era");
	s->job = job;
	if (job->args[0] == '\0') {
		free(s);
		return err_set(
		    e, ERR_USAGE, "--since=era: the metadata device is missing");
	}
	if (look(s, e) != 0 || checkpoint(s, e) != 0) {
		free(s);
		return -1;
	}
	about->block_bytes = unit_of(s->block_bytes);
	about->cumulative = true;
	*self = s;
	return 0;
}

static void
drop_snapshot(struct era *s)
{
	struct err e;

	if (s->held && mapper_message(s->job->device, "drop_metadata_snap", &e) != 0)
		log_tell("%s: the snapshot of its metadata cannot be removed: %s",
		    s->job->device, e.text);
	s->held = false;
}

static void
era_close(void *self)
{
	drop_snapshot(self);
	free(self);
}

/* Parse one element, <block block="N"/> or <range begin="N" end="N"/>; the block `end` is not
 * part of the range. */
static int
take_element(const struct era *s, const char *text, size_t n, struct rangeset *to,
    struct err *e)
{
	uint64_t from, end, blocks = s->job->device_bytes / s->block_bytes + 1;

	if (n >= 6 && memcmp(text, "blocks", 6) == 0)
		return 0;
	if (n > 5 && memcmp(text, "block", 5) == 0 && mapper_xml_number(text, n, "block", &from))
		end = from + 1;
	else if (n < 5 || memcmp(text, "range", 5) != 0 ||
	         !mapper_xml_number(text, n, "begin", &from) ||
	         !mapper_xml_number(text, n, "end", &end))
		return err_set(
		    e, ERR_FORMAT, "era_invalidate: its output is not understood");
	if (from >= end || from > blocks || end > blocks)
		return err_set(e, ERR_FORMAT,
		    "era_invalidate: it prints blocks beyond the end of the device");
	return rangeset_add(
	    to, (struct range){ from * s->block_bytes, (end - from) * s->block_bytes }, e);
}

/* Parse the whole answer, which must begin with <blocks> and end with </blocks>. */
static int
take_answer(const struct era *s, const char *text, struct rangeset *to, struct err *e)
{
	bool whole = false;
	int rc = strncmp(text, "<blocks", 7) == 0
	             ? 0
	             : err_set(e, ERR_FORMAT,
			   "era_invalidate: its output is not understood");

	for (const char *at = text; rc == 0 && (at = strchr(at, '<')) != NULL; at++) {
		size_t n = strcspn(at, ">");
		if (strncmp(at, "</blocks", 8) == 0)
			whole = true;
		else
			rc = take_element(s, at + 1, n - 1, to, e);
	}
	if (rc == 0 && !whole)
		rc = err_set(e, ERR_FORMAT, "era_invalidate: its output is cut short");
	return rc;
}

static int
ask(struct era *s, uint64_t since, struct rangeset *changed, struct err *e)
{
	char number[24], *answer;
	const char *const argv[] = { "era_invalidate", "--metadata-snapshot", "--written-since",
		number, s->job->args, NULL };

	snprintf(number, sizeof number, "%" PRIu64, since);
	if (mapper_message(s->job->device, "take_metadata_snap", e) != 0)
		return -1;
	s->held = true;
	int rc = child_answer(argv, ANSWER_BYTES, &answer, e);
	drop_snapshot(s);
	if (rc == 0)
		rc = take_answer(s, answer, changed, e);
	free(answer);
	return rc;
}

/* Read a token, ERA:GENERATION. */
static int
read_token(const struct era *s, const struct base *base, uint64_t *since, struct err *e)
{
	char number[MAPPED_WORD_BYTES];
	size_t n = strcspn(base->token, ":");

	snprintf(number, sizeof number, "%.*s", (int)n, base->token);
	if (base->token[n] != ':' || strcmp(base->token + n + 1, s->history) != 0)
		return err_set(e, ERR_REFUSED,
		    "%s was activated again since the last extract, and it is not "
		    "known what was written while it was inactive",
		    s->job->device);
	if (number_uint(number, 0, UINT32_MAX, since, e) != 0)
		return -1;
	if (*since > s->first)
		return err_set(e, ERR_REFUSED, "%s: its metadata is older than the last extract",
		    s->job->device);
	return 0;
}

static int
era_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct era *s = self;
	struct rangeset changed;
	uint64_t since = 0;

	rangeset_init(&changed);
	int rc = read_token(s, base, &since, e);
	if (rc == 0)
		rc = ask(s, since, &changed, e);
	rangeset_seal(&changed);
	if (rc == 0)
		rc = same_sink_add_all_but(sink, &changed, e);
	rangeset_free(&changed);
	return rc;
}

/* The device was quiet if no block was written in the eras since open(). */
static int
era_quiet(void *self, struct err *e)
{
	struct era *s = self;
	struct rangeset written;

	rangeset_init(&written);
	int rc = ask(s, s->first, &written, e);
	rangeset_seal(&written);
	bool none = rangeset_count(&written) == 0;
	rangeset_free(&written);
	return rc == 0 ? none : -1;
}

static int
era_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES], struct err *e)
{
	const struct era *s = self;

	(void)id, (void)e;
	snprintf(token, BASE_TOKEN_BYTES, "%" PRIu64 ":%s", s->first, s->history);
	return 0;
}

const struct change_kind change_era = {
	.name = "era",
	.args = "METADATA",
	.about = "what dm-era has noted; METADATA is its metadata device",
	.has_bases = true,
	.open = era_open,
	.same = era_same,
	.quiet = era_quiet,
	.keep = era_keep,
	.close = era_close,
};
