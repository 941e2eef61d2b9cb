/* name.c: reads names of images.  Called by the program for names that a user gives, and
 * by the store for names in objects, in any thread. */
#include "emustore/store/name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/number.h"

enum { SHOWN_BYTES = 150 };

static bool
is_good(const char *s)
{
	char before = '/';

	for (; *s != '\0'; before = *s++) {
		bool first = before == '/';
		bool letter = isascii((unsigned char)*s) && isalnum((unsigned char)*s);
		if (!letter && (first || strchr("._+-/", *s) == NULL))
			return false;
	}
	return before != '/';
}

int
store_name_get(struct store_name *n, const char *text, struct err *e)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);
	uint64_t version = 0;

	if (len <= STORE_NAME_MAX) {
		memcpy(n->name, text, len);
		n->name[len] = '\0';
	}
	if (len > STORE_NAME_MAX || !is_good(n->name)) {
		return err_set(e, ERR_USAGE,
		    "\"%.*s\" cannot be a name: letters, digits and ._+- in "
		    "parts divided by /, %d at most",
		    SHOWN_BYTES, text, STORE_NAME_MAX);
	}
	if (colon != NULL && strcmp(colon + 1, "latest") != 0 &&
	    number_uint(colon + 1, 1, INT32_MAX, &version, e) != 0)
		return err_set(e, ERR_USAGE,
		    "the version of \"%s\" must be from 1 to %d, or \"latest\"",
		    n->name, INT32_MAX);
	n->version = (uint32_t)version;
	return 0;
}
