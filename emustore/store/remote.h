/* remote.h: a store in a bucket, for several machines; docs/store-format.md.
 *
 *	format			how it was made
 *	packs/ID.pack		fragments; never changed
 *	tables/ID.toc		what such a pack holds (toc.h); written after it
 *	images/NAME/VERSION	recipes; made only where none is
 *	condemned/ID		nothing new may refer to that pack: it goes, later
 *
 * There is no lock: packs have names of their own, and of two that put one version of
 * an image one is refused by the server.  The index is in a folder of this machine's
 * cache and follows the bucket whenever the store is opened; blocks of packs are kept
 * there, too, up to a limit.  A handle may be used by several threads but for what
 * needs the index.
 */
#ifndef EMUSTORE_STORE_REMOTE_H
#define EMUSTORE_STORE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/index_remote.h"
#include "emustore/store/packs.h"
#include "emustore/store/recipe.h"

enum {
	REMOTE_PACK_BYTES = 32 << 20, /* in memory while it is made */
	REMOTE_PACK_BYTES_MAX = 256 << 20,
	REMOTE_GRACE_SECONDS = 24 * 60 * 60,
};

struct remote;

struct remote_place {
	const char *url;
	const char *cache;    /* folder; NULL: EMUSTORE_CACHE, or XDG's */
	uint64_t cache_bytes; /* 0: EMUSTORE_CACHE_SIZE, or 10 GiB */
};

int remote_init(
    const char *url, uint64_t pack_bytes, uint64_t grace_seconds, struct err *);
/* With an index that is like the bucket.  anew: made from the bucket alone. */
int remote_open(struct remote **, const struct remote_place *, bool anew, struct err *);
/* The index is closed; packs opened before can still be read until all who hold it
 * have let go. */
void remote_close(struct remote *);
struct index *remote_index(struct remote *);
struct packs *remote_packs(struct remote *); /* NULL: out of memory */
uint64_t remote_pack_bytes(const struct remote *);
/* What the last look at the bucket could not read: how many, and the first one. */
uint64_t remote_unreadable(const struct remote *, const char **first);
/* Look again. */
int remote_refresh(struct remote *, struct err *);

/* The record of an image as a local pack would have it, and the digests that the
 * numbers of its pieces mean. */
int remote_get_recipe(struct remote *, const struct index_image *, struct buf *record,
    struct buf *digests, struct err *);
/* One that is in the bucket but not in the index, since it cannot be read.
 * ERR_USAGE: there is none. */
int remote_remove_unreadable(struct remote *, const struct store_name *, struct err *);
int remote_remove_image(struct remote *, const struct index_image *, struct err *);

#endif /* EMUSTORE_STORE_REMOTE_H */
