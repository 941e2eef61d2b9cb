/* jtree.h: reads JSON (RFC 8259) into a tree of values, with json-c.  The names of that library and
 * of common/base/json.h, which writes JSON, cannot be used in one file. */
#ifndef COMMON_BASE_JTREE_H
#define COMMON_BASE_JTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/err.h"

struct jtree; /* a value, with all that is in it */

enum jtree_kind { JTREE_OTHER, JTREE_TEXT, JTREE_NUMBER, JTREE_BOOL, JTREE_ARRAY, JTREE_OBJECT };

/* Read text[bytes], which is one value and nothing behind it, at most 32 deep.  The
 * caller frees it with jtree_free().  ERR_FORMAT says what is wrong with it;
 * ERR_NOMEM. */
int jtree_read(struct jtree **, const char *text, size_t bytes, struct err *);
/* Only for what jtree_read() has made; NULL is allowed. */
void jtree_free(struct jtree *);

/* All of these take NULL for a value that is not there.  What they return belongs to
 * the tree. */
enum jtree_kind jtree_is(const struct jtree *);
/* The number of elements of an array, or of members of an object; else 0. */
size_t jtree_count(const struct jtree *);
/* NULL: it is no object, or has no such member.  Of several the last counts. */
const struct jtree *jtree_get(const struct jtree *, const char *key);
/* NULL: it is no array, or is not that long. */
const struct jtree *jtree_at(const struct jtree *, size_t i);
/* NULL: it is no text, or has a NUL in it. */
const char *jtree_text(const struct jtree *);
/* `otherwise`: it is no number. */
double jtree_number(const struct jtree *, double otherwise);
/* Is it a whole number from 0 to 2^64 - 2?  Only then it is put there. */
bool jtree_whole(const struct jtree *, uint64_t *);
/* Print it, and a newline, for people and programs; characters that are harmful to a terminal
 * become '?' (say.h). */
void jtree_print(const struct jtree *, FILE *);
/* Is it true? */
bool jtree_true(const struct jtree *);

#endif /* COMMON_BASE_JTREE_H */
