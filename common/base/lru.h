/* lru.h: which of at most so many entries to forget, in a table by key.
 *
 * Entries are numbers below `max`; what they stand for is the caller's, in an array of
 * its own.  When there is no room, the one touched longest ago of those that are not
 * dear gives way; of the dear ones only when there are no others.  So strangers cost
 * no memory, and push out one another first.  Several entries may have one key.
 */
#ifndef COMMON_BASE_LRU_H
#define COMMON_BASE_LRU_H

#include <stdbool.h>
#include <stdint.h>

#define LRU_NONE UINT32_MAX

struct lru_link {
	uint32_t bucket, chain; /* the next of the same bucket, or free */
	uint32_t newer, older;  /* of its class; LRU_NONE at the ends */
	bool used, dear;
};

struct lru_class {
	uint32_t newest, oldest;
};

struct lru {
	uint32_t max, n, fresh; /* entries from `fresh` on were never used */
	uint32_t free;          /* given back */
	uint64_t seed;
	uint32_t *bucket;
	struct lru_link *link;
	struct lru_class order[2]; /* [1]: the dear ones */
};

/* seed: not known to strangers, so that they cannot choose keys of one bucket.  -1: no
 * memory. */
int lru_init(struct lru *, uint32_t max, uint64_t seed);
void lru_fini(struct lru *);
/* The entries that may have this key, the last added first; LRU_NONE: no more. */
uint32_t lru_first(const struct lru *, uint64_t key);
uint32_t lru_next(const struct lru *, uint32_t entry);
/* A new one, not dear; *old: it was in use, for something that is forgotten now. */
uint32_t lru_add(struct lru *, uint64_t key, bool *old);
/* Heard now; who is dear stays so. */
void lru_touch(struct lru *, uint32_t entry, bool dear);
void lru_remove(struct lru *, uint32_t entry);
/* Each class from the newest on. */
uint32_t lru_newest(const struct lru *, bool dear);
uint32_t lru_older(const struct lru *, uint32_t entry);
/* ... or from the oldest on. */
uint32_t lru_oldest(const struct lru *, bool dear);
uint32_t lru_newer(const struct lru *, uint32_t entry);

#endif /* COMMON_BASE_LRU_H */
