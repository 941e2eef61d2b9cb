/* lru.h: a table of at most `max` entries, found by key, which says which entry to forget.
 *
 * Entries are numbers below `max`; the data of an entry is in an array of the caller's.
 * When the table is full, a new entry takes the place of the unprotected entry that was
 * touched longest ago, and of a protected one only when there are no others.  With this,
 * strangers cost no more memory, and push out one another first.  Several entries may have
 * one key. */
#ifndef COMMON_BASE_LRU_H
#define COMMON_BASE_LRU_H

#include <stdbool.h>
#include <stdint.h>

#define LRU_NONE UINT32_MAX

struct lru_link {
	uint32_t bucket, chain; /* its bucket; the next entry there, or the next free one */
	uint32_t newer, older;  /* neighbours in its class; LRU_NONE at the ends */
	bool used, protected;
};

struct lru_class {
	uint32_t newest, oldest;
};

struct lru {
	uint32_t max, n, fresh; /* entries from `fresh` on were never used */
	uint32_t free;          /* the removed entry to be used next; LRU_NONE: none */
	uint64_t seed;
	uint32_t *bucket;
	struct lru_link *link;
	struct lru_class order[2]; /* [1]: the protected ones */
};

/* Make an empty table of 1 to LRU_NONE - 1 entries.  seed: a number that strangers do not
 * know, so that they cannot choose keys of one bucket.  Returns 0; -1: no memory. */
int lru_init(struct lru *, uint32_t max, uint64_t seed);
/* Free the table's memory. */
void lru_fini(struct lru *);
/* Walk through the entries that may have this key, the last added first; LRU_NONE: no more.
 * Other keys can have the same hash: the caller compares. */
uint32_t lru_first(const struct lru *, uint64_t key);
uint32_t lru_next(const struct lru *, uint32_t entry);
/* Returns a new entry, which is not protected and is the newest.  *old: the table was full,
 * and the entry held something else, which is forgotten now. */
uint32_t lru_add(struct lru *, uint64_t key, bool *old);
/* Makes the entry the newest of its class.  protected: puts it into the protected class,
 * where it stays. */
void lru_touch(struct lru *, uint32_t entry, bool protected);
/* Takes an entry, which must be in use (asserted), out of the table. */
void lru_remove(struct lru *, uint32_t entry);
/* Walk through a class from its newest entry on; LRU_NONE: no more. */
uint32_t lru_newest(const struct lru *, bool protected);
uint32_t lru_older(const struct lru *, uint32_t entry);
/* Walk through a class from its oldest entry on; LRU_NONE: no more. */
uint32_t lru_oldest(const struct lru *, bool protected);
uint32_t lru_newer(const struct lru *, uint32_t entry);

#endif /* COMMON_BASE_LRU_H */
