/* notes.c: what the history of mfrisbeed is told of sessions that have ended (notes.h).  servers.c calls
 * this, in the program's first thread. */
#include "controller/sending/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "controller/http/shapes.h"

/* A history that is full, or that an mfrisbeed of an older version has not, stays so for a while. */
enum { AGAIN_US = 60000000 };

void
notes_again(struct notes *x)
{
	x->session = 0;
}

/* This session is passed over for now.  others: they wait, too. */
static void
try_later(struct notes *x, uint64_t now_us, const char *why, bool others)
{
	log_warn("the history of session=%u stays here for now: %s", x->session, why);
	x->behind = x->session;
	x->session = 0;
	x->round_us = now_us + AGAIN_US;
	if (others)
		x->again_us = x->round_us;
}

static int
take_session(void *arg, const struct swap_session *s, struct err *e)
{
	struct notes *x = arg;
	(void)e;

	memcpy(x->image, s->image, sizeof x->image);
	x->capture = s->capture;
	x->began_s = s->began_s > 0 ? s->began_s : 0;
	x->last[0] = '\0';
	x->told = 0;
	return 0;
}

struct telling {
	struct notes *x;
	char *line;
	size_t cap;
};

/* Writes the request that tells of a node. */
static int
tell(void *arg, const struct swap_node *n, struct err *e)
{
	struct telling *t = arg;
	struct notes *x = t->x;
	struct swap_node ended = *n;
	struct json *j = json_new();
	char holder[2 * SWAP_SALT_BYTES];
	size_t bytes = 0;

	if (n->phase < SWAP_DONE) { /* of an older controller, which was killed then */
		ended.phase = SWAP_FAILED;
		snprintf(ended.words, sizeof ended.words, "while %s: its end was not saved", swap_phase_name(n->phase));
	}
	snprintf(holder, sizeof holder, "%s-%u", x->w->config.salt, x->session);
	json_one_line(j);
	json_object(j, NULL);
	json_string(j, "holder", holder);
	json_string(j, "image", x->image);
	json_bool(j, "capture", x->capture);
	json_uint(j, "began", (uint64_t)x->began_s);
	json_double(j, "seconds", n->since_s > x->began_s ? n->since_s - x->began_s : 0);
	shapes_node(j, "node", x->w, &ended);
	json_end(j);
	char *text = json_text(j, &bytes);
	if (text == NULL)
		return err_nomem(e, "a node");
	snprintf(t->line, t->cap, "note %.*s", (int)(bytes - 1), text);
	free(text);
	memcpy(x->last, n->name, sizeof x->last);
	x->told++;
	return 0;
}

/* Begins with the next session of which the history is to be told, if there is one. */
static int
begin(struct notes *x, uint64_t now_us, struct err *e)
{
	int rc = swapdb_unnoted(x->db, x->behind, &x->session, e);

	if (rc == 0 && x->session == 0 && x->behind != 0 && now_us >= x->round_us) {
		x->behind = 0;
		rc = swapdb_unnoted(x->db, 0, &x->session, e);
	}
	return rc == 0 && x->session != 0 ? swapdb_session(x->db, x->session, take_session, x, e) : rc;
}

bool
notes_next(struct notes *x, uint64_t now_us, char *line, size_t cap)
{
	struct telling t = { x, line, cap };
	struct err e;

	if (x->db == NULL || now_us < x->again_us)
		return false;
	line[0] = '\0';
	if ((x->session == 0 && begin(x, now_us, &e) != 0) ||
	    (x->session != 0 && swapdb_member_behind(x->db, x->session, x->last, tell, &t, &e) != 0)) {
		try_later(x, now_us, e.text, x->session == 0 || e.kind != ERR_FORMAT);
		return false;
	}
	if (x->session == 0)
		return false;
	x->proves = line[0] == '\0';
	if (x->proves)
		snprintf(line, cap, "members holder=%s-%u", x->w->config.salt, x->session);
	return true;
}

void
notes_answered(struct notes *x, uint64_t now_us, const struct jtree *said, const char *why)
{
	struct err e;

	if (why != NULL) {
		try_later(x, now_us, why, true);
	} else if (x->proves && jtree_count(jtree_get(said, "members")) < x->told) {
		try_later(x, now_us, "mfrisbeed could not write it", true);
	} else if (x->proves && swapdb_noted(x->db, x->session, &e) != 0) {
		try_later(x, now_us, e.text, true);
	} else if (x->proves) {
		swap_noted(x->w, x->session);
		x->session = 0;
	}
}
