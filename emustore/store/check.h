/* check.h: is a store whole? */
#ifndef EMUSTORE_STORE_CHECK_H
#define EMUSTORE_STORE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "emustore/store/store.h"

/* One bit for each fragment number. */
struct marks {
	uint8_t *bits; /* owned; free() */
	uint64_t n;
};

int marks_new(
    struct marks *, struct store *, struct err *); /* for all numbers there are */
static inline bool
marks_has(const struct marks *m, uint64_t i)
{
	return i < m->n && (m->bits[i / 8] >> i % 8 & 1) != 0;
}
static inline void
marks_add(struct marks *m, uint64_t i)
{
	if (i < m->n)
		m->bits[i / 8] |= (uint8_t)(1u << i % 8);
}

struct check {
	bool data; /* read everything, and compare all SHA-256 */
	/* For each thing that is wrong, a sentence. */
	void (*problem)(void *arg, const char *sentence);
	/* For each image: is it whole?  why: NULL or a sentence. */
	void (*image)(void *arg, const struct recipe_image *, const char *why);
	/* Chunks that can only be served as equivalents (with data), a sentence. */
	void (*note)(void *arg, const char *sentence);
	void (*progress)(void *arg, uint64_t bytes);
	void *arg;
	/* Results. */
	uint64_t problems, images, bad_images, fragments, bytes, equivalents;
	struct marks good;      /* fragments that are where the index says */
	struct marks elsewhere; /* those of which there is a copy somewhere else */
	bool index_wrong;       /* a whole record is not what the index says of it */
};

void check_free(struct check *);
/* -1 only when checking itself failed, or the index is of no use at all.  It has
 * failed when the system refuses something, as a file more: then nothing is known, and
 * nothing counts as damaged. */
int check_store(struct check *, struct store *, struct err *);
/* The fragments of one pack into c->good, with the problems that it has. */
int check_pack(struct check *, struct store *, const struct index_pack *, struct err *);

/* All images, after c->good is known. */
int check_images(struct check *, struct store *, struct err *);
/* Does the error say that something of the store is damaged or lacking?  All others, as
 * too many open files or an answer that did not come, say nothing of what is there. */
bool check_is_damage(const struct err *);
/* One more thing that is wrong. */
void check_problem(struct check *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* For stored_each_fragment() of an image, with the struct marks *: the fragment is in
 * use.  ERR_FORMAT: the index never gave its number. */
int marks_add_used(void *marks, uint64_t number, struct err *);

#endif /* EMUSTORE_STORE_CHECK_H */
