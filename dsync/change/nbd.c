/* nbd.c: the source of change "nbd": a dirty bitmap that QEMU keeps and serves beside the disk.
 * The extract calls this, in its first thread.
 *
 * From when the bitmap was made, QEMU sets a bit for what a guest writes, and
 * the export says so in the context "qemu:dirty-bitmap:NAME" (the document interop/bitmaps of
 * QEMU; libnbd's nbd_block_status(3)).  The token of a state is the name of the bitmap that
 * has all that was written since.  A bitmap that was made anew must have a new name: an export
 * does not tell whether two bitmaps of one name are the same bitmap.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/disk_nbd.h"
#include "common/disk/disk_nbd_impl.h"
#include "dsync/change/change.h"

enum {
	ASK_BYTES = 1 << 30, /* of one query; the protocol's limit is 4 GiB */
	NAME_BYTES = 200, /* of a bitmap, with the NUL */
	BLOCK_BYTES = 4096,  /* less than the granularity of any bitmap */
};

struct nbd_source {
	const struct change_job *job; /* borrowed */
	const struct nbd_lib *lib;
	char since[NAME_BYTES], next[NAME_BYTES]; /* bitmaps of the base and the new state */
};

static int
fail_nbd(const struct nbd_source *s, struct err *e)
{
	return err_set(e, ERR_IO, "%s: %s", s->job->device, s->lib->get_error());
}

/* Connect to the export, asking for one bitmap.  The handle in *out is the caller's, also on
 * failure; NULL: there is none. */
static int
connect_for(struct nbd_handle **out, const struct nbd_source *s, const char *bitmap,
    char context[NAME_BYTES + 40], struct err *e)
{
	struct nbd_handle *h = nbd_handle_for(s->lib, s->job->device);

	*out = h;
	if (h == NULL)
		return fail_nbd(s, e);
	snprintf(context, NAME_BYTES + 40, "qemu:dirty-bitmap:%s", bitmap);
	if (s->lib->add_meta_context(h, context) != 0 ||
	    s->lib->connect_uri(h, s->job->device) != 0)
		return fail_nbd(s, e);
	int can = s->lib->can_meta_context(h, context);
	if (can < 0)
		return fail_nbd(s, e);
	if (can == 0)
		return err_set(e, ERR_ABSENT, "%s: has no dirty bitmap \"%s\"", s->job->device,
		    bitmap);
	return 0;
}

/* Parse the names of bitmaps: NAME, or NAME,NEXT. */
static int
parse(struct nbd_source *s, struct err *e)
{
	const char *args = s->job->args;
	size_t n = strcspn(args, ",");
	const char *next = args[n] == ',' ? args + n + 1 : "";

	if (n == 0 || n >= NAME_BYTES || strlen(next) >= NAME_BYTES ||
	    strpbrk(args, " \t\n#") != NULL)
		return err_set(e, ERR_USAGE,
		    "--since=nbd: the name of a bitmap is missing or too long, or has "
		    "a space or #");
	memcpy(s->since, args, n);
	strcpy(s->next, next[0] != '\0' ? next : s->since);
	return 0;
}

/* The bitmap that the new state names must exist now: whatever is written from now on must be
 * in it. */
static int
nbd_open(void **self, const struct change_job *job, struct change_about *about, struct err *e)
{
	struct nbd_source *s = calloc(1, sizeof *s);
	char context[NAME_BYTES + 40];
	struct nbd_handle *h = NULL;

	if (s == NULL)
		return err_nomem(e, "nbd");
	s->job = job;
	int rc = 0;
	if (!disk_nbd_is(job->device))
		rc = err_set(e, ERR_USAGE,
		    "--since=nbd: %s is not an NBD export, which begins with nbd:// or "
		    "nbd+unix://",
		    job->device);
	if (rc == 0)
		rc = parse(s, e);
	s->lib = rc == 0 ? nbd_lib(e) : NULL;
	if (s->lib == NULL)
		rc = -1;
	if (rc == 0)
		rc = connect_for(&h, s, s->next, context, e);
	if (h != NULL)
		s->lib->close(h);
	about->block_bytes = BLOCK_BYTES;
	about->cumulative = true;
	if (rc == 0)
		*self = s;
	else
		free(s);
	return rc;
}

/* Gathers the replies to one query of block status. */
struct answer {
	const char *context;
	struct rangeset *dirty;
	uint64_t at; /* first byte not covered yet */
	struct err *e;
	bool failed;
};

static int
take_extents(void *arg, const char *context, uint64_t off, uint32_t *entries, size_t n,
    int *error)
{
	struct answer *a = arg;

	(void)error;
	if (strcmp(context, a->context) != 0)
		return 0;
	for (size_t i = 0; i + 1 < n && !a->failed; i += 2) {
		if ((entries[i + 1] & 1) != 0 && entries[i] > 0 &&
		    rangeset_add(a->dirty, (struct range){ off, entries[i] }, a->e) != 0)
			a->failed = true;
		off += entries[i];
	}
	a->at = off;
	return a->failed ? -1 : 0;
}

static int
ask_all(struct nbd_handle *h, struct nbd_source *s, const char *context,
    struct rangeset *dirty, struct err *e)
{
	uint64_t size = s->job->device_bytes;

	if ((uint64_t)s->lib->get_size(h) != size)
		return err_set(e, ERR_FORMAT, "%s: has another size now", s->job->device);
	for (uint64_t at = 0; at < size;) {
		struct answer a = { .context = context, .dirty = dirty, .at = at, .e = e };
		uint64_t n = size - at < ASK_BYTES ? size - at : ASK_BYTES;
		if (cancel_check(e) != 0)
			return -1;
		int rc = s->lib->block_status(h, n, at,
		    (nbd_extent_callback){ .callback = take_extents, .user_data = &a }, 0);
		if (a.failed)
			return -1;
		if (rc != 0)
			return fail_nbd(s, e);
		if (a.at <= at)
			return err_set(e, ERR_FORMAT,
			    "%s: the server does not say what has changed behind byte "
			    "%" PRIu64,
			    s->job->device, at);
		at = a.at;
	}
	return 0;
}

static int
nbd_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct nbd_source *s = self;
	char context[NAME_BYTES + 40];
	struct rangeset dirty;
	struct nbd_handle *h;

	rangeset_init(&dirty);
	int rc = connect_for(&h, s, base->token, context, e);
	if (rc == 0)
		rc = ask_all(h, s, context, &dirty, e);
	rangeset_seal(&dirty);
	if (rc == 0)
		rc = same_sink_add_all_but(sink, &dirty, e);
	rangeset_free(&dirty);
	if (h != NULL)
		s->lib->close(h);
	return rc;
}

static int
nbd_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES],
    struct err *e)
{
	const struct nbd_source *s = self;

	(void)id, (void)e;
	snprintf(token, BASE_TOKEN_BYTES, "%s", s->next);
	return 0;
}

const struct change_kind change_nbd = {
	.name = "nbd",
	.args = "BITMAP[,NEXT]",
	.about = "a dirty bitmap of QEMU, with DEV an NBD export; NEXT: the one of the next base",
	.has_bases = true,
	.open = nbd_open,
	.same = nbd_same,
	.keep = nbd_keep,
	.close = free,
};
