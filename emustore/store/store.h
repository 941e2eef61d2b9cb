/* store.h: a store of images: a folder with pack files and an index.
 *
 *	DIR/format	a line "emustore 1", a line "pack-bytes N"
 *	DIR/lock	held by the one who writes
 *	DIR/index.db	SQLite; can be made again from the packs
 *	DIR/packs/	00000001.pack ...
 *
 * Or s3://BUCKET/PREFIX, see remote.h.
 *
 * A change is there wholly or not at all: what a writer appends to packs counts
 * only when the index, committed after they were synced, says so.
 */
#ifndef EMUSTORE_STORE_STORE_H
#define EMUSTORE_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/index.h"
#include "emustore/store/packs.h"
#include "emustore/store/remote.h"
#include "emustore/store/remote_put.h"

enum { STORE_PACK_BYTES = 1 << 30 };

struct store {
	char *dir;
	int dirfd, packs_fd, lock_fd;
	uint64_t pack_bytes; /* a pack of so many gets no more records */
	unsigned format;     /* as the store says; enum in record.h */
	struct index *index;
	struct packs *packs;
	bool reindexing; /* the index is a new one that does not count yet */
	/* Of a writer between store_begin() and the end of it: */
	struct pack_writer w;
	bool writing;
	uint64_t next[3]; /* by enum index_next */
	/* In a bucket; NULL: a folder.  Then a transaction is a put, and w has nothing.
	 */
	struct remote *remote;
	struct remote_put *putting;
};

enum store_access {
	STORE_READ,
	STORE_WRITE,
	STORE_WRITE_WAIT,
	STORE_REINDEX,
	STORE_REINDEX_WAIT,
};

/* A new store in a folder that is not there yet, or empty. */
int store_init(const char *dir, uint64_t pack_bytes, struct err *);
/* STORE_WRITE, STORE_REINDEX: ERR_REFUSED while another one writes; _WAIT waits for it.
 * STORE_REINDEX: for writing, with a new and empty index beside the old one, see
 * store_use_index(). */
int store_open(struct store *, const char *dir, enum store_access, struct err *);
/* The same of a store in a bucket, with a cache of its own choice. */
int store_open_remote(
    struct store *, const struct remote_place *, enum store_access, struct err *);
void store_close(struct store *); /* what is not committed is undone */
/* Is it a file of the store's own, which nobody else may write to? */
bool store_holds(const struct store *, const char *path);

/* A writer's transaction. */
int store_begin(struct store *, struct err *);
int store_commit(struct store *, struct err *);
/* What is written from now on is of that format: older programs must refuse the
 * store. */
int store_need_format(struct store *, unsigned format, struct err *);
/* In a transaction: a record behind all others. */
int store_append(struct store *, enum record_type, uint64_t number, const void *a,
    size_t a_bytes, const void *b, size_t b_bytes, uint32_t *pack, uint64_t *at,
    struct err *);
/* Its packs for one more reader, who frees them; NULL: out of memory. */
struct packs *store_packs(struct store *);
/* A fragment of these data: 1, 0, -1; pack 0: it is lost. */
int store_find_fragment(struct store *, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *, struct err *);
/* In a transaction: head and bytes of *f, and its data; number 0: a new one, else one
 * that was lost.  The rest of *f is filled in. */
int store_add_fragment(
    struct store *, struct index_fragment *f, const void *data, struct err *);
/* Never handed out before. */
uint64_t store_number(struct store *, enum index_next);
/* No more into the pack that is being written; the next record begins a new one. */
int store_end_pack(struct store *, struct err *);
/* Pack files that no index knows: of transactions that were cut short. */
int store_remove_strays(struct store *, struct err *);
/* After STORE_REINDEX: the new index takes the place of what was there. */
int store_use_index(struct store *, struct err *);
/* Is the committed tail of the packs, with what was appended, on the disk? */
int store_sync(struct store *, struct err *);

#endif /* EMUSTORE_STORE_STORE_H */
