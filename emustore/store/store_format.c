/* store_format.c: makes a new store, and reads and writes its object "format", which
 * tells programs whether they may use the store.  Called by store.c and the program,
 * in the thread that makes or opens the store. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/replace.h"
#include "emustore/objects/folder.h"
#include "emustore/s3/s3.h"
#include "emustore/store/store_impl.h"

enum {
	FORMAT_BYTES_MAX = 1000,
	TABLE_ROOM = 1 << 20,
	OLD_DIGITS_MAX = 10, /* of the number that a pack of format 1 or 2 is called by */
};

static const char *
writers_of(bool folder)
{
	return folder ? "lock" : "claim";
}

static int
write_format(struct objects *o, bool folder, uint64_t pack_bytes, uint64_t grace,
    struct err *e)
{
	char text[FORMAT_BYTES_MAX];
	int n = snprintf(text, sizeof text,
	    "emustore %d\npack-bytes %" PRIu64 "\ngrace-seconds %" PRIu64
	    "\nwriters %s\n",
	    STORE_FORMAT, pack_bytes, grace, writers_of(folder));

	return folder ? folder_replace(o, KEY_FORMAT, text, (size_t)n, e)
	              : o->ops->put(o->ctx, KEY_FORMAT, text, (size_t)n, e);
}

static int
err_writers(const struct store *s, const char *writers, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: the writers of this store exclude each other by \"%.15s\", but here "
	    "this program can only do so by \"%s\"",
	    s->objects->title, writers, writers_of(s->folder));
}

/* Read the text of the format.  The first line was "emustore-s3 1" in buckets, and had
 * lower numbers, before there was a version of the suite. */
static int
parse_format(struct store *s, const char *text, struct err *e)
{
	char writers[16] = "";
	unsigned version;
	size_t n = strcspn(text, "\n");

	if (sscanf(text, "emustore-s3 %u", &version) == 1 ||
	    (sscanf(text, "emustore %u", &version) == 1 && version != STORE_FORMAT))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the store has the format \"%.*s\", and this program knows only "
		    "\"emustore %d\"",
		    s->objects->title, n < 40 ? (int)n : 40, text, STORE_FORMAT);
	int words = sscanf(text,
	    "emustore %u pack-bytes %18" SCNu64 " grace-seconds %18" SCNu64
	    " writers %15s",
	    &version, &s->pack_bytes, &s->grace_seconds, writers);
	if (words == 4 && strcmp(writers, writers_of(s->folder)) != 0)
		return err_writers(s, writers, e);
	if (words == 4 && s->pack_bytes > 0 && s->pack_bytes <= STORE_PACK_BYTES_MAX)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s: its object \"format\" is not that of a store (emustore repair writes "
	    "it again)",
	    s->objects->title);
}

/* Does a place without the object "format" have tables or images, so that it is a store
 * nevertheless?  1, 0, -1. */
static int
has_tables(struct store *s, struct err *e)
{
	if (listing_get(&s->tables, s->objects, KEYS_TABLES, NULL, e) != 0 ||
	    listing_get(&s->images, s->objects, KEYS_IMAGES, NULL, e) != 0)
		return -1;
	return s->tables.n + s->images.n > 0;
}

static int
err_no_format(struct store *s, struct err *e)
{
	struct err why = *e;
	int rc = 0;

	/* The server does not know the bucket, or the keys: it is not only the object that
	 * is missing. */
	if (strstr(e->text, " 404, ") != NULL && strstr(e->text, "NoSuchKey") == NULL)
		return e->kind = ERR_ABSENT, -1;
	rc = has_tables(s, &why);
	if (rc < 0)
		return *e = why, -1;
	if (rc == 1)
		return err_set(e, ERR_FORMAT,
		    "%s: its object \"format\" is lost (emustore repair writes it "
		    "again)",
		    s->objects->title);
	return err_set(e, ERR_ABSENT, "%s: is not a store (emustore init makes one)",
	    s->objects->title);
}

/* Is this the name of a pack of format 1 or 2, such as 00000012.pack? */
static bool
is_old_pack(const char *key)
{
	size_t digits = strspn(key, "0123456789");

	return digits <= OLD_DIGITS_MAX && strcmp(key + digits, ".pack") == 0;
}

/* ERR_UNSUPPORTED: a folder has packs of an older format.  If today's format were
 * written, the images in them would not be found. */
