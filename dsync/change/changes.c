/* changes.c: the list of all sources of change, and the sink that takes whatever they do not
 * report as changed.  The extract calls this, in its first thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dsync/change/change.h"

struct same_sink {
	uint64_t device_bytes;
	struct rangeset same;
};

static const struct change_kind *const kinds[] = { &change_era, &change_thin, &change_nbd,
	&change_map, &change_ranges, &change_sig, &change_image, &change_scan };

enum { NKINDS = sizeof kinds / sizeof *kinds };

const struct change_kind *
change_at(unsigned i)
{
	return i < NKINDS ? kinds[i] : NULL;
}

const struct change_kind *
change_find(const char *since, const char **args, struct err *e)
{
	size_t n = strcspn(since, ":");
	char list[200] = "";

	*args = since[n] == ':' ? since + n + 1 : "";
	for (unsigned i = 0; i < NKINDS; i++)
		if (strlen(kinds[i]->name) == n && memcmp(since, kinds[i]->name, n) == 0)
			return kinds[i];
	for (unsigned i = 0; i < NKINDS; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
		    i > 0 ? ", " : "", kinds[i]->name);
	err_set(e, ERR_USAGE, "there is no source of change \"%.40s\"; there are: %s", since,
	    list);
	return NULL;
}

int
same_sink_add(struct same_sink *s, struct range bytes, struct err *e)
{
	if (!range_within(bytes, s->device_bytes))
		return err_set(e, ERR_FORMAT,
		    "the bytes from %" PRIu64 " on are beyond the end of the device",
		    bytes.off);
	return bytes.len > 0 ? rangeset_add(&s->same, bytes, e) : 0;
}

int
same_sink_add_all_but(struct same_sink *s, const struct rangeset *changed, struct err *e)
{
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(changed); i++) {
		struct range r = rangeset_get(changed, i);
		if (r.off >= s->device_bytes)
			break;
		rc = same_sink_add(s, (struct range){ at, r.off - at }, e);
		at = range_clip(r, 0, s->device_bytes).len + r.off;
	}
	return rc == 0 ? same_sink_add(s, (struct range){ at, s->device_bytes - at }, e) : rc;
}

/* Add the whole blocks that hold any of these bytes to *to. */
static int
add_blocks(struct rangeset *to, const struct rangeset *from, uint64_t block,
    uint64_t device_bytes, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(from); i++) {
		struct range r = rangeset_get(from, i);
		uint64_t lo = r.off / block * block;
		uint64_t hi = (range_end(r) + block - 1) / block * block;
		if (hi > device_bytes)
			hi = device_bytes;
		rc = rangeset_add(to, (struct range){ lo, hi - lo }, e);
	}
	return rc;
}

/* Add what has changed since one base to *changed. */
static int
since_one(const struct change_kind *k, void *self, const struct change_job *job,
    const struct change_about *about, const struct base *base, struct rangeset *changed,
    char warning[512], struct err *e)
{
	struct same_sink sink = { .device_bytes = job->device_bytes };

	rangeset_init(&sink.same);
	int rc = k->same(self, base, &sink, e);
	if (rc != 0 && e->kind != ERR_NOMEM && e->kind != ERR_CANCELLED) {
		snprintf(warning, 512, "everything counts as changed: %.470s", e->text);
		rangeset_free(&sink.same);
		rc = 0;
	}
	rangeset_seal(&sink.same);
	if (rc == 0)
		rc = rangeset_invert(&sink.same, 0, job->device_bytes, e);
	if (rc == 0)
		rc = add_blocks(
		    changed, &sink.same, about->block_bytes, job->device_bytes, e);
	rangeset_free(&sink.same);
	return rc;
}

int
change_since(const struct change_kind *k, void *self, const struct change_job *job,
    const struct change_about *about, const struct base *bases, unsigned n,
    struct rangeset *changed, char warning[512], struct err *e)
{
	int rc = 0;

	warning[0] = '\0';
	if (!k->has_bases)
		rc = since_one(k, self, job, about, NULL, changed, warning, e);
	for (unsigned i = 0; rc == 0 && k->has_bases && i < n; i++)
		rc = since_one(k, self, job, about, &bases[i], changed, warning, e);
	if (rc == 0 && k->has_bases && n == 0)
		rc = rangeset_add(changed, (struct range){ 0, job->device_bytes }, e);
	rangeset_seal(changed);
	return rc;
}
