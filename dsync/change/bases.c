/* bases.c: reads and writes the file that remembers which states of a device a target has or
 * may have.  dmextract and dsync call this; each file is used by one thread.  Its lines are:
 *
 *	dsync-source 1
 *	kind NAME
 *	bytes N
 *	lineage ID
 *	made-at SECONDS		absent in files of older programs
 *	base ID TOKEN		at most one
 *	pending ID TOKEN	oldest first
 */
#include "dsync/change/bases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/statements.h"
#include "common/disk/output.h"
#include "dsync/run/mapper.h"
#include "dsync/run/place.h"

static int
take_version(void *arg, const struct statement *s, struct err *e)
{
	(void)arg;
	if (strcmp(s->words[1], "1") != 0)
		return err_set(e, ERR_UNSUPPORTED, "version %.20s is not known", s->words[1]);
	return 0;
}

static int
take_kind(void *arg, const struct statement *s, struct err *e)
{
	struct bases *b = arg;

	if (strcmp(s->words[1], b->kind) != 0)
		return err_set(e, ERR_REFUSED,
		    "it belongs to the source of change \"%.15s\", not to \"%s\"",
		    s->words[1], b->kind);
	return 0;
}

static const struct statement_field fields[] = {
	{ "bytes", FIELD_NUMBER, offsetof(struct bases, device_bytes), 1, INT64_MAX },
	{ "lineage", FIELD_ID, offsetof(struct bases, lineage), 0, 0 },
	{ "made-at", FIELD_NUMBER, offsetof(struct bases, made_at), 0, INT64_MAX },
	{ 0 },
};

static int
take_field(void *arg, const struct statement *s, struct err *e)
{
	return statement_take(fields, arg, s, e);
}

static int
take_base(void *arg, const struct statement *s, struct err *e)
{
	struct bases *b = arg;
	bool is_base = s->words[0][0] == 'b';

	if (b->n == STREAM_BASES_MAX || (is_base && b->n > 0))
		return err_set(e, ERR_FORMAT, "there are too many states");
	if (strlen(s->words[2]) >= BASE_TOKEN_BYTES)
		return err_set(e, ERR_FORMAT, "the last word is too long");
	b->confirmed |= is_base;
	strcpy(b->all[b->n].token, s->words[2]);
	return stream_id_get(&b->all[b->n++].id, s->words[1], e);
}

static const struct statement_kind statements[] = {
	{ "dsync-source", 2, 2, take_version },
	{ "kind", 2, 2, take_kind },
	{ "base", 3, 3, take_base },
	{ "pending", 3, 3, take_base },
	{ "", 2, 2, take_field },
	{ 0 },
};

static int
read_file(struct bases *b, struct err *e)
{
	if (access(b->path, F_OK) != 0 && errno == ENOENT)
		return 0;
	return statements_read(statements, b, b->path, e);
}

/* Take the name and the kind, and no states. */
static int
begin(struct bases *b, const char *path, const char *kind, struct err *e)
{
	memset(b, 0, sizeof *b);
	b->lock = -1;
	snprintf(b->kind, sizeof b->kind, "%s", kind);
	b->path = strdup(path);
	return b->path != NULL ? 0 : err_nomem(e, path);
}

/* Read the file.  One that is damaged counts as empty, if that is allowed. */
static int
read_locked(struct bases *b, bool anew, struct err *e)
{
	struct bases as_it_was = *b;
	struct err why;

	if (read_file(b, &why) == 0)
		return 0;
	*e = why;
	if (why.kind != ERR_FORMAT)
		return -1;
	if (!anew)
		return err_set(e, ERR_FORMAT,
		    "%.300s; remove this file, and all of the device is sent once more", why.text);
	*b = as_it_was;
	snprintf(b->damage, sizeof b->damage, "%.300s", why.text);
	return 0;
}

