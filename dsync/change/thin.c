/* thin.c: the source of change "thin": a volume of dm-thin shares its blocks with its
 * snapshots, and thin_delta(8) says which of them are no longer shared.  The extract calls
 * this, in its first thread.
 *
 * Each state is a snapshot.  It is taken while the volume is suspended, so that it is
 * consistent, and the data is read from it.  A snapshot stays until its state is neither pending
 * nor the base.  (The kernel's document device-mapper/thin-provisioning.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/child.h"
#include "dsync/change/change.h"
#include "dsync/run/thinsnap.h"

enum { ANSWER_BYTES = 1 << 30 /* of thin_delta, at most */ };

struct thin {
	const struct change_job *job; /* borrowed */
	struct thinsnap snap;
	bool kept; /* the snapshot is a state, and stays */
};

static void
thin_close(void *self)
{
	struct thin *s = self;

	thinsnap_end(&s->snap, s->kept);
	free(s);
}

static int
thin_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	struct thin *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "thin");
	s->job = job;
	if ((job->args[0] != '\0'
	            ? thinsnap_take(&s->snap, job->device, job->args, job->device, e)
	            : err_set(e, ERR_USAGE, "--since=thin: the pool is missing")) != 0) {
		thin_close(s);
		return -1;
	}
	about->block_bytes = (uint32_t)(s->snap.block_bytes & -s->snap.block_bytes);
	about->cumulative = true;
	snprintf(about->from, sizeof about->from, "/dev/mapper/%s", s->snap.shown_as);
	about->frozen_us = s->snap.frozen_us;
	*self = s;
	return 0;
}

/* Parse one element of the answer.  Blocks that neither snapshot has appear in no element. */
static int
take_element(const struct thin *s, const char *text, size_t n, struct rangeset *to,
    struct err *e)
{
	static const char *const differs[] = { "different ", "left_only ", "right_only " };
	uint64_t begin, length, block = s->snap.block_bytes;
	uint64_t blocks = s->snap.sectors * SECTOR_BYTES / block + 1;

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
		    (struct range){ begin * block, length * block }, e);
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
	if (rc == 0 && (!whole || block * SECTOR_BYTES != s->snap.block_bytes))
		rc = err_set(e, ERR_FORMAT, "thin_delta: its output is not understood");
	return rc;
}

static int
ask(struct thin *s, const char *base, struct rangeset *changed, struct err *e)
{
	char number[24], *answer = NULL;
	const char *const argv[] = { "thin_delta", "-m", "--thin1", base, "--thin2", number,
		s->snap.metadata, NULL };
	struct err late;

	snprintf(number, sizeof number, "%" PRIu64, s->snap.id);
	/* A metadata snapshot left by a run that was killed would be in the way. */
	thinsnap_tell(s->job->args, "release_metadata_snap", &late);
	if (thinsnap_tell(s->job->args, "reserve_metadata_snap", e) != 0)
		return -1;
	int rc = child_answer(argv, ANSWER_BYTES, &answer, e);
	if (thinsnap_tell(s->job->args, "release_metadata_snap", &late) != 0 && rc == 0)
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
		rc = same_sink_add_all_but(sink, &changed, e);
	rangeset_free(&changed);
	return rc;
}

static int
thin_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES], struct err *e)
{
	struct thin *s = self;

	(void)id, (void)e;
	snprintf(token, BASE_TOKEN_BYTES, "%" PRIu64, s->snap.id);
	s->kept = true;
	return 0;
}

static void
thin_dropped(const struct change_job *job, const struct base *base)
{
	struct err ignored; /* a token that is no number names no snapshot */
	uint64_t id;

	if (number_uint(base->token, 0, THINSNAP_ID_MAX, &id, &ignored) == 0)
		thinsnap_delete(job->args, id, job->device);
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
