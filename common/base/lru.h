/* lru.h: a table of at most `max` entries, found by key, which says which entry to forget.
 *
 * Entries are numbers below `max`; what they stand for is in an array of the caller's.
 * When there is no room, the entry touched longest ago of those that are not protected
 * gives way, and a protected one only when there are no others.  So strangers cost no
 * memory, and push out one another first.  Several entries may have one key.
 */
#ifndef COMMON_BASE_LRU_H
#define COMMON_BASE_LRU_H

#include <stdbool.h>
#include <stdint.h>

#define LRU_NONE UINT32_MAX

struct lru_link {
	uint32_t bucket, chain; /* the next entry of the same bucket, or the next free one */
	uint32_t newer, older;  /* neighbours in its class; LRU_NONE at the ends */
	bool used, protected;
};

struct lru_class {
	uint32_t newest, oldest;
};

struct lru {
	uint32_t max, n, fresh; /* entries from `fresh` on were never used */
	uint32_t free;          /* the first entry that was given back */
	uint64_t seed;
	uint32_t *bucket;
	struct lru_link *link;
	struct lru_class order[2]; /* [1]: the protected ones */
};

/* seed: a number that strangers do not know, so that they cannot choose keys of one bucket.
 * -1: no memory. */
int lru_init(struct lru *, uint32_t max, uint64_t seed);
void lru_fini(struct lru *);
/* The entries that may have this key, the last added first; LRU_NONE: no more. */
uint32_t lru_first(const struct lru *, uint64_t key);
uint32_t lru_next(const struct lru *, uint32_t entry);
/* Returns a new entry, which is not protected.  *old: the entry was in use for something
 * that is forgotten now. */
uint32_t lru_add(struct lru *, uint64_t key, bool *old);
/* The entry becomes the newest.  An entry that is protected stays so. */
void lru_touch(struct lru *, uint32_t entry, bool protected);
void lru_remove(struct lru *, uint32_t entry);
/* Walk through a class from its newest entry on. */
uint32_t lru_newest(const struct lru *, bool protected);
uint32_t lru_older(const struct lru *, uint32_t entry);
/* Walk through a class from its oldest entry on. */
uint32_t lru_oldest(const struct lru *, bool protected);
uint32_t lru_newer(const struct lru *, uint32_t entry);

#endif /* COMMON_BASE_LRU_H */