int
bases_open(struct bases *b, const char *path, const char *kind, unsigned how, struct err *e)
{
	if (begin(b, path, kind, e) != 0)
		return -1;
	if ((how & BASES_LOOK) != 0 && access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	if (place_lock(path, "another program extracts from this device", &b->lock, e) == 0 &&
	    read_locked(b, (how & BASES_ANEW) != 0, e) == 0)
		return 0;
	bases_close(b);
	return -1;
}

static bool
begins_as_ours(const uint8_t *head)
{
	return memcmp(head, "dsync-source", 12) == 0;
}

static int
write_lines(const struct bases *b, struct buf *text, struct err *e)
{
	char id[STREAM_ID_TEXT];

	if (statements_write(text, e, "dsync-source 1") != 0 ||
	    statements_write(text, e, "kind %s", b->kind) != 0 ||
	    statements_write_fields(text, fields, b, e) != 0)
		return -1;
	for (unsigned i = 0; i < b->n; i++)
		if (statements_write(text, e, "%s %s %s",
			i == 0 && b->confirmed ? "base" : "pending",
			stream_id_text(&b->all[i].id, id), b->all[i].token) != 0)
			return -1;
	return 0;
}

int
bases_save(const struct bases *b, struct err *e)
{
	static const struct output_kind kind = { "a state of dmextract", 12, begins_as_ours };
	struct buf text = { 0 };
	int rc = write_lines(b, &text, e);

	if (rc == 0)
		rc = output_replace(b->path, &kind, text.base, text.len, e);
	buf_free(&text);
	return rc;
}

int
bases_next_time(struct bases *b, uint64_t *made_at, struct err *e)
{
	if (*made_at <= b->made_at)
		*made_at = b->made_at + 1;
	b->made_at = *made_at;
	return bases_save(b, e);
}

void
bases_close(struct bases *b)
{
	if (b->path == NULL)
		return;
	place_unlock(b->path, b->lock);
	free(b->path);
	b->path = NULL;
}

void
bases_forget(struct bases *b)
{
	b->n = 0;
	b->confirmed = false;
	b->device_bytes = 0;
	stream_id_make(&b->lineage);
}

bool
bases_known(const struct bases *b)
{
	return b->confirmed;
}

/* Remove the i-th state, and tell dropped() about it. */
static void
drop(struct bases *b, unsigned i, void (*dropped)(void *arg, const struct base *), void *arg)
{
	struct base gone = b->all[i];

	memmove(b->all + i, b->all + i + 1, (--b->n - i) * sizeof *b->all);
	if (dropped != NULL)
		dropped(arg, &gone);
}

void
bases_add(struct bases *b, const struct base *one,
    void (*dropped)(void *arg, const struct base *), void *arg)
{
	if (b->n == STREAM_BASES_MAX - (unsigned)!b->confirmed)
		drop(b, b->confirmed, dropped, arg);
	b->all[b->n++] = *one;
}

void
bases_drop_pending(
    struct bases *b, void (*dropped)(void *arg, const struct base *), void *arg)
{
	while (b->n > b->confirmed)
		drop(b, b->n - 1, dropped, arg);
}

int
bases_confirm(struct bases *b, const struct stream_id *id,
    void (*dropped)(void *arg, const struct base *), void *arg, struct err *e)
{
	char text[STREAM_ID_TEXT];
	unsigned i = b->n;

	if (id == NULL && b->n == (b->confirmed ? 1 : 0))
		return err_set(e, ERR_ABSENT, "%s: %s", b->path,
		    b->confirmed ? "all states that were sent are confirmed"
		                 : "no state was sent so far");
	if (id == NULL)
		i = b->n - 1;
	else
		for (i = 0; i < b->n && !stream_id_same(&b->all[i].id, id);)
			i++;
	if (i == b->n)
		return err_set(e, ERR_ABSENT,
		    "%s: the state %s is not remembered: it was not sent, or too long "
		    "ago",
		    b->path, stream_id_text(id, text));
	b->confirmed = true;
	for (; i > 0; i--)
		drop(b, 0, dropped, arg);
	return 0;
}

char *
bases_path(const char *folder, const char *device, const char *target, struct err *e)
{
	char mapped[MAPPED_WORD_BYTES], *name = NULL, *path = NULL;
	char *real = realpath(device, NULL);
	const char *whole = mapper_name(device, mapped) ? mapped : real != NULL ? real : device;

	if (asprintf(&name, "%s%s%s", whole, target != NULL ? "." : "",
		target != NULL ? target : "") < 0)
		err_nomem(e, "a name");
	else
		path = place_file(folder, "source", name, e), free(name);
	free(real);
	return path;
}
