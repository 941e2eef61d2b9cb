/* store.h: a store of images, in a folder or in a bucket.  Both hold the same objects
 * (objects.h), and are used in the same way; docs/store-format.md describes them.
 *
 *	format			how the store was made
 *	packs/ID.pack		fragments; never changed
 *	tables/ID.toc		what a pack holds (toc.h); made after the pack
 *	images/NAME/VERSION	recipes; made only where none is
 *	condemned/ID		in a bucket: nothing new may refer to that pack
 *	given/NAME/-LOW-HIGH	numbers of versions that were given (given.h)
 *	changes/...		in a bucket: who writes, and the mark (changes.h)
 *
 * An image is in the store wholly or not at all: its recipe is made when all that it needs
 * is there.  Folder and bucket differ in how writers keep apart: in a folder a writer
 * holds a lock; in a bucket writers make claims, and what is removed waits for a grace.
 *
 * The index is a cache: it follows the objects whenever a store is opened.  Where the mark
 * says that they have not changed, they are not listed.
 */
#ifndef EMUSTORE_STORE_STORE_H
#define EMUSTORE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/objects/objects.h"
#include "emustore/store/blocks.h"
#include "emustore/store/changes.h"
#include "emustore/store/index.h"
#include "emustore/store/keys.h"
#include "emustore/store/packs.h"

enum {
	STORE_FORMAT = 3,
	/* default size of a pack, which is in memory while it is made */
	STORE_PACK_BYTES = 32 << 20,
	/* a pack is made in memory */
	STORE_PACK_BYTES_MAX = 256 << 20,
	/* default grace of a bucket; docs/store-format.md says what it has to cover */
	STORE_GRACE_SECONDS = 24 * 60 * 60,
	STORE_REQUESTS = 8, /* requests to a server that are under way at once */
};

struct writer;

struct store {
	struct objects *objects;
	bool folder, locked; /* locked: this process holds the lock of the folder */
	uint64_t pack_bytes, grace_seconds;
	struct blocks *blocks; /* only of a bucket; NULL: packs are files */
	uint64_t blocks_bytes; /* limit for the files of the blocks in the cache */
	bool parts; /* images are opened so that parts of their chunks can be made */
	/* The index, and the folder in which it is kept; cache NULL: the index belongs to
	 * this process alone. */
	struct index *index;
	unsigned index_turn; /* another one: s->index is another, with other numbers */
	char *cache;
	uint64_t cache_inode; /* of the index's file, when it was opened */
	/* file descriptor that is locked while a process brings the index up to date; -1:
	 * none */
	int cache_lock;
	struct changes changes; /* what this process says and notes as a writer */
	/* The mark of the objects that the index follows, or a writer's own id (refresh.c);
	 * empty: they have no mark. */
	char mark[MARK_BYTES];
	bool trusted; /* the index was believed because of its mark: nothing was listed */
	uint64_t looked_at_us; /* by clock_boot_us(), when the mark or lists were asked for */
	/* Results of the last store_refresh(): */
	uint64_t now;     /* seconds since 1970, by the clock of the objects */
	struct listing tables, condemned, images;
	uint64_t rows_changed; /* rows of the index that were added and removed */
	/* Objects that could not be read, and why the first one could not. */
	uint64_t unreadable, unreadable_images;
	char first_unreadable[512];
	struct writer *putting; /* between store_begin() and store_commit() or store_close() */
};

/* What a store is opened for.  The values are bits. */
enum store_access {
	STORE_READ = 0,
	STORE_WRITE = 1,  /* to write; in a folder: ERR_REFUSED while another one writes */
	STORE_WAIT = 2,   /* with STORE_WRITE: wait while another one writes */
	STORE_ANEW = 4,   /* with an index of this process alone, made from the objects */
	STORE_REMAKE = 8, /* rebuild the index in the cache */
	STORE_MEND = 16,  /* write the format anew if it is lost or damaged */
	STORE_WRITE_WAIT = STORE_WRITE | STORE_WAIT,
};

