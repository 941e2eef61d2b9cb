/* images.h: the images that can be loaded, as mfrisbeed has said last: the controller
 * has no list of its own. */
#ifndef CONTROLLER_HTTP_IMAGES_H
#define CONTROLLER_HTTP_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/jtree.h"

/* Begins as all zeros. */
struct images {
	struct jtree *said; /* the answer (mfrisbeed(8), LOCAL REQUESTS); NULL: none yet */
	char why[300];      /* why it does not answer now; empty: it does */
	uint64_t answered;  /* the number of that question */
	char *text;         /* what the API says of it, a line; NULL: nothing yet */
	uint64_t changed;   /* grows with each change of the text */
};

void images_free(struct images *);
/* The question of this number is answered: the answer, which is taken over, or, if
 * that is NULL, why there is none; then the last answer stays. */
void images_take(struct images *, uint64_t number, struct jtree *, const char *why);
/* Has whoever has asked this question nothing to wait for any more? */
bool images_are_said(const struct images *, uint64_t number);
/* May there be an image of this name?  While mfrisbeed does not answer, or has more
 * than it says, that shows when it is asked to send it. */
bool images_may_have(const struct images *, const char *name);
/* Is there an image of this name? */
bool images_have(const struct images *, const char *name);

#endif /* CONTROLLER_HTTP_IMAGES_H */
