/* states.c: finds and opens what is remembered of a device, and records what the target has.
 * extract.c, notes.c, dmextract and dsync call this, in their first thread. */
#include "dsync/extract/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsync/change/hashes.h"
#include "dsync/extract/snapshot.h"
#include "dsync/run/place.h"

void
states_dropped(void *arg, const struct base *base)
{
	struct states *s = arg;

	if (s->kind->dropped != NULL)
		s->kind->dropped(&s->job, base);
	hashes_drop(s->path, &base->id);
}

void
states_end(struct states *s)
{
	bases_close(&s->bases);
	free(s->path);
}

/* Find the file in which the kind remembers states; NULL for a kind that remembers nothing. */
static int
find_state(struct states *s, struct err *e)
{
	const struct extract_config *c = s->cfg;
	const char *path = c->state != NULL                        ? c->state
	                   : s->kind->path_is_args && s->job.args[0] ? s->job.args
	                                                             : NULL;

	if (!s->kind->has_bases)
		return 0;
	if (s->kind->path_is_args && path == NULL)
		return err_set(e, ERR_USAGE, "--since=%s: %s is missing", s->kind->name,
		    s->kind->args);
	if (path == NULL)
		s->path = bases_path(c->folder, c->device, c->target, e);
	else if (asprintf(&s->path, "%s%s%s", path, c->target != NULL ? "." : "",
		     c->target != NULL ? c->target : "") < 0)
		s->path = NULL, err_nomem(e, "a name");
	return s->path != NULL ? 0 : -1;
}

/* A target's file of states is called after it.  No other target of the device may have a file of
 * that name beside its own. */
static int
check_target(const char *target, struct err *e)
{
	static const char *const taken[] = { "differs", "digests", "lock", "new", "partial",
		"unsent" };
	const char *dot = target != NULL ? strrchr(target, '.') : NULL;
	const char *word = dot != NULL ? dot + 1 : target;
	struct stream_id id;
	struct err ignored;
	bool is_taken = word != NULL && stream_id_get(&id, word, &ignored) == 0;

	for (size_t i = 0; word != NULL && i < sizeof taken / sizeof *taken; i++)
		is_taken |= strcmp(word, taken[i]) == 0;
	return is_taken ? err_set(e, ERR_USAGE,
	                      "--target=%s: choose another name: a file of another target may have "
	                      "this one", target)
	                : 0;
}

int
states_find(struct states *s, const struct extract_config *cfg, struct err *e)
{
	memset(s, 0, sizeof *s);
	s->cfg = cfg;
	s->bases.lock = -1;
	s->kind = change_find(cfg->since, &s->job.args, e);
	if (s->kind == NULL || check_target(cfg->target, e) != 0 || find_state(s, e) != 0)
		return -1;
	s->job.device = cfg->device;
	s->job.folder = cfg->folder;
	s->job.state_path = s->path;
	return cfg->snapshot != NULL ? snapshot_check(cfg->snapshot, e) : 0;
}

/* A full copy needs none of what the file holds. */
int
states_open(struct states *s, unsigned how, struct err *e)
{
	bool own = s->cfg->state == NULL && !(s->kind->path_is_args && s->job.args[0]);

	if (!s->kind->has_bases)
		return 0;
	if (s->cfg->full)
		how |= BASES_ANEW;
	if ((how & BASES_LOOK) == 0 && own && place_make(s->path, e) != 0)
		return -1;
	return bases_open(&s->bases, s->path, s->kind->name, how, e);
}

void
states_forget(struct states *s)
{
	struct bases *b = &s->bases;
	struct stream_id lineage = b->lineage;
	uint64_t bytes = b->device_bytes;

	for (unsigned i = 0; i < b->n && !s->look_only; i++)
		states_dropped(s, &b->all[i]);
	bases_forget(b);
	if (stream_id_set(&lineage))
		b->lineage = lineage;
	b->device_bytes = bytes;
}

static int
check_has_states(const struct states *s, struct err *e)
{
	if (s->kind->has_bases)
		return 0;
	return err_set(e, ERR_USAGE, "--since=%s: this source of change has no states",
	    s->kind->name);
}

int
states_look(struct states *s, const struct extract_config *cfg, struct err *e)
{
	if (states_find(s, cfg, e) != 0 || check_has_states(s, e) != 0)
		return -1;
	return states_open(s, BASES_LOOK, e);
}

int
extract_check_states(const struct extract_config *cfg, struct err *e)
{
	struct states s;
	int rc = states_find(&s, cfg, e);

	if (rc == 0)
		rc = check_has_states(&s, e);
	states_end(&s);
	return rc;
}

int
extract_done(const struct extract_config *cfg, const struct stream_id *id, struct err *e)
{
	struct states s;
	const struct rangeset none = { 0 };
	int rc = states_look(&s, cfg, e);
	struct stream_id before = s.bases.confirmed ? s.bases.all[0].id : (struct stream_id){ 0 };

	if (rc == 0)
		rc = bases_confirm(&s.bases, id, states_dropped, &s, e);
	if (rc == 0)
		rc = bases_save(&s.bases, e);
	/* Each state that was pending was sent after the copy was found to differ. */
	if (rc == 0 && !stream_id_same(&before, &s.bases.all[0].id))
		rc = noted_write(s.path, NOTED_DIFFERS, &none, e);
	states_end(&s);
	return rc;
}

int
extract_bases(const struct extract_config *cfg, struct bases *out, struct err *e)
{
	struct states s;
	int rc = states_look(&s, cfg, e);

	if (rc == 0) {
		*out = s.bases;
		s.bases.path = NULL; /* the caller owns the bases now */
	}
	states_end(&s);
	return rc;
}