/* Where a store is (url: a folder, or s3://BUCKET/PREFIX), and where this machine has its
 * cache. */
struct store_place {
	const char *url;
	const char *cache;    /* folder of the cache; NULL: EMUSTORE_CACHE, or XDG's */
	uint64_t cache_bytes; /* for packs of a bucket; 0: EMUSTORE_CACHE_SIZE, or 10 GiB */
};

/* Make a new store, in a bucket, or in a folder that does not exist yet or is empty.
 * pack_bytes: the largest pack; 0: STORE_PACK_BYTES.  grace_seconds: only for a bucket; 0:
 * STORE_GRACE_SECONDS.  *lacks says why a store in a folder has no reserve for gc, which it
 * does not need otherwise; ERR_NONE: it has one, or the store is in a bucket.  ERR_USAGE:
 * packs would be too large, or a grace was given for a folder.  ERR_REFUSED: there is a
 * store in the bucket already, or the folder is not empty. */
int store_init(const char *url, uint64_t pack_bytes, uint64_t grace_seconds,
    struct err *lacks, struct err *);
/* Open a store with access bits of enum store_access, and bring its index up to date.
 * store_open() uses the usual cache.  The caller closes the store with store_close();
 * after a failure it is closed already.  url and place are needed only during the call.
 * ERR_ABSENT: there is no store.  ERR_UNSUPPORTED: it has an older or newer format.
 * ERR_FORMAT: its format is damaged or lost.  ERR_REFUSED: STORE_WRITE while another
 * program writes. */
int store_open(struct store *, const char *url, unsigned access, struct err *);
int store_open_at(
    struct store *, const struct store_place *, unsigned access, struct err *);
void store_close(struct store *); /* what is not committed is undone */
/* The name of the store for messages; valid until it is closed. */
const char *store_title(const struct store *);
/* Is the path a file of the store's own, to which no other program may write?  Always
 * false for a bucket. */
bool store_holds(const char *url, const char *path);
/* List the objects, and bring the index up to date. */
int store_refresh(struct store *, struct err *);
/* To be called where a use of s->index has failed with *e.  If the index is the one that
 * this machine keeps, and it has failed itself, go on with an index that is made from the
 * objects for this process; one that is damaged is removed.  1: the caller tries again,
 * with the numbers of the new index; 0: the index has not failed, and *e stays; -1. */
int store_heal(struct store *, struct err *);
/* store_heal() also where the index has not failed: what it says may be wrong.  0: it was
 * made from the objects for this process already. */
int store_doubt(struct store *, struct err *);
/* Run fn, which may be run again: once more if the index has to be healed. */
int store_try(struct store *, int (*fn)(struct store *, void *arg, struct err *), void *arg,
    struct err *);
/* index_find_image() that heals the index. */
int store_find_image(
    struct store *, const struct store_name *, struct index_image *, struct err *);
/* What has failed with ENOENT after the store was looked at again is damage: make *e say
 * so, if it has ENOENT.  Returns -1. */
int store_err_missing(struct err *e);
/* May a put or a gc still count on the objects that it saw at the last look?  ERR_REFUSED:
 * in a bucket, half the grace has passed since. */
int store_check_age(const struct store *, struct err *);
/* store_check_age() for work that counts on the objects as they were at began_us
 * (clock_boot_us()), not at the last look.  May be called in any thread. */
int store_check_since(const struct store *, uint64_t began_us, struct err *);
/* The packs of the store for one more reader, who frees them with packs_free().  NULL: out
 * of memory. */
struct packs *store_packs(struct store *);

/* A writer's transaction.  store_begin() starts it; store_commit() waits until all packs
 * are written, and ends it, also when it fails.  Without store_commit(), store_close()
 * undoes in a folder what no image refers to. */
int store_begin(struct store *, struct err *);
int store_commit(struct store *, struct err *);
/* Remove the object of an image, given by name and version.  ERR_ABSENT: there is no such
 * image; the index loses it when the store is closed. */
int store_remove_image(struct store *, const struct store_name *, struct err *);

#endif /* EMUSTORE_STORE_STORE_H */
