/* install_look.c: looks again at what was installed: before the table and other things
 * are corrected, when --read-back mends what differs from the image if its chunks can be
 * read once more, and if there were corrections before the incomplete marker goes.
 * install_end.c calls this when all other threads are gone. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/pool.h"
#include "common/image/read/only.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/parts.h"

/* More than this is no write that went astray: the disk is failing. */
enum { MEND_SECTORS = (64 << 20) / SECTOR_BYTES };

/* Does the chunk with this header store any of these sectors of the disk? */
static bool
stores_any(const struct install *in, const struct ndz_header *h,
    const struct rangeset *bad)
{
	struct ndz_header cut;

	if (in->target.only.len != 0) {
		only_header(h, in->target.only, &cut);
		h = &cut;
	}
	for (unsigned i = 0; i < h->nregions; i++) {
		struct range r = h->regions[i];
		r.off += in->target.slice.off;
		if (rangeset_touches(bad, r))
			return true;
	}
	return false;
}

/* Decode the chunk once more and compare. What --skip-same finds on the disk may come
 * from the cache, so all of the chunk is compared. */
static int
mend(struct install *in, uint32_t number, const void *bytes, struct err *e)
{
	bool skip_same = in->cfg.skip_same;
	struct job *j;

	if (job_new(&j, number, bytes, &in->target, in->raw_bytes, NULL, NULL, e) != 0)
		return err_ctx(e, "chunk %u", number);
	if (pool_get(in->raws, &j->raw) != QUEUE_OK) {
		j->raw = NULL;
		install_retire(in, j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	in->cfg.skip_same = false;
	int rc = job_decode(j, &in->target, in->writer_decoder, e) == 0
	             ? job_mend(j, &in->target, in->writer_decoder, e)
	             : -1;
	in->cfg.skip_same = skip_same;
	install_retire(in, j);
	return rc;
}

static int
mend_chunk(struct install *in, uint32_t i, const struct rangeset *bad, void *buf,
    struct err *e)
{
	struct ndz_header h;

	if (cancel_check(e) != 0 || in->again.header(in->again.arg, i, &h, e) != 0)
		return -1;
	if (!resume_has_undigested(&in->resume, i) && !stores_any(in, &h, bad))
		return 0;
	return in->again.read(in->again.arg, i, buf, e) == 0 ? mend(in, i, buf, e) : -1;
}

/* Compare, with the source, the chunks of which something is bad or not known. */
static int
mend_all(struct install *in, const struct rangeset *bad, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = 0; rc == 0 && i < in->again.nchunks; i++)
		rc = mend_chunk(in, i, bad, buf, e);
	free(buf);
	return rc;
}

/* What an earlier run has written, and this one does not know. */
static void
warn_unknown(const struct install *in, uint32_t chunks)
{
	char text[WARNING_BYTES];

	snprintf(text, sizeof text,
	    "%u of the %u chunks were written before the interruption, and were not "
	    "compared: --read-back did not keep their digests",
	    chunks, in->resume.expected);
	if (in->cfg.warn != NULL)
		in->cfg.warn(text);
}

/* Look, and mend what can be mended.  *was_bad: something was not there. */
static int
look_and_mend(struct install *in, struct looked *k, bool *was_bad, struct err *e)
{
	uint32_t unknown = in->cfg.read_back ? resume_undigested(&in->resume) : 0;
	bool again = in->cfg.read_back && in->again.nchunks > 0;

	if (target_look(&in->target, k, e) != 0)
		return -1;
	uint64_t bad = rangeset_total(&k->bad);
	*was_bad = bad > 0;
	if (unknown > 0 && !again)
		warn_unknown(in, unknown);
	if (!again || bad > MEND_SECTORS || (bad == 0 && unknown == 0))
		return 0;
	if (mend_all(in, &k->bad, e) != 0) {
		*was_bad |= e->kind == ERR_IO;
		return -1;
	}
	look_free(k);
	return target_look(&in->target, k, e);
}

/* What was written is not there: neither this run nor the next one may believe it. */
static void
doubt(struct install *in)
{
	resume_doubt(&in->resume);
	target_doubt(&in->target);
}

/* Say what is bad, if anything is. */
static int
judge(struct install *in, struct looked *k, struct err *e)
{
	if (rangeset_count(&k->bad) == 0)
		return 0;
	look_for_wrap(in->target.disk, k);
	return look_fail(k, in->target.disk, e);
}

int
install_look_data(struct install *in, struct err *e)
{
	struct looked k = { .wraps = 0 };
	bool bad = false;
	int rc = look_and_mend(in, &k, &bad, e);

	if (rc == 0)
		rc = judge(in, &k, e);
	look_free(&k);
	if (rc != 0 && bad)
		doubt(in);
	return rc == 0 ? resume_correct(&in->resume, e) : -1;
}

int
install_look_again(struct install *in, struct err *e)
{
	struct looked k = { .wraps = 0 };

	if (!in->target.touched)
		return 0;
	int rc = target_look(&in->target, &k, e);
	if (rc == 0 && judge(in, &k, e) != 0) {
		doubt(in);
		rc = -1;
	}
	look_free(&k);
	return rc;
}

void
install_set_again(struct install *in, const struct install_again *again)
{
	parts_set_again(in->parts, again);
	in->again = *again;
}
