/* far.c: runs dmmerge where the copy is, and reads the answers.  pair.c calls this, in
 * one thread. */
#include "dsync/pair/far.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/child.h"
#include "common/base/number.h"
#include "common/base/statements.h"

enum {
	LINE_BYTES = 8192,
	WORDS_MAX = LINE_BYTES / 2 + 4, /* each word is followed by a blank; two are added */
	OWN_BYTES = 200, /* of a line, at most: quotes, blanks and options that dsync adds */
	OPTION_BYTES = 40,
	ANSWER_BYTES = 1 << 20,
	DIGEST_TEXT = 2 * SHA256_BYTES,
};

/* A command line, and the words that it consists of. */
struct line {
	char words[LINE_BYTES], remote[LINE_BYTES];
	const char *argv[WORDS_MAX + 1];
	unsigned n;
};

/* One run of dmmerge. */
struct run {
	struct line line;
	struct child *child;
};

/* Whether the lines of make_line() have room; each quote in the target becomes four bytes. */
static int
check_length(const struct far *f, struct err *e)
{
	size_t n = strlen(f->rsh) + strlen(f->dmmerge) + strlen(f->options);

	for (const char *p = f->target; *p != '\0'; p++)
		n += *p == '\'' ? 4 : 1;
	if (n <= LINE_BYTES - OWN_BYTES)
		return 0;
	return err_set(e, ERR_USAGE,
	    "--rsh, --dmmerge, --dmmerge-options and the path of the copy are too long together");
}

int
far_parse(struct far *f, char *text, struct err *e)
{
	char *colon = strchr(text, ':'), *slash = strchr(text, '/');

	f->host = NULL;
	f->target = text;
	if (colon != NULL && (slash == NULL || colon < slash)) {
		*colon = '\0';
		f->host = text;
		f->target = colon + 1;
	}
	if (f->target[0] == '\0' || f->target[0] == '-' ||
	    (f->host != NULL && (f->host[0] == '\0' || f->host[0] == '-')))
		return err_misuse(e, "the copy must be given as HOST:TARGET or TARGET");
	return check_length(f, e);
}

/* Cut words at blanks and append them to argv, which points into `words`. */
static void
add_words(struct line *l, char *words)
{
	char *rest = NULL;

	for (char *w = strtok_r(words, " ", &rest); w != NULL && l->n < WORDS_MAX - 4;
	     w = strtok_r(NULL, " ", &rest))
		l->argv[l->n++] = w;
}

/* Quote a word for a shell: in single quotes, with each single quote of its own outside them.
 * Returns the bytes written, without the NUL. */
static size_t
quote(char *to, size_t cap, const char *word)
{
	size_t n = 0;

	if (cap < 3)
		return 0;
	to[n++] = '\'';
	for (; *word != '\0' && n + 6 < cap; word++)
		if (*word == '\'')
			n += (size_t)snprintf(to + n, cap - n, "'\\''");
		else
			to[n++] = *word;
	to[n++] = '\'';
	to[n] = '\0';
	return n;
}

/* Build the command line of dmmerge with an option, for this host or through rsh. */
static void
make_line(struct line *l, const struct far *f, const char *option)
{
	memset(l, 0, sizeof *l);
	if (f->host == NULL) {
		snprintf(l->words, sizeof l->words, "%s %s --quiet %s", f->dmmerge, f->options, option);
		add_words(l, l->words);
		l->argv[l->n++] = f->target;
		return;
	}
	snprintf(l->words, sizeof l->words, "%s", f->rsh);
	add_words(l, l->words);
	int n = snprintf(l->remote, sizeof l->remote, "%s %s --quiet %s ", f->dmmerge, f->options, option);
	if (n > 0 && (size_t)n < sizeof l->remote)
		quote(l->remote + n, sizeof l->remote - (size_t)n, f->target);
	l->argv[l->n++] = f->host;
	l->argv[l->n++] = l->remote;
}

/* Begin a run of dmmerge with an option, and with pipes to it or from it.  *r must
 * stay as it is until the end. */
static int
start(struct run *r, const struct far *f, const char *option, unsigned pipes,
    struct err *e)
{
	make_line(&r->line, f, option);
	return child_start(&r->child, r->line.argv, pipes, e);
}

/* End a run, which has given rc and *e.  One that has failed here is killed, and not
 * waited for. */
static int
end(struct run *r, int rc, struct err *e)
{
	struct err late;

	if (rc != 0)
		child_kill(r->child);
	int ended = child_wait(r->child, &late);
	if (rc == 0 && ended != 0)
		*e = late;
	return rc != 0 ? rc : ended;
}

/* Run dmmerge to its end and take all that it prints, which the caller frees. */
static int
ask(const struct far *f, const char *option, char **answer, struct err *e)
{
	struct run r;

	if (start(&r, f, option, CHILD_OUT, e) != 0)
		return -1;
	int rc = child_read_answer(
	    child_from(r.child), r.line.argv[0], ANSWER_BYTES, answer, e);
	if (end(&r, rc, e) == 0)
		return 0;
	free(*answer);
	return -1;
}

