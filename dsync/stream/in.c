/* in.c: reads a stream record by record; no data is given out before its digest was right.
 * dsync/merge calls this for the stream that arrives and for its journal; one reader belongs to
 * one thread. */
#include <inttypes.h>
#include <stdlib.h>

#ifndef NO_ZSTD
#include <zstd.h>
#endif

#include "dsync/stream/impl.h"

/* How much of a stream whose end is known, such as that of a journal, is asked for at a time.
 * The target may be on the same disk, which then seeks between both. */
enum { AHEAD_BYTES = 8 << 20 };

struct stream_in {
	struct disk *from; /* borrowed */
	uint64_t at, end;  /* the next byte to read; reading stops at `end` */
	uint64_t asked;    /* the bytes before this one were asked for */
	uint64_t past;     /* byte of the device behind the last record */
	struct stream_head head;
	struct stream_totals totals;
	struct stream_end said;          /* what the end of the stream says */
	bool ended;
	int (*copy)(void *arg, const void *bytes, size_t n, struct err *);
	void *copy_arg;
	uint8_t first[STREAM_TOP_BYTES];    /* the head, for copy() */
	uint8_t record[STREAM_RECORD_EXTRA + STREAM_DATA_MAX];
	uint8_t data[STREAM_DATA_MAX];
};

static void
ask_ahead(struct stream_in *s)
{
	if (s->end == UINT64_MAX || s->asked > s->at + AHEAD_BYTES / 2)
		return;
	if (s->asked < s->at)
		s->asked = s->at;
	uint64_t n = s->end - s->asked < AHEAD_BYTES ? s->end - s->asked : AHEAD_BYTES;
	if (n > 0)
		disk_will_need(s->from, s->asked, n);
	s->asked += n;
}

static int
take(struct stream_in *s, void *to, size_t n, struct err *e)
{
	ask_ahead(s);
	if (n > s->end - s->at)
		return err_set(e, ERR_FORMAT, "%s: the stream ends early, at byte %" PRIu64,
		    disk_name(s->from), s->end);
	ssize_t got = disk_read_upto(s->from, to, n, s->at, e);
	if (got < 0)
		return -1;
	s->at += (size_t)got;
	if ((size_t)got < n)
		return err_set(e, ERR_FORMAT, "%s: the stream ends early, at byte %" PRIu64,
		    disk_name(s->from), s->at);
	return 0;
}

int
stream_in_open(struct stream_in **out, struct disk *from, uint64_t at, uint64_t end,
    struct err *e)
{
	struct stream_in *s = calloc(1, sizeof *s);

	*out = s;
	if (s == NULL)
		return err_nomem(e, "a stream");
	s->from = from;
	s->at = at;
	s->end = end;
	int rc = take(s, s->first, sizeof s->first, e);
	if (rc == 0 && stream_get_head(&s->head, s->first, e) != 0)
		rc = err_ctx(e, "%s", disk_name(from));
	if (rc == 0) {
		uint8_t again[STREAM_TOP_BYTES];
		stream_put_head(&s->head, again, &s->totals);
		return 0;
	}
	stream_in_close(s);
	*out = NULL;
	return -1;
}

void
stream_in_close(struct stream_in *s)
{
	free(s);
}

const struct stream_head *
stream_in_head(const struct stream_in *s)
{
	return &s->head;
}

const struct stream_end *
stream_in_end(const struct stream_in *s)
{
	return &s->said;
}

void
stream_in_copy(struct stream_in *s,
    int (*copy)(void *arg, const void *bytes, size_t n, struct err *), void *arg)
{
	s->copy = copy;
	s->copy_arg = arg;
}

/* Give a record to copy(), and the head before the first record. */
static int
pass_on(struct stream_in *s, size_t n, struct err *e)
{
	bool first = s->totals.data_records + s->totals.zero_records == 0;

	if (s->copy == NULL)
		return 0;
	if (first && s->copy(s->copy_arg, s->first, sizeof s->first, e) != 0)
		return -1;
	return s->copy(s->copy_arg, s->record, n, e);
}

static int
unpack(struct stream_in *s, const struct stream_record_head *h, struct stream_record *r,
    struct err *e)
{
	*r = (struct stream_record){ .type = h->type, .bytes = h->bytes };
	if (h->type != STREAM_DATA)
		return 0;
	r->data = s->record + STREAM_RECORD_HEAD;
	if (h->encoding == STREAM_RAW)
		return 0;
#ifdef NO_ZSTD
	return err_set(e, ERR_UNSUPPORTED,
	    "the stream is compressed with zstd, which this program was built without");
#else
	size_t n = ZSTD_decompress(s->data, sizeof s->data, r->data, h->stored);
	r->data = s->data;
	if (ZSTD_isError(n) || n != h->bytes.len)
		return err_set(e, ERR_FORMAT, "a record cannot be decompressed");
	return 0;
#endif
}

/* The end must agree with all that was counted, and nothing may follow it. */
static int
finish(struct stream_in *s, struct err *e)
{
	uint8_t more;

	stream_get_end(&s->said, s->record + STREAM_RECORD_HEAD);
	if (memcmp(&s->said.totals, &s->totals, sizeof s->totals) != 0)
		return err_set(
		    e, ERR_FORMAT, "records are missing, or are in another order");
	if ((s->head.flags & STREAM_FULL) != 0 &&
	    s->totals.data_bytes + s->totals.zero_bytes != s->head.device_bytes)
		return err_set(e, ERR_FORMAT,
		    "the stream says that it is a full copy, but does not cover the "
		    "whole device");
	ssize_t n = s->at == s->end ? 0 : disk_read_upto(s->from, &more, 1, s->at, e);
	if (n > 0)
		return err_set(e, ERR_FORMAT, "something follows the end of the stream");
	s->ended = n == 0;
	return (int)n;
}

static int
take_record(struct stream_in *s, struct stream_record *r, struct err *e)
{
	struct stream_record_head h;

	if (take(s, s->record, STREAM_RECORD_HEAD, e) != 0)
		return -1;
	if (stream_get_record(&h, s->record, s->head.device_bytes, e) != 0)
		return err_ctx(e, "%s", disk_name(s->from));
	if (take(s, s->record + STREAM_RECORD_HEAD, h.stored + (size_t)SHA256_BYTES, e) != 0)
		return -1;
	int rc = 0;
	size_t bytes = STREAM_RECORD_EXTRA + (size_t)h.stored;
	if (!stream_proves(s->record, STREAM_RECORD_HEAD + (size_t)h.stored))
		rc = err_set(e, ERR_FORMAT, "a record is damaged");
	else if (h.type != STREAM_END && h.bytes.off < s->past)
		rc = err_set(e, ERR_FORMAT, "records overlap, or are not in order");
	else if (h.type == STREAM_END)
		rc = finish(s, e);
	else
		rc = unpack(s, &h, r, e);
	if (rc != 0)
		return err_ctx(e, "%s: before byte %" PRIu64, disk_name(s->from), s->at);
	if (pass_on(s, bytes, e) != 0)
		return -1;
	if (h.type == STREAM_END)
		return 0;
	s->past = range_end(h.bytes);
	stream_count(&s->totals, s->record, bytes);
	return 1;
}

int
stream_in_next(struct stream_in *s, struct stream_record *r, struct err *e)
{
	return s->ended ? 0 : take_record(s, r, e);
}
