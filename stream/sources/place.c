/* place.c: parses the place of an image, as users write it.  sources.c and programs call this,
 * in any thread; nothing is kept. */
#include "stream/sources/place.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "common/disk/disk_nbd.h"
#include "common/net/web/http.h"
#include "stream/session/session.h"

#define STORE_PREFIX "store:"

/* The length of the scheme in front of "://"; 0: there is none. */
static size_t
scheme_bytes(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+-.";
	size_t n = strspn(text, letters);

	return strncmp(text + n, "://", 3) == 0 ? n : 0;
}

static bool
is_session(const char *text, size_t scheme)
{
	return scheme == 7 && strncasecmp(text, "frisbee", 7) == 0;
}

int
place_parse(struct place *p, const char *text, struct err *e)
{
	size_t scheme = scheme_bytes(text);

	if (text[0] == '\0')
		return err_set(e, ERR_USAGE, "the image has no name");
	if (strcmp(text, "-") == 0)
		return err_set(e, ERR_USAGE, "the image must be a file, not a pipe");
	*p = (struct place){ PLACE_FILE, text };
	if (strncmp(text, STORE_PREFIX, strlen(STORE_PREFIX)) == 0) {
		*p = (struct place){ PLACE_STORE, text + strlen(STORE_PREFIX) };
		return p->what[0] != '\0'
		           ? 0
		           : err_set(e, ERR_USAGE, "\"%s\" names no image of a store", text);
	}
	if (scheme == 0)
		return 0;
	p->kind = http_is(text)             ? PLACE_HTTP
	          : is_session(text, scheme) ? PLACE_SESSION
	                                      : PLACE_NBD;
	if (p->kind == PLACE_SESSION)
		return session_check(text, e);
	if (p->kind == PLACE_NBD && !disk_nbd_is(text))
		return err_set(e, ERR_USAGE,
		    "\"%.200s\": images are read from files, store:NAME, http://, https://, "
		    "nbd:// and frisbee://, and a file of this name would be \"./%.200s\"",
		    text, text);
	return text[scheme + 3] != '\0' ? 0
	                                : err_set(e, ERR_USAGE, "\"%s\" names no server", text);
}
