/* keyfile_secret.c: key files of lines: what the key is for, and 32 random bytes in hex.
 * Only a file of tokens has several.  imagekey makes them; crypt.c and netopts.c read them
 * before any other thread is started, and servers read their tokens anew for each request,
 * in their first thread. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "common/base/keyfile.h"
#include "common/base/number.h"
#include "common/base/random_bytes.h"

enum { DIGITS = 2 * KEYFILE_SECRET_BYTES };

static const char *const prefixes[KEYFILE_KINDS] = {
	[KEYFILE_ENCRYPTION] = "NDZ-KEY-1 AES-256-GCM ",
	[KEYFILE_GROUP] = "FRISBEE-GROUP-KEY-1 ",
	[KEYFILE_TOKEN] = "FRISBEE-TOKEN-1 ",
};

/* Reads a line, without its newline. */
static bool
parse(const char *prefix, const char *line, size_t n, uint8_t key[KEYFILE_SECRET_BYTES])
{
	size_t begin = strlen(prefix);
	const char *hex = line + begin;

	if (n != begin + DIGITS || memcmp(line, prefix, begin) != 0)
		return false;
	return number_from_hex(hex, key, KEYFILE_SECRET_BYTES);
}

static int
parse_tokens(const char *path, const char *text, struct keyfile_tokens *t, struct err *e)
{
	unsigned line = 1;

	t->n = 0;
	for (const char *at = text; *at != '\0'; line++) {
		size_t n = strcspn(at, "\n");
		bool none = n == 0 || at[0] == '#';
		if (!none && t->n == KEYFILE_TOKENS_MAX)
			return err_set(e, ERR_FORMAT, "%s: has more than %d tokens", path, KEYFILE_TOKENS_MAX);
		if (!none && !parse(prefixes[KEYFILE_TOKEN], at, n, t->token[t->n++]))
			return err_set(e, ERR_FORMAT, "%s: line %u is no token as imagekey makes it", path, line);
		at += n + (at[n] == '\n');
	}
	return t->n > 0 ? 0 : err_set(e, ERR_FORMAT, "%s: has no token as imagekey makes it", path);
}

int
keyfile_read_tokens(const char *path, struct keyfile_tokens *t, struct err *e)
{
	char text[KEYFILE_BYTES_MAX + 1];
	size_t n;

	int rc = keyfile_read(path, KEYFILE_TOKEN, text, &n, e);
	if (rc == 0)
		rc = parse_tokens(path, text, t, e);
	OPENSSL_cleanse(text, sizeof text);
	return rc;
}

static int
read_first(const char *path, uint8_t key[KEYFILE_SECRET_BYTES], struct err *e)
{
	struct keyfile_tokens t;
	int rc = keyfile_read_tokens(path, &t, e);

	if (rc == 0)
		memcpy(key, t.token[0], sizeof t.token[0]);
	OPENSSL_cleanse(&t, sizeof t);
	return rc;
}

int
keyfile_read_secret(const char *path, enum keyfile_kind kind,
    uint8_t key[KEYFILE_SECRET_BYTES], struct err *e)
{
	char text[KEYFILE_BYTES_MAX + 1];
	size_t n;

	if (kind == KEYFILE_TOKEN)
		return read_first(path, key, e);
	int rc = keyfile_read(path, kind, text, &n, e);
	if (rc == 0 && !parse(prefixes[kind], text, n - (n > 0 && text[n - 1] == '\n'), key))
		rc = err_set(e, ERR_FORMAT, "%s: is not %s as imagekey makes it", path,
		    keyfile_name(kind));
	OPENSSL_cleanse(text, sizeof text);
	return rc;
}

size_t
keyfile_new_secret(enum keyfile_kind kind, char text[KEYFILE_TEXT_BYTES])
{
	uint8_t key[KEYFILE_SECRET_BYTES];
	char hex[DIGITS + 1];

	random_bytes(key, sizeof key);
	int n = snprintf(text, KEYFILE_TEXT_BYTES, "%s%s\n", prefixes[kind], number_hex(key, sizeof key, hex));
	OPENSSL_cleanse(key, sizeof key);
	OPENSSL_cleanse(hex, sizeof hex);
	return (size_t)n;
}

int
keyfile_make_secret(const char *path, enum keyfile_kind kind, struct err *e)
{
	char text[KEYFILE_TEXT_BYTES];
	int rc = keyfile_write(path, true, text, keyfile_new_secret(kind, text), e);

	OPENSSL_cleanse(text, sizeof text);
	return rc;
}
