/* request.c: encodes and decodes requests, and makes command lines of dmmerge from them.  dsync
 * calls this at both ends of a connection, in any thread. */
#include "dsync/talk/request.h"

#include <stdio.h>
#include <string.h>

enum {
	VERSION = 1,
	PIECE_MIN = 4096,    /* what dmmerge takes */
	PIECE_MAX = 1 << 30,
};

static const struct {
	const char *name;
	enum request_flags flag;
} options[] = {
	{ "--in-place", REQUEST_IN_PLACE },
	{ "--discard", REQUEST_DISCARD },
	{ "--no-verify", REQUEST_NO_VERIFY },
	{ "--force", REQUEST_FORCE },
};

enum { OPTIONS = sizeof options / sizeof *options, FLAGS_ALL = (1 << OPTIONS) - 1 };

int
request_make(struct request *q, enum request_what what, uint64_t piece_bytes,
    const char *target, struct err *e)
{
	size_t n = strlen(target);

	memset(q, 0, sizeof *q);
	if (n == 0 || n > REQUEST_TARGET_MAX)
		return err_set(e, ERR_USAGE,
		    "the path of the copy has %zu bytes, and a server takes 1 to %d", n,
		    REQUEST_TARGET_MAX);
	q->what = what;
	q->piece_bytes = what == REQUEST_DIGESTS ? (uint32_t)piece_bytes : 0;
	memcpy(q->target, target, n);
	return 0;
}

/* Set the flag of the option that begins at `word` and has n bytes. */
static int
take_option(struct request *q, const char *word, size_t n, struct err *e)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strlen(options[i].name) == n && memcmp(options[i].name, word, n) == 0) {
			q->flags |= options[i].flag;
			return 0;
		}
	return err_set(e, ERR_USAGE,
	    "%.*s cannot be given to a server; --in-place, --discard, --no-verify and --force can",
	    n < 80 ? (int)n : 80, word);
}

int
request_take_options(struct request *q, const char *words, struct err *e)
{
	for (const char *at = words + strspn(words, " "); *at != '\0';) {
		size_t n = strcspn(at, " ");
		if (take_option(q, at, n, e) != 0)
			return -1;
		at += n + strspn(at + n, " ");
	}
	return 0;
}

void
request_put(struct wr *w, const struct request *q)
{
	size_t n = strnlen(q->target, sizeof q->target);

	wr_u8(w, VERSION);
	wr_u8(w, (uint8_t)q->what);
	wr_u8(w, (uint8_t)q->flags);
	wr_u8(w, 0);
	wr_le32(w, q->piece_bytes);
	wr_bytes(w, q->target, n);
	w->failed = w->failed || n == 0 || n > REQUEST_TARGET_MAX;
}

static int
check(const struct request *q, struct err *e)
{
	bool digests = q->what == REQUEST_DIGESTS;

	if (q->what < REQUEST_STATUS || q->what > REQUEST_DIGESTS)
		return err_set(e, ERR_FORMAT, "it is not known what the request asks for");
	if ((q->flags & ~(uint32_t)FLAGS_ALL) != 0)
		return err_set(e, ERR_FORMAT, "the request has options that are not known");
	if (digests ? q->piece_bytes < PIECE_MIN || q->piece_bytes > PIECE_MAX
	            : q->piece_bytes != 0)
		return err_set(e, ERR_FORMAT, "the request has an impossible size of a digest");
	return 0;
}

static int
decode(struct request *q, struct rd *r, struct err *e)
{
	uint8_t version = rd_u8(r);

	q->what = rd_u8(r);
	q->flags = rd_u8(r);
	uint8_t zero = rd_u8(r);
	q->piece_bytes = rd_le32(r);
	size_t n = rd_left(r);
	const char *target = rd_bytes(r, n);
	if (rd_ok(r) && version != VERSION)
		return err_set(e, ERR_UNSUPPORTED,
		    "the request has version %u, and this program knows only version %d",
		    version, VERSION);
	if (!rd_ok(r) || zero != 0 || n == 0 || n > REQUEST_TARGET_MAX ||
	    memchr(target, '\0', n) != NULL)
		return err_set(e, ERR_FORMAT, "the request is damaged");
	memcpy(q->target, target, n);
	return check(q, e);
}

int
request_get(struct request *q, struct rd *r, struct err *e)
{
	memset(q, 0, sizeof *q);
	if (decode(q, r, e) == 0)
		return 0;
	memset(q, 0, sizeof *q); /* the log names what a request asks for */
	return -1;
}

const char *
request_option(enum request_what what, uint64_t piece_bytes, char text[REQUEST_OPTION_MAX])
{
	text[0] = '\0';
	if (what == REQUEST_DIGESTS)
		snprintf(text, REQUEST_OPTION_MAX, "--digests=%llu",
		    (unsigned long long)piece_bytes);
	else if (what != REQUEST_MERGE)
		strcpy(text, what == REQUEST_STATUS ? "--status" : "--recover");
	return text;
}

void
request_line(struct request_line *l, const struct request *q, const char *dmmerge,
    const char *state_dir)
{
	unsigned n = 0;

	l->argv[n++] = dmmerge;
	l->argv[n++] = "--quiet";
	l->argv[n++] = state_dir;
	if (request_option(q->what, q->piece_bytes, l->option)[0] != '\0')
		l->argv[n++] = l->option;
	for (size_t i = 0; i < OPTIONS; i++)
		if ((q->flags & options[i].flag) != 0)
			l->argv[n++] = options[i].name;
	l->argv[n++] = "--";
	l->argv[n++] = q->target;
	l->argv[n] = NULL;
}
