/* token.c: the file of tokens (token.h).  web.c calls this in the controller's first thread, and
 * swapin reads its token here. */
#include "controller/http/token.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/rd.h"

enum { PATH_BYTES = 4096 };

static int
write_token(const char *path, struct err *e)
{
	uint8_t raw[24];
	char line[2 * sizeof raw + 2];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_os(e, "%s", path);
	int rc = getrandom(raw, sizeof raw, 0) == (ssize_t)sizeof raw ? 0 : err_os(e, "no random numbers");
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(line + 2 * i, 3, "%02x", raw[i]);
	line[2 * sizeof raw] = '\n';
	if (rc == 0 && (write(fd, line, 2 * sizeof raw + 1) != (ssize_t)(2 * sizeof raw + 1) || fsync(fd) != 0))
		rc = err_os(e, "%s", path);
	if (close(fd) != 0 && rc == 0)
		rc = err_os(e, "%s", path);
	return rc;
}

/* The file gets its name when it is whole: one that a kill has cut off would be there for good, and have
 * no token that counts. */
int
token_make(const char *path, struct err *e)
{
	char new[PATH_BYTES];

	if (access(path, F_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return err_os(e, "%s", path);
	if (snprintf(new, sizeof new, "%s.new", path) >= PATH_BYTES)
		return err_set(e, ERR_USAGE, "%.100s...: the path is too long", path);
	int rc = write_token(new, e);
	if (rc == 0 && rename(new, path) != 0)
		rc = err_os(e, "%s", path);
	if (rc != 0)
		unlink(new);
	return rc;
}

static ssize_t
read_file(const char *path, char text[TOKEN_FILE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, text, TOKEN_FILE_BYTES) : -1;

	if (fd >= 0)
		close(fd);
	return n;
}

/* The next line that is a token, or NULL. */
static const char *
next(struct rd *r, size_t *n)
{
	while (rd_left(r) > 0) {
		const char *at = (const char *)r->base + r->off;
		const char *end = memchr(at, '\n', rd_left(r));
		*n = end != NULL ? (size_t)(end - at) : rd_left(r);
		rd_skip(r, *n + (end != NULL));
		while (*n > 0 && (at[*n - 1] == '\r' || at[*n - 1] == ' '))
			--*n;
		if (*n >= TOKEN_BYTES_MIN && *n <= TOKEN_BYTES_MAX && at[0] != '#')
			return at;
	}
	return NULL;
}

int
token_first(const char *path, char *token, size_t cap, struct err *e)
{
	char text[TOKEN_FILE_BYTES];
	ssize_t bytes = read_file(path, text);
	size_t n;

	if (bytes < 0)
		return err_os(e, "%s", path);
	struct rd r = rd_from(text, (size_t)bytes);
	const char *at = next(&r, &n);
	if (at == NULL || n >= cap)
		return err_set(e, ERR_FORMAT, "%s has no token: a line of %d to %d characters", path,
		    TOKEN_BYTES_MIN, TOKEN_BYTES_MAX);
	memcpy(token, at, n);
	token[n] = '\0';
	return 0;
}

bool
token_counts(const char *path, const char *header)
{
	char text[TOKEN_FILE_BYTES];
	const char *at;
	bool found = false;
	size_t n;

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
		return false;
	size_t given = strlen(header + 7);
	ssize_t bytes = read_file(path, text);
	struct rd r = rd_from(text, bytes > 0 ? (size_t)bytes : 0);
	/* Each line is compared in full, so that the time says nothing of the others. */
	while ((at = next(&r, &n)) != NULL)
		if (n == given && CRYPTO_memcmp(at, header + 7, n) == 0)
			found = true;
	return found;
}
