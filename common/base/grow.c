/* grow.c: makes room in an array for one more element.  Whoever owns the array calls this,
 * in the thread that changes it. */
#include "common/base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };

int
grow_array(void *array, size_t *cap, size_t n, size_t each, const char *what, struct err *e)
{
	size_t more = *cap == 0 ? FIRST : 2 * *cap;
	void *old;

	if (n < *cap)
		return 0;
	if (*cap > SIZE_MAX / 2 / each)
		return err_nomem(e, what);
	/* The pointer is copied as bytes: pointers to all types have the same form, but no
	 * type in common. */
	memcpy(&old, array, sizeof old);
	void *new = realloc(old, more * each);
	if (new == NULL)
		return err_nomem(e, what);
	memcpy(array, &new, sizeof new);
	*cap = more;
	return 0;
}
