/* install_recheck.c: looks again at what was installed: before the table and other things
 * are corrected, when --read-back mends what differs from the image if its chunks can be
 * read once more, and if there were corrections before the incomplete marker goes.
 * install_end.c calls this when all other threads are gone. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/pool.h"
#include "common/image/read/only.h"
#include "common/image/read/prove.h"
#include "imageunzip/install/install_impl.h"

/* More than this is no write that went astray: the disk is failing. */
enum { MEND_SECTORS = (64 << 20) / SECTOR_BYTES };

/* Does the chunk with this header store any of these sectors of the disk? */
static bool
stores_any(const struct place *p, const struct ndz_header *h, const struct rangeset *bad)
{
	const struct target *t = &p->target;
	uint64_t n, to;

	for (unsigned i = 0; i < h->nregions; i++)
		for (struct range r = h->regions[i]; r.len > 0;
		     r = (struct range){ r.off + n, r.len - n }) {
			n = maps_run(t->maps, r, &to);
			if (to != MAPS_NOWHERE &&
			    rangeset_touches(bad, (struct range){ t->slice.off + to, n }))
				return true;
		}
	return false;
}

/* Decode the chunk once more and compare. What --skip-same finds on the disk may come
 * from the cache, so all of the chunk is compared. */
static int
mend(struct place *p, struct proved *proved, struct err *e)
{
	struct install *in = p->in;
	bool skip_same = in->cfg.skip_same;
	struct job *j;

	if (job_new(&j, proved, &p->target, in->raw_bytes, e) != 0)
		return err_ctx(e, "chunk %u", proved_chunk(proved)->number);
	j->place = p;
	if (pool_get(in->raws, &j->raw) != QUEUE_OK) {
		j->raw = NULL;
		install_retire(j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	in->cfg.skip_same = false;
	int rc = job_decode(j, &p->target, in->writer_decoder, e) == 0
	             ? job_mend(j, &p->target, in->writer_decoder, e)
	             : -1;
	in->cfg.skip_same = skip_same;
	install_retire(j);
	return rc;
}

static int
prove_and_mend(struct place *p, uint32_t number, void *bytes, struct err *e)
{
	const struct sink_chunk chunk = {
		.number = number, .length = NDZ_CHUNK_BYTES, .bytes = bytes
	};
	struct proved *proved;

	if (prove_read(&chunk, 1, true, &proved, e) != 0)
		return -1;
	if (proved == NULL)
		return err_set(
		    e, ERR_FORMAT, "chunk %u: the digest of the chunk is wrong", number);
	int rc = mend(p, proved, e);
	proved_free(proved);
	return rc;
}

static int
mend_chunk(struct place *p, uint32_t i, const struct rangeset *bad, void *buf,
    struct err *e)
{
	const struct install_again *a = &p->in->again;
	struct ndz_header h;

	if (cancel_check(e) != 0 || a->header(a->arg, i, &h, e) != 0)
		return -1;
	if (!resume_has_undigested(&p->resume, i) && !stores_any(p, &h, bad))
		return 0;
	return a->read(a->arg, i, buf, e) == 0 ? prove_and_mend(p, i, buf, e) : -1;
}

/* Compare, with the source, the chunks of which something is bad or not known. */
static int
mend_all(struct place *p, const struct rangeset *bad, struct err *e)
{
	void *buf = malloc(NDZ_CHUNK_BYTES);
	int rc = buf != NULL ? 0 : err_nomem(e, "a chunk");

	for (uint32_t i = 0; rc == 0 && i < p->in->again.nchunks; i++)
		rc = mend_chunk(p, i, bad, buf, e);
	free(buf);
	return rc;
}

/* What an earlier run has written, and this one does not know. */
static void
warn_unknown(const struct place *p, uint32_t chunks)
{
	char text[WARNING_BYTES];

	snprintf(text, sizeof text,
	    "%u of the %u chunks were written before the interruption, and were not "
	    "compared: --read-back did not keep their digests",
	    chunks, p->resume.expected);
	if (p->in->cfg.warn != NULL)
		p->in->cfg.warn(text);
}

/* Look, and mend what can be mended.  *was_bad: something was not there. */
static int
look_and_mend(struct place *p, struct recheck *k, bool *was_bad, struct err *e)
{
	const struct install *in = p->in;
	uint32_t unknown = in->cfg.read_back ? resume_undigested(&p->resume) : 0;
	bool again = in->cfg.read_back && in->again.nchunks > 0;

	if (target_recheck(&p->target, k, e) != 0)
		return -1;
	uint64_t bad = rangeset_total(&k->bad);
	*was_bad = bad > 0;
	if (unknown > 0 && !again)
		warn_unknown(p, unknown);
	if (!again || bad > MEND_SECTORS || (bad == 0 && unknown == 0))
		return 0;
	if (mend_all(p, &k->bad, e) != 0) {
		*was_bad |= e->kind == ERR_IO;
		return -1;
	}
	recheck_free(k);
	return target_recheck(&p->target, k, e);
}

/* What was written is not there: neither this run nor the next one may believe it. */
static void
doubt(struct place *p)
{
	resume_doubt(&p->resume);
	target_doubt(&p->target);
}

/* Say what is bad, if anything is. */
static int
judge(struct place *p, struct recheck *k, struct err *e)
{
	if (rangeset_count(&k->bad) == 0)
		return 0;
	recheck_find_wrap(p->in->disk, k);
	return recheck_fail(k, p->in->disk, e);
}

int
install_recheck_data(struct place *p, struct err *e)
{
	struct recheck k = { .wraps = 0 };
	bool bad = false;
	int rc = look_and_mend(p, &k, &bad, e);

	if (rc == 0)
		rc = judge(p, &k, e);
	recheck_free(&k);
	if (rc != 0 && bad)
		doubt(p);
	return rc == 0 ? resume_correct(&p->resume, e) : -1;
}

int
install_recheck_again(struct place *p, struct err *e)
{
	struct recheck k = { .wraps = 0 };

	if (!p->target.touched)
		return 0;
	int rc = target_recheck(&p->target, &k, e);
	if (rc == 0 && judge(p, &k, e) != 0) {
		doubt(p);
		rc = -1;
	}
	recheck_free(&k);
	return rc;
}

void
install_set_again(struct install *in, const struct install_again *again)
{
	in->again = *again;
}
