/* ntfs_list.c: opening a stream of NTFS: its attribute, or all parts of it that the
 * attribute list names, in whatever records they are. */
#include <inttypes.h>
#include <stdlib.h>

#include "fsmods/ntfs/ntfs_attr.h"

enum { LIST_BYTES_MAX = 256 << 10 }; /* as Windows has it */

struct list_entry {
	uint32_t type;
	struct rd name;
	uint64_t vcn, ref;
};

/* 1, 0 at the end, -1. */
static int
list_next(struct rd *list, struct list_entry *l, struct err *e)
{
	struct rd head = *list;

	if (rd_left(list) == 0)
		return 0;
	l->type = rd_le32(&head);
	struct rd body = rd_sub(list, rd_le16(&head));
	size_t name_chars = rd_u8(&head), name_at = rd_u8(&head);
	l->vcn = rd_le64(&head);
	l->ref = rd_le64(&head);
	l->name = name_chars == 0 ? rd_from(NULL, 0)
	                          : ntfs_slice(&body, name_at, name_chars * 2);
	if (!rd_ok(&head) || !rd_ok(&body) || body.len < 24 || !rd_ok(&l->name))
		return err_set(e, ERR_FORMAT, "an attribute list is damaged");
	return 1;
}

/* The part of an attribute that a list's entry points to.  Parts come in the
 * order of their vcns, so a list that goes in circles ends at once. */
static int
add_listed(const struct ntfs *v, const struct ntfs_record *base,
    const struct list_entry *l, const char *name, struct ntfs_record *other,
    struct ntfs_stream *s, struct err *e)
{
	const struct ntfs_record *m = base;
	struct ntfs now = *v;
	struct ntfs_attr a;

	/* Later parts of the MFT are described in records of its earlier parts. */
	if (base->number == NTFS_MFT && l->type == NTFS_AT_DATA && s->clusters > 0)
		now.mft = *s;
	if (l->vcn != s->clusters)
		return err_set(e, ERR_FORMAT, "an attribute list is out of order");
	if (NTFS_REF_RECORD(l->ref) != base->number) {
		if (ntfs_record_read(&now, NTFS_REF_RECORD(l->ref), other, e) != 0)
			return -1;
		if (NTFS_REF_RECORD(other->base) != base->number || other->base == 0)
			return err_set(e, ERR_FORMAT,
			    "record %" PRIu64 " is another file's", other->number);
		m = other;
	}
	if (m->sequence != NTFS_REF_SEQUENCE(l->ref))
		return err_set(e, ERR_FORMAT, "an attribute list is stale");
	int rc = ntfs_attr_find(m, l->type, name, l->vcn, &a, e);
	if (rc == 0)
		return err_set(
		    e, ERR_FORMAT, "an attribute list names what is not there");
	return rc < 0 ? -1 : ntfs_stream_add(v, &a, s, e);
}

/* All parts of an attribute, in the order of the list: 1, 0, -1. */
static int
open_listed(const struct ntfs *v, const struct ntfs_record *base, struct rd list,
    uint32_t type, const char *name, struct ntfs_stream *s, struct err *e)
{
	struct ntfs_record *other = malloc(sizeof *other);
	struct list_entry l;
	int rc, found = 0;

	if (other == NULL)
		return err_nomem(e, "a record");
	while ((rc = list_next(&list, &l, e)) == 1) {
		if (l.type != type || !ntfs_name_is(l.name, name))
			continue;
		/* A resident attribute, or an empty one, has one part only. */
		if (found && s->clusters == 0)
			rc = err_set(
			    e, ERR_FORMAT, "an attribute list names something twice");
		else
			rc = add_listed(v, base, &l, name, other, s, e);
		if (rc != 0)
			break;
		found = 1;
	}
	free(other);
	return rc < 0 ? -1 : found;
}

/* The attribute list itself is in the base record, its value perhaps not. */
static int
read_list(const struct ntfs *v, const struct ntfs_attr *a, uint8_t **list,
    size_t *bytes, struct err *e)
{
	struct ntfs_stream s = { 0 };
	int rc = ntfs_stream_add(v, a, &s, e);

	*list = NULL;
	if (rc == 0 && s.bytes > LIST_BYTES_MAX)
		rc = err_set(
		    e, ERR_FORMAT, "an attribute list of %" PRIu64 " bytes", s.bytes);
	if (rc == 0) {
		*bytes = s.bytes;
		*list = malloc(s.bytes > 0 ? s.bytes : 1);
		rc = *list == NULL ? err_nomem(e, "an attribute list")
		                   : ntfs_stream_read(v, &s, *list, s.bytes, 0, e);
	}
	ntfs_stream_close(&s);
	return rc;
}

static int
check_stream(const struct ntfs *v, const struct ntfs_stream *s, struct err *e)
{
	uint64_t whole = s->bytes / v->cluster_bytes,
		 rest = s->bytes % v->cluster_bytes;

	if (!s->resident && s->clusters < whole + (rest != 0))
		return err_set(e, ERR_FORMAT, "a run list is shorter than the stream");
	return 1;
}

int
ntfs_stream_open(const struct ntfs *v, const struct ntfs_record *base, uint32_t type,
    const char *name, struct ntfs_stream *s, struct err *e)
{
	struct ntfs_attr a;
	uint8_t *list;
	size_t bytes;

	*s = (struct ntfs_stream){ 0 };
	int rc = ntfs_attr_find(base, NTFS_AT_LIST, "", 0, &a, e);
	if (rc == 1) {
		rc = read_list(v, &a, &list, &bytes, e);
		if (rc == 0)
			rc = open_listed(
			    v, base, rd_from(list, bytes), type, name, s, e);
		free(list);
	} else if (rc == 0) {
		rc = ntfs_attr_find(base, type, name, 0, &a, e);
		if (rc == 1 && ntfs_stream_add(v, &a, s, e) != 0)
			rc = -1;
	}
	if (rc == 1)
		rc = check_stream(v, s, e);
	return rc < 0 ? err_ctx(e, "record %" PRIu64, base->number) : rc;
}
