/* notes.c: what is noted beside the states: what differs in the copy and what was never sent.  extract.c
 * and dsync call this, in their first thread. */
#include "dsync/extract/notes.h"

#include <stdio.h>

#include "dsync/extract/noted.h"

int
notes_add_differing(const struct states *s, struct rangeset *changed, struct extract_report *r,
    struct err *e)
{
	struct rangeset differs;
	struct err why;

	if (!s->kind->has_bases)
		return 0;
	rangeset_init(&differs);
	int rc = noted_read(
	    s->path, NOTED_DIFFERS, s->job.device_bytes, &differs, &why);
	if (rc != 0 && r->warning[0] == '\0')
		snprintf(r->warning, sizeof r->warning, "everything counts as changed: %.470s",
		    why.text);
	rc = rc == 0 ? 0 : rangeset_add(&differs, (struct range){ 0, s->job.device_bytes }, e);
	rangeset_seal(&differs);
	r->differed_bytes = rangeset_total(&differs);
	if (rc == 0)
		rc = rangeset_union(changed, &differs, e);
	rangeset_free(&differs);
	return rc;
}

/* Remember what a full copy leaves out, instead of what was left out before.  The list of what
 * was never sent belongs to one state.  So, unless the old list and the new one are empty, all
 * states are forgotten, and none is remembered beside that of this copy until it has arrived.
 * They are forgotten first, so that no crash leaves a state with the list of another one. */
static int
replace_unsent(struct states *s, bool were_some, const struct rangeset *unused, struct err *e)
{
	if (!were_some && rangeset_count(unused) == 0)
		return 0;
	states_forget(s);
	if (bases_save(&s->bases, e) != 0)
		return -1;
	return noted_write(s->path, NOTED_UNSENT, unused, e);
}

int
notes_remember_unsent(struct states *s, const struct rangeset *changed,
    const struct rangeset *unused, struct err *e)
{
	bool full = rangeset_total(changed) == s->job.device_bytes;
	struct rangeset before;

	rangeset_init(&before);
	int rc = noted_read(
	    s->path, NOTED_UNSENT, s->job.device_bytes, &before, e);
	if (full) {
		/* A list that cannot be read is replaced, too. */
		rc = replace_unsent(s, rc != 0 || rangeset_count(&before) > 0, unused, e);
	} else if (rc == 0 && rangeset_count(&before) > 0) {
		rc = rangeset_minus(&before, changed, e);
		if (rc == 0)
			rc = noted_write(s->path, NOTED_UNSENT, &before, e);
	}
	rangeset_free(&before);
	return rc;
}

/* Add ranges to the list of those that differ.  One that is damaged stays: everything will be sent. */
static int
note_more(struct states *s, uint64_t device_bytes, const struct rangeset *differs, struct err *e)
{
	struct rangeset all;

	rangeset_init(&all);
	int rc = noted_read(s->path, NOTED_DIFFERS, device_bytes, &all, e);
	bool damaged = rc != 0 && e->kind == ERR_FORMAT;
	if (rc == 0)
		rc = rangeset_union(&all, differs, e);
	if (rc == 0)
		rc = noted_write(s->path, NOTED_DIFFERS, &all, e);
	rangeset_free(&all);
	return damaged ? 0 : rc;
}

/* A stream of a pending state lacks what is noted now, so it must not count as arrived any more.
 * The states are forgotten first, so that no crash leaves one of them beside the new list. */
int
extract_differs(const struct extract_config *cfg, uint64_t device_bytes,
    const struct rangeset *differs, struct err *e)
{
	struct states s;
	int rc = states_look(&s, cfg, e);

	if (rc == 0) {
		bases_drop_pending(&s.bases, states_dropped, &s);
		rc = bases_save(&s.bases, e);
	}
	if (rc == 0)
		rc = note_more(&s, device_bytes, differs, e);
	states_end(&s);
	return rc;
}

int
extract_noted(const struct extract_config *cfg, enum noted what, uint64_t device_bytes,
    struct rangeset *noted, struct err *e)
{
	struct states s;
	int rc = states_find(&s, cfg, e);

	if (rc == 0)
		rc = states_open(&s, BASES_LOOK, e);
	rangeset_init(noted);
	if (rc == 0 && s.path != NULL)
		rc = noted_read(s.path, what, device_bytes, noted, e);
	states_end(&s);
	if (rc != 0)
		rangeset_free(noted);
	return rc;
}
