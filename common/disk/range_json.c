/* range_json.c: ranges as members of a JSON document.  The reports of imagezip, imagedump
 * and imagehash call this, and lost.c for lost sectors, in the thread that has the
 * document. */
#include "common/disk/range_json.h"

#include <assert.h>

void
json_ranges(struct json *j, const char *key, const struct range *r, size_t n)
{
	json_array(j, key);
	for (size_t i = 0; i < n; i++) {
		json_object(j, NULL);
		json_uint(j, "first_sector", r[i].off);
		json_uint(j, "sectors", r[i].len);
		json_end(j);
	}
	json_end(j);
}

void
json_rangeset(struct json *j, const char *key, const struct rangeset *s)
{
	assert(!s->open);
	json_ranges(j, key, s->r, s->n);
}
