/* remote_impl.h: what the files of the remote store share. */
#ifndef EMUSTORE_STORE_REMOTE_IMPL_H
#define EMUSTORE_STORE_REMOTE_IMPL_H

#include "emustore/s3/s3.h"
#include "emustore/store/blocks.h"
#include "emustore/store/remote.h"

enum {
	REMOTE_THREADS = 8, /* requests under way at once */
	REMOTE_KEY_BYTES = 300,
	REMOTE_RECIPE_BYTES_MAX = 1 << 30,
};

/* What a listing said, sorted by key. */
struct listing {
	size_t n, cap;
	struct listed {
		char *key, *etag;
		uint64_t bytes, modified;
	} * v;
};

struct remote {
	struct s3 *s3;
	char *dir;   /* of the cache: index.db, lock, blocks/ */
	int lock_fd; /* for the one who brings the index up to date */
	uint64_t pack_bytes, grace_seconds;
	struct index *index;
	struct blocks *blocks;
	/* Of the last look: */
	double looked_at; /* CLOCK_BOOTTIME, before it */
	uint64_t server_now;
	struct listing tables, condemned, images;
	uint64_t added; /* tables */
	uint64_t unreadable;
	char first_unreadable[512];
};

double remote_clock(void);
/* A put, or a gc, that has seen the bucket as it was may count on it no longer. */
int remote_check_age(const struct remote *, struct err *);
void listing_free(struct listing *);
int listing_get(
    struct listing *, struct s3 *, const char *folder, uint64_t *now, struct err *);
const struct listed *listing_find(const struct listing *, const char *key);

/* To be the only one who makes that image: 1, with the claim's key, which is to be
 * deleted when the image is there; 0 somebody else may be; -1. */
int remote_claim(struct remote *, const struct store_name *, char key[REMOTE_KEY_BYTES],
    struct err *);

void key_of_pack(const char *id, char out[REMOTE_KEY_BYTES]);
void key_of_table(const char *id, char out[REMOTE_KEY_BYTES]);
void key_of_condemned(const char *id, char out[REMOTE_KEY_BYTES]);
void key_of_image(const struct store_name *, char out[REMOTE_KEY_BYTES]);
/* The mirror, of what follows "images/" or "tables/". */
bool key_is_image(const char *key, struct store_name *);
bool key_is_table(const char *key, char id[PACK_ID_CHARS + 1]);

#endif /* EMUSTORE_STORE_REMOTE_IMPL_H */
