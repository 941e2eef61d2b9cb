/* images.c: keeps what mfrisbeed has said of the images (images.h).  control.c and
 * web.c call this, in the program's first thread. */
#include "controller/http/images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/http/shapes.h"

void
images_free(struct images *x)
{
	jtree_free(x->said);
	free(x->text);
	*x = (struct images){ 0 };
}

void
images_take(struct images *x, uint64_t number, struct jtree *said, const char *why)
{
	size_t n = 0;

	if (said != NULL) {
		jtree_free(x->said);
		x->said = said;
	}
	x->why[0] = '\0';
	if (said == NULL)
		snprintf(x->why, sizeof x->why, "mfrisbeed does not say which images there are: %s", why);
	x->answered = number;
	/* A text that there is no memory for is made the next time. */
	char *text = json_text(shapes_images(x), &n);
	if (text == NULL || (x->text != NULL && strcmp(text, x->text) == 0)) {
		free(text);
		return;
	}
	free(x->text);
	x->text = text;
	x->changed++;
}

bool
images_are_said(const struct images *x, uint64_t number)
{
	return x->why[0] != '\0' || x->answered >= number;
}

bool
images_have(const struct images *x, const char *name)
{
	const struct jtree *all = jtree_get(x->said, "images");

	for (size_t i = 0; i < jtree_count(all); i++) {
		const char *has = jtree_text(jtree_get(jtree_at(all, i), "name"));
		if (has != NULL && strcmp(has, name) == 0)
			return true;
	}
	return false;
}

bool
images_may_have(const struct images *x, const char *name)
{
	return x->why[0] != '\0' || jtree_true(jtree_get(x->said, "more")) || images_have(x, name);
}
