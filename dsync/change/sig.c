/* sig.c: the source of change "sig": the device is compared with a signature of an image,
 * block by block.  What the signature has no record of counts as changed.  The extract calls
 * this, in its first thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/image/write/sighash.h"
#include "dsync/change/change.h"
#include "dsync/read/uncached.h"

enum { BUF_BYTES = 1 << 20 /* of one read */ };

struct sig_source {
	const struct change_job *job; /* borrowed */
	struct sig sig;
	struct uncached *reader;
	struct uncached_buf *buf;
};

static void
sig_close(void *self)
{
	struct sig_source *s = self;

	sig_free(&s->sig);
	uncached_buf_free(s->buf);
	uncached_free(s->reader);
	free(s);
}

static int
prepare(struct sig_source *s, struct change_about *about, struct err *e)
{
	struct ext_state state;

	if (s->job->args[0] == '\0')
		return err_set(e, ERR_USAGE, "--since=sig: the signature is missing");
	if (sig_read(&s->sig, s->job->args, e) != 0 ||
	    uncached_new(&s->reader, s->job->disk, e) != 0)
		return -1;
	s->buf = uncached_buf_new(BUF_BYTES);
	if (s->buf == NULL)
		return err_nomem(e, "a signature");
	sig_state(&s->sig, &state);
	memcpy(&about->base, state.id, sizeof about->base);
	about->block_bytes = SECTOR_BYTES;
	about->compares = true;
	return 0;
}

static int
sig_open(void **self, const struct change_job *job, struct change_about *about,
    struct err *e)
{
	struct sig_source *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a signature");
	s->job = job;
	if (prepare(s, about, e) == 0) {
		*self = s;
		return 0;
	}
	sig_close(s);
	return -1;
}

/* Read sectors for sig_hash_range(), which may ask for more than the buffer holds. */
static int
read_sectors(void *arg, struct range sectors, void *to, struct err *e)
{
	struct sig_source *s = arg;
	uint64_t at = sectors.off * SECTOR_BYTES, left = sectors.len * SECTOR_BYTES;
	uint8_t *data, *out = to;
	int rc = cancel_check(e);

	while (rc == 0 && left > 0) {
		size_t n = left < BUF_BYTES ? (size_t)left : BUF_BYTES;
		rc = uncached_read(s->reader, s->buf, at, n, &data, e);
		if (rc == 0)
			memcpy(out, data, n);
		at += n, out += n, left -= n;
	}
	return rc;
}

static int
sig_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct sig_source *s = self;
	uint8_t hash[SIG_HASH_MAX];
	uint64_t sectors = s->job->device_bytes / SECTOR_BYTES;
	int rc = 0;

	(void)base;
	for (size_t i = 0; rc == 0 && i < s->sig.n; i++) {
		const struct sig_record *r = &s->sig.records[i];
		struct range at = { r->start, r->count };
		if (!range_within(at, sectors))
			break;
		rc = sig_hash_range(s->sig.hash, at, read_sectors, s, hash, e);
		if (rc == 0 && memcmp(hash, r->hash, sig_hash_bytes(s->sig.hash)) == 0)
			rc = same_sink_add(sink,
			    (struct range){ at.off * SECTOR_BYTES, at.len * SECTOR_BYTES },
			    e);
	}
	return rc;
}

const struct change_kind change_sig = {
	.name = "sig",
	.args = "FILE",
	.about = "compare with a signature, as imagehash -c writes it",
	.open = sig_open,
	.same = sig_same,
	.close = sig_close,
};
