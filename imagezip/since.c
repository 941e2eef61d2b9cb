/* since.c: asks a source of change of dsync what has changed since the last image.  main.c
 * calls this in the first thread. */
#include "imagezip/since.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsync/change/change.h"
#include "dsync/change/find.h"
#include "dsync/read/device.h"

static const char folder[] = "/var/lib/dsync";

struct since {
	const struct change_kind *kind;
	struct change_job job;
	struct change_about about;
	void *self; /* the kind's own data; NULL: not open */
	struct bases bases;
	struct rangeset changed; /* sectors of the source */
	char found[FIND_SINCE_BYTES];
	char *sig; /* path of the signature */
	struct sig made; /* the signature of the image that was made; owned */
};

/* Turn bytes into the sectors that they lie in. */
static int
in_sectors(const struct rangeset *bytes, struct rangeset *sectors, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(bytes); i++) {
		struct range r = rangeset_get(bytes, i);
		uint64_t first = r.off / SECTOR_BYTES;
		uint64_t end = (range_end(r) + SECTOR_BYTES - 1) / SECTOR_BYTES;
		rc = rangeset_add(sectors, (struct range){ first, end - first }, e);
	}
	rangeset_seal(sectors);
	return rc;
}

/* Find the kind, and open what is remembered. */
static int
find_kind(struct since *s, const struct options *o, struct err *e)
{
	const char *since = o->since;

	if (since == NULL) {
		if (find_tracker(o->what.source, s->found, e) != 0)
			return -1;
		since = s->found;
	}
	s->kind = change_find(since, &s->job.args, e);
	if (s->kind == NULL)
		return -1;
	if (s->kind->sent != NULL)
		return err_set(e, ERR_USAGE,
		    "--since=%s: reads all of the source, as -H does without --changed-since",
		    s->kind->name);
	if (asprintf(&s->sig, "%s.sig", o->changed_since) < 0)
		return s->sig = NULL, err_nomem(e, "a name");
	return bases_open(&s->bases, o->changed_since, s->kind->name, 0, e);
}

/* Refuse a source of change that compares with a fixed state and not with the last image:
 * a block that had changed before that image, and was changed back since, would be missing
 * in the delta. */
static int
check_compared(const struct since *s, struct err *e)
{
	if (s->kind->has_bases || !s->about.compares)
		return 0;
	return err_set(e, ERR_USAGE,
	    "--since=%s: compares with a state of its own, not with the last image; -H "
	    "makes a delta to a signature",
	    s->kind->name);
}

/* Open the source of change for the device.  If the device has another size, nothing is known. */
static int
open_kind(struct since *s, const struct options *o, struct err *e)
{
	s->job.device = o->what.source;
	s->job.folder = folder;
	s->job.state_path = o->changed_since;
	if (device_open(&s->job.disk, o->what.source, e) != 0)
		return -1;
	s->job.device_bytes = disk_size_bytes(s->job.disk);
	if (s->bases.device_bytes != s->job.device_bytes) {
		bases_forget(&s->bases);
		s->bases.device_bytes = s->job.device_bytes;
	}
	return s->kind->open(&s->self, &s->job, &s->about, e) == 0 ? check_compared(s, e) : -1;
}

static int
find_changed(struct since *s, char warning[512], struct err *e)
{
	struct rangeset bytes;

	rangeset_init(&bytes);
	int rc = change_since(s->kind, s->self, &s->job, &s->about, s->bases.all,
	    bases_known(&s->bases) ? s->bases.n : 0, &bytes, warning, e);
	if (rc == 0)
		rc = in_sectors(&bytes, &s->changed, e);
	rangeset_free(&bytes);
	return rc;
}

int
since_begin(struct since **out, struct options *o, char warning[512], struct err *e)
{
	struct since *s = *out = calloc(1, sizeof *s);

	warning[0] = '\0';
	if (s == NULL)
		return err_nomem(e, "--changed-since");
	rangeset_init(&s->changed);
	s->bases.lock = -1;
	if (find_kind(s, o, e) != 0 || open_kind(s, o, e) != 0)
		return -1;
	/* Without a base, or without its signature, the image is a full one. */
	bool base = access(s->sig, F_OK) == 0 && (!s->kind->has_bases || bases_known(&s->bases));
	if (base && find_changed(s, warning, e) != 0)
		return -1;
	if (s->about.from[0] != '\0')
		o->what.source = s->about.from;
	o->what.sig_old = base ? s->sig : NULL;
	o->what.changed = base ? &s->changed : NULL;
	o->what.make_sig = true;
	return 0;
}

static void
tell_dropped(void *arg, const struct base *base)
{
	struct since *s = arg;

	if (s->kind->dropped != NULL)
		s->kind->dropped(&s->job, base);
}

void
since_note(struct since *s, struct sig *sig)
{
	sig_free(&s->made);
	s->made = *sig;
	*sig = (struct sig){ 0 };
}

int
since_keep(struct since *s, struct err *e)
{
	struct base base;

	/* A signature that is newer than the state does no harm: what has changed since the
	 * older state has all that differs. */
	if (sig_write(&s->made, s->sig, NULL, false, e) != 0)
		return -1;
	if (!s->kind->has_bases)
		return bases_save(&s->bases, e);
	stream_id_make(&base.id);
	if (s->kind->keep(s->self, &base.id, base.token, e) != 0)
		return -1;
	bases_add(&s->bases, &base, tell_dropped, s);
	if (bases_confirm(&s->bases, &base.id, tell_dropped, s, e) != 0)
		return -1;
	return bases_save(&s->bases, e);
}

void
since_end(struct since *s)
{
	struct err ignored; /* nothing was written to the disk */

	if (s == NULL)
		return;
	if (s->self != NULL)
		s->kind->close(s->self);
	rangeset_free(&s->changed);
	bases_close(&s->bases);
	disk_close(s->job.disk, &ignored);
	sig_free(&s->made);
	free(s->sig);
	free(s);
}