static int
take_condition(void *arg, const struct statement *s, struct err *e)
{
	struct far_status *f = arg;

	(void)e;
	snprintf(f->condition, sizeof f->condition, "%.30s", s->words[1]);
	return 0;
}

static int
take_id(void *arg, const struct statement *s, struct err *e)
{
	struct far_status *f = arg;

	return strcmp(s->words[1], "-") == 0 ? 0 : stream_id_get(&f->id, s->words[1], e);
}

static int
take_nothing(void *arg, const struct statement *s, struct err *e)
{
	(void)arg, (void)s, (void)e;
	return 0;
}

static int
take_number(void *arg, const struct statement *s, struct err *e)
{
	struct far_status *f = arg;
	uint64_t *to = s->words[0][0] == 'b'              ? &f->bytes
	               : strcmp(s->words[0], "made-at") == 0 ? &f->made_at
	                                                     : &f->merged_at;

	return number_uint(s->words[1], 0, UINT64_MAX, to, e);
}

static const struct statement_kind answers[] = {
	{ "condition", 2, 2, take_condition },
	{ "id", 2, 2, take_id },
	{ "lineage", 2, 2, take_nothing },
	{ "bytes", 2, 2, take_number },
	{ "made-at", 2, 2, take_number },
	{ "merged-at", 2, 2, take_number },
	{ 0 },
};

int
far_status(const struct far *f, struct far_status *s, struct err *e)
{
	char *answer;

	memset(s, 0, sizeof *s);
	if (ask(f, "--status", &answer, e) != 0)
		return -1;
	int rc = statements_parse(answers, s, answer, strlen(answer), "dmmerge --status", e);
	free(answer);
	if (rc == 0 && s->condition[0] == '\0')
		rc = err_set(e, ERR_FORMAT, "dmmerge --status prints no condition");
	return rc;
}

int
far_recover(const struct far *f, struct err *e)
{
	char *answer;

	if (ask(f, "--recover", &answer, e) != 0)
		return -1;
	free(answer);
	return 0;
}

struct far_merge {
	struct run run;
	struct disk *disk;
};

/* Write to the pipe.  A pipe whose reader has ended is an error like others; dmmerge's own
 * sentence says why. */
static ssize_t
pipe_write(void *ctx, const void *buf, size_t len, uint64_t off)
{
	struct far_merge *m = ctx;

	(void)off;
	return write(child_to(m->run.child), buf, len);
}

int
far_merge_begin(struct far_merge **out, const struct far *f, struct disk **to, struct err *e)
{
	static const struct disk_ops ops = { .pwrite = pipe_write };
	struct far_merge *m = calloc(1, sizeof *m);

	*out = NULL;
	if (m == NULL)
		return err_nomem(e, "a merge");
	if (start(&m->run, f, "", CHILD_IN, e) != 0) {
		free(m);
		return -1;
	}
	*out = m;
	if (disk_open_ops(&m->disk, f->target, DISK_STREAM, UINT64_MAX, &ops, m, e) == 0) {
		*to = m->disk;
		return 0;
	}
	struct err late;
	far_merge_end(m, &late);
	*out = NULL;
	return -1;
}

int
far_merge_end(struct far_merge *m, struct err *e)
{
	struct err ignored;

	disk_close(m->disk, &ignored);
	int rc = end(&m->run, 0, e);
	free(m);
	return rc;
}

static int
hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int
get_digest(uint8_t digest[SHA256_BYTES], const char *line, struct err *e)
{
	for (size_t i = 0; i < SHA256_BYTES; i++) {
		int high = hex_digit(line[2 * i]);
		int low = high >= 0 ? hex_digit(line[2 * i + 1]) : -1;
		if (low < 0)
			return err_set(e, ERR_FORMAT,
			    "dmmerge --digests prints something that is not a digest");
		digest[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

/* Read lines of 64 hex digits until the pipe ends. */
static int
read_digests(int pipe,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *e)
{
	char line[DIGEST_TEXT + 8];
	uint8_t digest[SHA256_BYTES];
	int fd = dup(pipe), rc = 0;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return err_os(e, "a pipe");
	}
	while (rc == 0 && fgets(line, sizeof line, f) != NULL) {
		rc = cancel_check(e);
		if (rc == 0)
			rc = get_digest(digest, line, e);
		if (rc == 0)
			rc = take(arg, digest, e);
	}
	fclose(f);
	return rc;
}

int
far_digests(const struct far *f, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *e)
{
	char option[OPTION_BYTES];
	struct run r;

	snprintf(option, sizeof option, "--digests=%" PRIu64, piece_bytes);
	if (start(&r, f, option, CHILD_OUT, e) != 0)
		return -1;
	return end(&r, read_digests(child_from(r.child), take, arg, e), e);
}
