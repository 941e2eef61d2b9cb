/* token.c: tokens in headers of HTTP (token.h).  web.c calls this in the controller's
 * first thread, and swapin reads its token here. */
#include "controller/http/token.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/log.h"
#include "common/base/number.h"
#include "common/base/replace.h"

/* The file gets its name when it is whole: one that a kill has cut off would be there
 * for good, and have no token that counts. */
static int
make(const char *path, struct err *e)
{
	char text[KEYFILE_TEXT_BYTES];
	size_t n = keyfile_new_secret(KEYFILE_TOKEN, text);
	int rc = replace_file(path, text, n, 0600, 0, e);

	OPENSSL_cleanse(text, sizeof text);
	return rc;
}

/* One wrong line may be among tokens that others have. */
static int
keep_old(const char *path, struct err *e)
{
	char *old;

	if (asprintf(&old, "%s.old", path) < 0)
		return err_nomem(e, path);
	log_warn("%s: it is %s now, and another one takes its place", e->text, old);
	int rc = replace_name(path, old, 0, e);
	free(old);
	return rc;
}

int
token_make(const char *path, struct err *e)
{
	char text[TOKEN_TEXT_BYTES];

	if (token_first(path, text, e) == 0)
		return 0;
	if (e->kind == ERR_FORMAT)
		return keep_old(path, e) == 0 ? make(path, e) : -1;
	return e->os == ENOENT ? make(path, e) : -1;
}

int
token_first(const char *path, char text[TOKEN_TEXT_BYTES], struct err *e)
{
	uint8_t token[KEYFILE_SECRET_BYTES];
	int rc = keyfile_read_secret(path, KEYFILE_TOKEN, token, e);

	if (rc == 0)
		number_hex(token, sizeof token, text);
	OPENSSL_cleanse(token, sizeof token);
	return rc;
}

bool
token_counts(const char *path, const char *header)
{
	uint8_t given[KEYFILE_SECRET_BYTES];
	struct keyfile_tokens t;
	struct err ignored;
	bool found = false;

	if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0 ||
	    strlen(header + 7) != TOKEN_TEXT_BYTES - 1 || !number_from_hex(header + 7, given, sizeof given) ||
	    keyfile_read_tokens(path, &t, &ignored) != 0)
		return false;
	/* Each is compared in full, so that the time says nothing of the others. */
	for (size_t i = 0; i < t.n; i++)
		found |= CRYPTO_memcmp(t.token[i], given, sizeof given) == 0;
	OPENSSL_cleanse(&t, sizeof t);
	return found;
}
