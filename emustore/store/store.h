/* store.h: a store of images, in a folder or in a bucket: the same objects (objects.h), and
 * the same for all that is done with them; docs/store-format.md.
 *
 *	format			how it was made
 *	packs/ID.pack		fragments; never changed
 *	tables/ID.toc		what such a pack holds (toc.h); made after it
 *	images/NAME/VERSION	recipes; made only where none is
 *	condemned/ID		in a bucket: nothing new may refer to that pack
 *
 * An image is there wholly or not at all: its recipe is made when all that it needs is
 * there.  What differs is how writers keep apart: in a folder one holds a lock, in a bucket
 * they make claims, and what goes waits for a grace.
 *
 * The index is a cache: it follows the objects whenever a store is opened.
 */
#ifndef EMUSTORE_STORE_STORE_H
#define EMUSTORE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/objects/objects.h"
#include "emustore/store/blocks.h"
#include "emustore/store/index.h"
#include "emustore/store/keys.h"
#include "emustore/store/packs.h"

enum {
	STORE_FORMAT = 3,
	STORE_PACK_BYTES = 32 << 20, /* in memory while it is made */
	STORE_PACK_BYTES_MAX = 256 << 20,
	STORE_GRACE_SECONDS = 24 * 60 * 60,
	STORE_REQUESTS = 8, /* under way at once */
};

struct writer;

struct store {
	struct objects *objects;
	bool folder, locked; /* locked: nobody else writes */
	uint64_t pack_bytes, grace_seconds;
	struct blocks *blocks; /* of a bucket; NULL: packs are files */
	/* The index, and where it is kept: NULL, it is this process's alone. */
	struct index *index;
	char *cache;
	bool cache_log; /* SQLite may have a write-ahead log there */
	int cache_lock; /* for the one who brings the index up to date */
	/* Of the last look at the objects: */
	double looked_at; /* CLOCK_BOOTTIME, before it */
	uint64_t now;     /* by the clock of the objects */
	struct listing tables, condemned, images;
	uint64_t changes; /* of the index: what came and went */
	uint64_t unreadable;
	char first_unreadable[512];
	struct writer *putting; /* between store_begin() and the end */
};

/* What a store is opened for: bits. */
enum store_access {
	STORE_READ = 0,
	STORE_WRITE = 1,  /* in a folder: alone; ERR_REFUSED while another one writes */
	STORE_WAIT = 2,   /* then that is waited for */
	STORE_ANEW = 4,   /* with an index of its own, made from the objects alone */
	STORE_REMAKE = 8, /* what is kept of the index is made again */
	STORE_MEND = 16,  /* a format that is lost or damaged is made again */
	STORE_WRITE_WAIT = STORE_WRITE | STORE_WAIT,
};

/* A folder, or s3://BUCKET/PREFIX, and the part of it that this machine has in its
 * cache. */
struct store_place {
	const char *url;
	const char *cache;    /* folder; NULL: EMUSTORE_CACHE, or XDG's */
	uint64_t cache_bytes; /* of packs of a bucket; 0: EMUSTORE_CACHE_SIZE, or 10 GiB */
};

/* A new store, in a folder that is not there yet, or empty, or in a bucket.  0: as usual.
 * ERR_USAGE: packs would be too large, or there is no grace in a folder. */
int store_init(
    const char *url, uint64_t pack_bytes, uint64_t grace_seconds, struct err *);
/* ERR_ABSENT: there is none.  ERR_UNSUPPORTED: of an older or newer format. */
int store_open(struct store *, const char *url, unsigned access, struct err *);
int store_open_at(
    struct store *, const struct store_place *, unsigned access, struct err *);
/* For an upgrade: a folder that is locked, and has no format of today's yet; the objects are
 * taken over, also when it fails.  store_write_format() makes it a store. */
int store_adopt(struct store *, struct objects *, struct err *);
int store_write_format(struct store *, struct err *);
void store_close(struct store *); /* what is not committed is undone */
const char *store_title(const struct store *);
/* Is it a file of the store's own, which nobody else may write to? */
bool store_holds(const struct store *, const char *path);
/* Look at the objects again, and bring the index up to date. */
int store_look(struct store *, struct err *);
/* A put, or a gc, that has looked at the objects of a bucket may count on them no longer. */
int store_check_age(const struct store *, struct err *);
/* Its packs for one more reader, who frees them; NULL: out of memory. */
struct packs *store_packs(struct store *);

/* A writer's transaction. */
int store_begin(struct store *, struct err *);
int store_commit(struct store *, struct err *);
/* Is a fragment of these data there, or on its way, so that a new image may count on it?
 * 1, 0, -1. */
int store_find_fragment(struct store *, const uint8_t sha256[SHA256_BYTES],
    struct pack_fragment *, struct err *);
/* An image goes: in its place, by a key of the index or a name. */
int store_remove_image(struct store *, const struct store_name *, struct err *);

#endif /* EMUSTORE_STORE_STORE_H */
