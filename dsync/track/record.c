/* record.c: reads and writes the record of a tracked device.  track.c calls this, and the source of
 * change "era" asks for the identity, in one thread.  The lines of a record are:
 *
 *	dsync-track 1
 *	device PATH
 *	metadata PATH
 *	block SECTORS
 *	bytes N
 *	beneath yes|no
 *	identity ID
 *	generation ID
 *	active WORD
 */
#include "dsync/track/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/base/statements.h"
#include "common/disk/output.h"
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
take_word(char *to, size_t cap, const struct statement *s, struct err *e)
{
	if (strlen(s->words[1]) >= cap)
		return err_set(e, ERR_FORMAT, "the word is too long");
	strcpy(to, s->words[1]);
	return 0;
}

static int
take_device(void *arg, const struct statement *s, struct err *e)
{
	return take_word(((struct record *)arg)->device, RECORD_PATH_BYTES, s, e);
}

static int
take_metadata(void *arg, const struct statement *s, struct err *e)
{
	return take_word(((struct record *)arg)->metadata, RECORD_PATH_BYTES, s, e);
}

static int
take_active(void *arg, const struct statement *s, struct err *e)
{
	return take_word(((struct record *)arg)->active, MAPPED_WORD_BYTES, s, e);
}

static int
take_block(void *arg, const struct statement *s, struct err *e)
{
	return number_uint(s->words[1], 1, STREAM_BLOCK_MAX / SECTOR_BYTES,
	    &((struct record *)arg)->block_sectors, e);
}

static int
take_bytes(void *arg, const struct statement *s, struct err *e)
{
	return number_uint(
	    s->words[1], 0, INT64_MAX, &((struct record *)arg)->device_bytes, e);
}

static int
take_beneath(void *arg, const struct statement *s, struct err *e)
{
	struct record *r = arg;

	r->beneath = strcmp(s->words[1], "yes") == 0;
	return r->beneath || strcmp(s->words[1], "no") == 0
	           ? 0
	           : err_set(e, ERR_FORMAT, "yes or no is expected");
}

static int
take_identity(void *arg, const struct statement *s, struct err *e)
{
	return stream_id_get(&((struct record *)arg)->identity, s->words[1], e);
}

static int
take_generation(void *arg, const struct statement *s, struct err *e)
{
	return stream_id_get(&((struct record *)arg)->generation, s->words[1], e);
}

static const struct statement_kind statements[] = {
	{ "dsync-track", 2, 2, take_version },
	{ "device", 2, 2, take_device },
	{ "metadata", 2, 2, take_metadata },
	{ "block", 2, 2, take_block },
	{ "bytes", 2, 2, take_bytes },
	{ "beneath", 2, 2, take_beneath },
	{ "identity", 2, 2, take_identity },
	{ "generation", 2, 2, take_generation },
	{ "active", 2, 2, take_active },
	{ 0 },
};

static int
name_file(struct record *r, const char *folder, const char *name, struct err *e)
{
	memset(r, 0, sizeof *r);
	r->lock = -1;
	strcpy(r->active, "-");
	r->path = place_file(folder, "track", name, e);
	return r->path != NULL ? 0 : -1;
}

static int
check_there(const struct record *r, struct err *e)
{
	if (access(r->path, F_OK) == 0 || errno != ENOENT)
		return 0;
	return err_set(e, ERR_ABSENT, "%s is not there: \"dsync track\" makes it", r->path);
}

int
record_begin(
    struct record *r, const char *folder, const char *name, bool make, struct err *e)
{
	if (name_file(r, folder, name, e) != 0)
		return -1;
	if (make ? place_make(r->path, e) != 0 : check_there(r, e) != 0)
		return -1;
	return place_lock(r->path, "another program starts or stops this tracker", &r->lock, e);
}

int
record_read(struct record *r, struct err *e)
{
	if (check_there(r, e) != 0)
		return -1;
	if (statements_read(statements, r, r->path, e) != 0) {
		if (e->kind == ERR_USAGE)
			e->kind = ERR_FORMAT; /* no user writes this file */
		return -1;
	}
	if (r->device[0] != '\0' && r->metadata[0] != '\0' && r->block_sectors != 0 &&
	    r->active[0] != '\0')
		return 0;
	return err_set(e, ERR_FORMAT, "%s: a line is missing", r->path);
}

static bool
begins_as_ours(const uint8_t *head)
{
	return memcmp(head, "dsync-track ", 12) == 0;
}

int
record_save(const struct record *r, struct err *e)
{
	static const struct output_kind kind = { "a record of dsync", 12, begins_as_ours };
	char id[STREAM_ID_TEXT];
	struct buf text = { 0 };
	bool ok = statements_write(&text, e, "dsync-track 1") == 0 &&
	          statements_write(&text, e, "device %s", r->device) == 0 &&
	          statements_write(&text, e, "metadata %s", r->metadata) == 0 &&
	          statements_write(&text, e, "block %" PRIu64, r->block_sectors) == 0 &&
	          statements_write(&text, e, "bytes %" PRIu64, r->device_bytes) == 0 &&
	          statements_write(&text, e, "beneath %s", r->beneath ? "yes" : "no") == 0 &&
	          statements_write(
		      &text, e, "identity %s", stream_id_text(&r->identity, id)) == 0 &&
	          statements_write(
		      &text, e, "generation %s", stream_id_text(&r->generation, id)) == 0 &&
	          statements_write(&text, e, "active %s", r->active) == 0;
	int rc = ok ? output_replace(r->path, &kind, text.base, text.len, e) : -1;

	buf_free(&text);
	return rc;
}

int
record_remove(struct record *r, struct err *e)
{
	return unlink(r->path) == 0 ? 0 : err_os(e, "%s", r->path);
}

void
record_close(struct record *r)
{
	if (r->path == NULL)
		return;
	place_unlock(r->path, r->lock);
	free(r->path);
	r->path = NULL;
}

int
record_identity(
    const char *folder, const char *name, char out[MAPPED_WORD_BYTES], struct err *e)
{
	struct record r;
	struct err ignored;

	if (mapper_generation(name, out, e) != 0)
		return -1;
	/* Without a record, or with one of another activation, the activation names the history. */
	if (name_file(&r, folder, name, &ignored) == 0 && record_read(&r, &ignored) == 0 &&
	    strcmp(r.active, out) == 0 && stream_id_set(&r.identity))
		stream_id_text(&r.identity, out);
	record_close(&r);
	return 0;
}
