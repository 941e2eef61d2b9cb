/* keyfile_secret.c: key files of one line: what the key is for, and 32 random bytes in
 * hex.  imagekey makes them; crypt.c and netopts.c read them before any other thread is
 * started. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "common/base/keyfile.h"
#include "common/base/number.h"
#include "common/base/random_bytes.h"

enum { DIGITS = 2 * KEYFILE_SECRET_BYTES, PREFIX_MAX = 32 };

static const char *const prefixes[KEYFILE_KINDS] = {
	[KEYFILE_ENCRYPTION] = "NDZ-KEY-1 AES-256-GCM ",
	[KEYFILE_GROUP] = "FRISBEE-GROUP-KEY-1 ",
	[KEYFILE_TOKEN] = "FRISBEE-TOKEN-1 ",
};

static bool
parse(const char *prefix, const char *text, size_t n, uint8_t key[KEYFILE_SECRET_BYTES])
{
	size_t begin = strlen(prefix);
	const char *hex = text + begin;

	if (n < begin + DIGITS || memcmp(text, prefix, begin) != 0 ||
	    strspn(hex, "0123456789abcdef") != DIGITS ||
	    (n != begin + DIGITS && (n != begin + DIGITS + 1 || hex[DIGITS] != '\n')))
		return false;
	for (size_t i = 0; i < DIGITS; i++) {
		uint8_t v = (uint8_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
		key[i / 2] = (uint8_t)(i % 2 == 0 ? v << 4 : key[i / 2] | v);
	}
	return true;
}

int
keyfile_read_secret(const char *path, enum keyfile_kind kind,
    uint8_t key[KEYFILE_SECRET_BYTES], struct err *e)
{
	char text[KEYFILE_BYTES_MAX + 1];
	size_t n;

	int rc = keyfile_read(path, kind, text, &n, e);
	if (rc == 0 && !parse(prefixes[kind], text, n, key))
		rc = err_set(e, ERR_FORMAT, "%s: is not %s as imagekey makes it", path,
		    keyfile_name(kind));
	OPENSSL_cleanse(text, sizeof text);
	return rc;
}

int
keyfile_make_secret(const char *path, enum keyfile_kind kind, struct err *e)
{
	uint8_t key[KEYFILE_SECRET_BYTES];
	char text[PREFIX_MAX + DIGITS + 2];

	random_bytes(key, sizeof key);
	int n = snprintf(text, sizeof text, "%s", prefixes[kind]);
	number_hex(key, sizeof key, text + n);
	n += DIGITS;
	text[n++] = '\n';
	int rc = keyfile_write(path, true, text, (size_t)n, e);
	OPENSSL_cleanse(key, sizeof key);
	OPENSSL_cleanse(text, sizeof text);
	return rc;
}
