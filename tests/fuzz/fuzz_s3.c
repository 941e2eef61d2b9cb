/* Answers of an object store.  The first byte tells whether the rest is a list, an
 * error, keys of a role, or a pack's table, whose name is made to fit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sha256.h"
#include "emustore/s3/s3_list.h"
#include "emustore/s3/s3_role.h"
#include "emustore/store/toc.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static int
look(void *arg, const struct object *o, struct err *e)
{
	const struct s3_page *page = arg;

	(void)e;
	if (strncmp(page->last, "p/", 2) != 0 || strcmp(page->last + 2, o->key) != 0)
		abort();
	return 0;
}

static void
read_table(const uint8_t *data, size_t len)
{
	char id[PACK_ID_CHARS + 1];
	uint8_t digest[SHA256_BYTES];
	struct pack_fragment f;
	struct toc t;
	struct err e;
	uint64_t end = 0;

	sha256(data, len, digest);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(id + 2 * i, 3, "%02x", digest[i]);
	if (toc_open(&t, id, data, len, &e) != 0)
		return;
	while (toc_next(&t, &f)) {
		if (f.at < end || f.at + FRAGMENT_DATA_AT + f.bytes > t.pack_bytes)
			abort();
		end = f.at + FRAGMENT_DATA_AT + f.bytes;
	}
}

static void
read_keys(const uint8_t *data, size_t len)
{
	struct s3_config c = { 0 };
	struct err e;
	int rc = s3_role_parse(&c, data, len, &e);

	if ((rc == 0) != (c.id[0] != '\0' && c.secret[0] != '\0'))
		abort();
	for (const char *p = c.token; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct s3_page page = { 0 };
	char text[100];
	struct err e;

	if (len == 0)
		return 0;
	if (data[0] == 'l')
		s3_list_page(data + 1, len - 1, "p/", &page, look, &page, &e);
	else if (data[0] == 'e')
		s3_error_text(data + 1, len - 1, text, sizeof text);
	else if (data[0] == 'k')
		read_keys(data + 1, len - 1);
	else
		read_table(data + 1, len - 1);
	return 0;
}
