/* names.c: encodes and decodes the names of images, and knows those of signatures (names.h).  state.c
 * calls it for the list of sessions, fetch.c for files of the parent's images, and answer.c for
 * uploads, in the master's first thread. */
#include "mfrisbeed/master/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool
stays(const char *name, size_t i)
{
	return isgraph((unsigned char)name[i]) && strchr("%#/", name[i]) == NULL &&
	       (i > 0 || name[i] != '.');
}

void
names_encode(const char *name, char out[NAMES_ENCODED_BYTES])
{
	char *to = out;

	for (size_t i = 0; name[i] != '\0' && i < MASTER_NAME_MAX; i++)
		if (stays(name, i))
			*to++ = name[i];
		else
			to += sprintf(to, "%%%02x", (unsigned char)name[i]);
	*to = '\0';
}

static int
hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
	       : isxdigit((unsigned char)c)
	           ? tolower((unsigned char)c) - 'a' + 10
	           : -1;
}

bool
names_of_signature(char *name, char image[MASTER_NAME_MAX + 1])
{
	const char *const ends[] = { ".sig", ",sig" };
	size_t n = strlen(name), of_end = strlen(ends[0]);

	for (int i = 0; i < 2; i++) {
		if (n <= of_end || strcmp(name + n - of_end, ends[i]) != 0)
			continue;
		snprintf(image, MASTER_NAME_MAX + 1, "%.*s", (int)(n - of_end), name);
		memcpy(name + n - of_end, ends[0], of_end);
		return true;
	}
	return false;
}

int
names_decode(char *name, struct err *e)
{
	char *to = name;

	for (const char *p = name; *p != '\0'; p++) {
		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
		if (low < 0)
			return err_set(e, ERR_USAGE, "\"%%\" without two digits");
		*to++ = (char)(high << 4 | low);
		p += 2;
	}
	*to = '\0';
	return 0;
}
