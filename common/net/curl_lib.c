/* curl_lib.c: loads libcurl, and passes calls of its functions on to it (curl_lib.h).
 * web_client.c calls curl_lib_load(), and it and those for whom it works the functions,
 * in any thread.  */
#include "common/net/curl_lib.h"

#include <pthread.h>
#include <stdarg.h>

#include "common/base/late.h"

/* Whoever calls these by their names finds the functions below.  <curl/curl.h> has
 * macros of some of the names, which check arguments and call the function. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

/* X(name) for each function that is called anywhere. */
#define FUNCTIONS(X)                                                                     \
	X(curl_global_init) X(curl_getdate) X(curl_slist_append) X(curl_slist_free_all)  \
	X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_setopt)                       \
	X(curl_easy_getinfo) X(curl_easy_strerror)                                       \
	X(curl_multi_init) X(curl_multi_cleanup) X(curl_multi_add_handle)                \
	X(curl_multi_remove_handle) X(curl_multi_perform) X(curl_multi_poll)             \
	X(curl_multi_info_read)

static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} lib;
static const char *missing; /* what could not be loaded; NULL: everything could */

static void
load(void)
{
#define X(name) #name,
	static const char *const names[] = { FUNCTIONS(X) };
#undef X

	missing = late_load(
	    "libcurl.so.4", names, (void **)&lib, sizeof names / sizeof names[0]);
	if (missing == NULL)
		lib.curl_global_init(CURL_GLOBAL_DEFAULT);
}

int
curl_lib_load(struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (missing == NULL)
		return 0;
	return err_set(e, ERR_ABSENT,
	    "%s: this library is not installed, and web servers and buckets need it "
	    "(libcurl)",
	    missing);
}

/* The value of an option is of the type that the option's number says. */
CURLcode
curl_easy_setopt(CURL *h, CURLoption o, ...)
{
	CURLcode code;
	va_list ap;

	va_start(ap, o);
	if (o < CURLOPTTYPE_OBJECTPOINT)
		code = lib.curl_easy_setopt(h, o, va_arg(ap, long));
	else if (o >= CURLOPTTYPE_OFF_T && o < CURLOPTTYPE_BLOB)
		code = lib.curl_easy_setopt(h, o, va_arg(ap, curl_off_t));
	else
		code = lib.curl_easy_setopt(h, o, va_arg(ap, void *));
	va_end(ap);
	return code;
}

CURLcode
curl_easy_getinfo(CURL *h, CURLINFO i, ...)
{
	va_list ap;

	va_start(ap, i);
	CURLcode code = lib.curl_easy_getinfo(h, i, va_arg(ap, void *));
	va_end(ap);
	return code;
}

/* The others are passed on as they are. */
#define PASS(type, name, parameters, arguments)                                          \
	type name parameters                                                             \
	{                                                                                \
		return lib.name arguments;                                               \
	}
PASS(CURL *, curl_easy_init, (void), ())
PASS(void, curl_easy_cleanup, (CURL *h), (h))
PASS(const char *, curl_easy_strerror, (CURLcode code), (code))
PASS(time_t, curl_getdate, (const char *text, const time_t *unused), (text, unused))
PASS(struct curl_slist *, curl_slist_append, (struct curl_slist *l, const char *text),
    (l, text))
PASS(void, curl_slist_free_all, (struct curl_slist *l), (l))
PASS(CURLM *, curl_multi_init, (void), ())
PASS(CURLMcode, curl_multi_cleanup, (CURLM *m), (m))
PASS(CURLMcode, curl_multi_add_handle, (CURLM *m, CURL *h), (m, h))
PASS(CURLMcode, curl_multi_remove_handle, (CURLM *m, CURL *h), (m, h))
PASS(CURLMcode, curl_multi_perform, (CURLM *m, int *running), (m, running))
PASS(CURLMcode, curl_multi_poll,
    (CURLM *m, struct curl_waitfd *fds, unsigned n, int timeout_ms, int *ready),
    (m, fds, n, timeout_ms, ready))
PASS(CURLMsg *, curl_multi_info_read, (CURLM *m, int *left), (m, left))
