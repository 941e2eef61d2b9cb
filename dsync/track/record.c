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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

#define AT(member) offsetof(struct record, member)

static const struct statement_field fields[] = {
	{ "device", FIELD_WORD, AT(device), 1, RECORD_PATH_BYTES },
	{ "metadata", FIELD_WORD, AT(metadata), 1, RECORD_PATH_BYTES },
	{ "block", FIELD_NUMBER, AT(block_sectors), 1, STREAM_BLOCK_MAX / SECTOR_BYTES },
	{ "bytes", FIELD_NUMBER, AT(device_bytes), 0, INT64_MAX },
	{ "beneath", FIELD_YES, AT(beneath), 0, 0 },
	{ "identity", FIELD_ID, AT(identity), 0, 0 },
	{ "generation", FIELD_ID, AT(generation), 0, 0 },
	{ "active", FIELD_WORD, AT(active), 1, MAPPED_WORD_BYTES },
	{ 0 },
};

static int
take_field(void *arg, const struct statement *s, struct err *e)
{
	return statement_take(fields, arg, s, e);
}

static const struct statement_kind statements[] = {
	{ "dsync-track", 2, 2, take_version },
	{ "", 2, 2, take_field },
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
	if (statements_read(statements, r, r->path, e) != 0)
		return -1;
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
	struct buf text = { 0 };
	int rc = statements_write(&text, e, "dsync-track 1");

	if (rc == 0)
		rc = statements_write_fields(&text, fields, r, e);
	if (rc == 0)
		rc = output_replace(r->path, &kind, text.base, text.len, e);
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

bool
record_beneath(const char *folder, const char *name)
{
	struct record r;
	struct err ignored;
	bool beneath = name_file(&r, folder, name, &ignored) == 0 &&
	               record_read(&r, &ignored) == 0 && r.beneath;

	record_close(&r);
	return beneath;
}
