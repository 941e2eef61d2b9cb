/* token.c: the file of tokens (token.h).  web.c calls this in the controller's first thread, and
 * swapin reads its token here. */
#include "controller/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/base/random_bytes.h"
#include "common/base/replace.h"

enum {
	LINE_BYTES = TOKEN_BYTES_MAX + 16, /* with what may end it */
};

/* The file gets its name when it is whole: one that a kill has cut off would be there for good, and have
 * no token that counts. */
int
token_make(const char *path, struct err *e)
{
	uint8_t raw[24];
	char line[2 * sizeof raw + 2];

	if (access(path, F_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return err_os(e, "%s", path);
	random_bytes(raw, sizeof raw);
	number_hex(raw, sizeof raw, line);
	line[2 * sizeof raw] = '\n';
	return replace_file(path, line, 2 * sizeof raw + 1, 0600, 0, e);
}

/* Opens the file, which may be a pipe that nobody writes.  NULL: errno says why. */
static FILE *
open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

/* The length of a line without what ends it; 0 for one that is longer than any token, the rest of
 * which is skipped. */
static size_t
length_of(const char *line, FILE *f)
{
	size_t n = strcspn(line, "\n");
	int c = line[n];

	while (c != '\n' && c != EOF) {
		c = getc(f);
		if (c != '\n' && c != EOF)
			n = 0;
	}
	while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == ' '))
		n--;
	return n;
}

/* Reads the next line that is a token, of *n characters.  False: there is none. */
static bool
next(FILE *f, char line[LINE_BYTES], size_t *n)
{
	while (fgets(line, LINE_BYTES, f) != NULL) {
		*n = length_of(line, f);
		if (*n >= TOKEN_BYTES_MIN && *n <= TOKEN_BYTES_MAX && line[0] != '#')
			return true;
	}
	return false;
}

int
token_first(const char *path, char *token, size_t cap, struct err *e)
{
	FILE *f = open_file(path);
	char line[LINE_BYTES];
	size_t n = 0;

	if (f == NULL)
		return err_os(e, "%s", path);
	bool found = next(f, line, &n), failed = ferror(f) != 0;
	int rc = failed ? err_os(e, "%s", path) : 0;
	fclose(f);
	if (failed)
		return rc;
	if (!found || n >= cap)
		return err_set(e, ERR_FORMAT, "%s has no token: a line of %d to %d characters", path,
		    TOKEN_BYTES_MIN, TOKEN_BYTES_MAX);
	memcpy(token, line, n);
	token[n] = '\0';
	return 0;
}

bool
token_counts(const char *path, const char *header)
{
	char line[LINE_BYTES];
	bool found = false;
	size_t n;

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return false;
	size_t given = strlen(header + 7);
	FILE *f = open_file(path);
	if (f == NULL)
		return false;
	/* Each line is compared in full, so that the time says nothing of the others. */
	while (next(f, line, &n))
		if (n == given && CRYPTO_memcmp(line, header + 7, n) == 0)
			found = true;
	fclose(f);
	return found;
}
