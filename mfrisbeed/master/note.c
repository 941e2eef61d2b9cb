/* note.c: reads what a controller says of a node's load (note.h).  local.c calls this, in the
 * master's first thread. */
#include "mfrisbeed/master/note.h"

#include <stdio.h>
#include <string.h>

#include "common/base/jtree.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/sessions.h"

/* Seconds since 1970, of a clock that may be set: until the year 2286. */
static const double SECONDS_MAX = 1e10;

/* Copies a text that has 1 to cap - 1 bytes. */
static int
take_text(char *out, size_t cap, const struct jtree *o, const char *key, struct err *e)
{
	const char *text = jtree_text(jtree_get(o, key));

	if (text == NULL || text[0] == '\0' || strlen(text) >= cap)
		return err_set(e, ERR_USAGE, "note: \"%s\" is no text of 1 to %zu bytes", key, cap - 1);
	strcpy(out, text);
	return 0;
}

static int
take_times(struct history_event *v, const struct jtree *o, struct err *e)
{
	double began_s = jtree_number(jtree_get(o, "began"), -1);

	v->seconds = jtree_number(jtree_get(o, "seconds"), -1);
	if (!(began_s >= 0 && began_s <= SECONDS_MAX && v->seconds >= 0 && v->seconds <= SECONDS_MAX))
		return err_set(e, ERR_USAGE, "note: \"began\" or \"seconds\" is no time");
	v->began_us = (uint64_t)(began_s * 1e6);
	return 0;
}

static int
take_outcome(struct history_event *v, const struct jtree *node, struct err *e)
{
	static const enum history_outcome outcomes[] = { HISTORY_DONE, HISTORY_FAILED, HISTORY_STOPPED };
	const char *phase = jtree_text(jtree_get(node, "phase"));

	for (int i = 0; phase != NULL && i < 3; i++)
		if (strcmp(phase, history_outcome_name(outcomes[i])) == 0) {
			v->outcome = outcomes[i];
			return 0;
		}
	return err_set(e, ERR_USAGE, "note: \"phase\" is not done, failed or stopped");
}

static int
take_node(struct history_event *v, const struct jtree *node, struct err *e)
{
	const char *address = jtree_text(jtree_get(node, "address"));
	const char *words = jtree_text(jtree_get(node, "last_words"));
	uint64_t tries = 0;

	if (take_text(v->node, sizeof v->node, node, "name", e) != 0 || take_outcome(v, node, e) != 0)
		return -1;
	if (address != NULL && addr_parse(address, v->host, e) != 0)
		return err_ctx(e, "note");
	if (words != NULL && v->outcome != HISTORY_DONE)
		snprintf(v->why, sizeof v->why, "%s", words);
	if (jtree_whole(jtree_get(node, "try"), &tries) && tries <= UINT32_MAX)
		v->tries = (unsigned)tries;
	return 0;
}

static int
take(struct history_event *v, const struct jtree *o, struct err *e)
{
	v->kind = jtree_true(jtree_get(o, "capture")) ? HISTORY_CAPTURE : HISTORY_LOAD;
	if (take_text(v->holder, sizeof v->holder, o, "holder", e) != 0 ||
	    take_text(v->image, sizeof v->image, o, "image", e) != 0 || take_times(v, o, e) != 0)
		return -1;
	if (!sessions_is_holder(v->holder))
		return err_set(e, ERR_USAGE, "note: \"%s\" is no label of a holder", v->holder);
	return take_node(v, jtree_get(o, "node"), e);
}

int
note_read(struct history_event *v, const char *text, size_t bytes, struct err *e)
{
	struct jtree *o;

	*v = (struct history_event){ .told = text, .told_bytes = bytes };
	if (jtree_read(&o, text, bytes, e) != 0)
		return err_ctx(e, "note");
	int rc = take(v, o, e);
	jtree_free(o);
	return rc;
}