static int
check_no_old_packs(struct store *s, struct err *e)
{
	struct listing l = { 0 };
	int rc = listing_get(&l, s->objects, KEYS_PACKS, NULL, e);

	for (size_t i = 0; i < l.n && rc == 0; i++)
		if (is_old_pack(l.v[i].key))
			rc = err_set(e, ERR_UNSUPPORTED,
			    "%s: its object \"format\" is lost or damaged, and it has packs "
			    "of an older format, which this program does not know",
			    s->objects->title);
	listing_free(&l);
	return rc;
}

int
store_read_format(struct store *s, bool mend, struct err *e)
{
	struct objects *o = s->objects;
	struct buf b = { 0 };
	int rc = o->ops->load(o->ctx, KEY_FORMAT, FORMAT_BYTES_MAX, &b, e);

	if (rc != 0 && e->os == ENOENT)
		rc = err_no_format(s, e);
	else if (rc == 0) {
		buf_bytes(&b, "", 1);
		rc = buf_ok(&b) ? parse_format(s, (char *)b.base, e)
		                : err_nomem(e, "the format");
	}
	buf_free(&b);
	if (rc == 0 || !mend || e->kind != ERR_FORMAT)
		return rc;
	if (s->folder && check_no_old_packs(s, e) != 0)
		return -1;
	s->pack_bytes = STORE_PACK_BYTES;
	s->grace_seconds = s->folder ? 0 : STORE_GRACE_SECONDS;
	return write_format(o, s->folder, s->pack_bytes, s->grace_seconds, e);
}

/* 1: it is a store already; 0: it is not; -1. */
static int
is_store(struct objects *o, struct err *e)
{
	struct buf there = { 0 };
	int rc = o->ops->load(o->ctx, KEY_FORMAT, FORMAT_BYTES_MAX, &there, e);

	buf_free(&there);
	return rc == 0 ? 1 : e->os == ENOENT ? 0 : -1;
}

static int
init_bucket(const char *url, uint64_t pack_bytes, uint64_t grace, struct err *e)
{
	struct objects *o;

	if (s3_open(&o, url, e) != 0)
		return -1;
	int rc = is_store(o, e);
	if (rc == 1)
		rc = err_set(e, ERR_REFUSED, "%s: is already a store", o->title);
	else if (rc == 0)
		rc = write_format(o, false, pack_bytes,
		    grace != 0 ? grace : STORE_GRACE_SECONDS, e);
	objects_release(o);
	return rc;
}

static void
reserve_room(struct objects *o, uint64_t pack_bytes, struct err *lacks)
{
	struct err why;

	if (folder_reserve(o, pack_bytes + TABLE_ROOM, &why) != 0)
		*lacks = why;
}

static int
init_folder(const char *dir, uint64_t pack_bytes, struct err *lacks, struct err *e)
{
	struct objects *o;
	bool made;

	if (folder_make(dir, &made, e) != 0)
		return -1;
	/* What is put later is on the disk only if the store itself is. */
	int rc = made ? replace_sync_name(dir, e) : 0;
	if (rc == 0)
		rc = folder_open(&o, dir, e);
	if (rc == 0) {
		rc = folder_make_parts(o, e);
		if (rc == 0 && (rc = write_format(o, true, pack_bytes, 0, e)) != 0)
			folder_undo(o);
		if (rc == 0)
			reserve_room(o, pack_bytes, lacks);
		objects_release(o);
	}
	if (rc != 0 && made)
		rmdir(dir); /* fails if something else was put there meanwhile */
	return rc;
}

int
store_init(const char *url, uint64_t pack_bytes, uint64_t grace_seconds, struct err *lacks,
    struct err *e)
{
	bool folder = !s3_is_url(url);

	lacks->kind = ERR_NONE;
	if (pack_bytes == 0)
		pack_bytes = STORE_PACK_BYTES;
	if (folder && grace_seconds != 0)
		return err_set(e, ERR_USAGE, "--grace is for stores in a bucket");
	if (pack_bytes > STORE_PACK_BYTES_MAX)
		return err_set(e, ERR_USAGE,
		    "a pack has at most %d MiB: it is made in memory",
		    STORE_PACK_BYTES_MAX >> 20);
	return folder ? init_folder(url, pack_bytes, lacks, e)
	              : init_bucket(url, pack_bytes, grace_seconds, e);
}
