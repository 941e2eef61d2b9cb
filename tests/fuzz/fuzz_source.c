/* Where images are, as people write it, and what web servers say of files.  The first byte
 * tells which of them the rest is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/web/web_answer.h"
#include "stream/sources/place.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
parse_place(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	struct place p;
	struct err e;

	if (text == NULL)
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	if (place_parse(&p, text, &e) == 0)
		assert(p.what >= text && p.what[0] != '\0' &&
		       strcmp(p.what, text + (p.what - text)) == 0);
	free(text);
}

static void
check(const struct web_answer *a)
{
	assert(a->status <= 999);
	assert(!a->has_range || a->first <= a->last);
	assert(!a->has_range || !a->has_total || a->last < a->total);
	assert(memchr(a->etag, '\0', sizeof a->etag) != NULL);
	assert(memchr(a->modified, '\0', sizeof a->modified) != NULL);
	assert(web_answer_validator(a)[0] != 'W' || a->etag[0] != '"');
}

/* Each line in memory of its own, so that reading behind its end is seen. */
static void
read_head(const uint8_t *data, size_t len)
{
	struct web_answer a = { .status = 0 };

	while (len > 0) {
		const uint8_t *end = memchr(data, '\n', len);
		size_t n = end != NULL ? (size_t)(end - data) + 1 : len;
		char *line = malloc(n);
		if (line == NULL)
			return;
		memcpy(line, data, n);
		web_answer_line(&a, line, n);
		free(line);
		check(&a);
		data += n;
		len -= n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len == 0)
		return 0;
	if (data[0] % 2 == 0)
		parse_place(data + 1, len - 1);
	else
		read_head(data + 1, len - 1);
	return 0;
}
