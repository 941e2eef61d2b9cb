/* The head of an HTTP answer: what it says, and what makes no sense. */
#include "common/net/web/web_answer.h"

#include <string.h>

#include "tests/t.h"

static struct web_answer a;

static void
line(const char *text)
{
	web_answer_line(&a, text, strlen(text));
}

static void
begin(void)
{
	line("HTTP/1.1 206 Partial Content\r\n");
}

static bool
range_is(const char *value, bool has, uint64_t first, uint64_t last)
{
	char text[200];

	begin();
	snprintf(text, sizeof text, "Content-Range: %s\r\n", value);
	line(text);
	return a.has_range == has && a.first == first && a.last == last;
}

static void
test_status(void)
{
	begin();
	T_CHECK(a.status == 206);
	line("HTTP/2 200\r\n");
	T_CHECK(a.status == 200);
	line("HTTP/1.1 99999999999999999999 OK");
	T_CHECK(a.status == 0);
	line("HTTP/");
	T_CHECK(a.status == 0);
}

static void
test_range(void)
{
	T_CHECK(range_is("bytes 0-4095/10485760", true, 0, 4095));
	T_CHECK(a.has_total && a.total == 10485760);
	T_CHECK(range_is("bytes 5-5/*", true, 5, 5) && !a.has_total);
	T_CHECK(range_is("BYTES 18446744073709551613-18446744073709551614/18446744073709551615",
	    true, UINT64_MAX - 2, UINT64_MAX - 1));
	T_CHECK(range_is("bytes */0", false, 0, 0));
	T_CHECK(a.has_total && a.total == 0);
	static const char *const wrong[] = { "", "bytes", "bytes 0-1", "bytes 0-1/", "bytes 2-1/9",
		"bytes 0-9/9", "bytes 0-1/9x", "bytes 0-18446744073709551616/*", "bytes -1/9",
		"bytes 1-/9", "lines 0-1/9", "bytes 0-1/9, 2-3/9", "bytes 0-1/ 9" };
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (!T_CHECK(range_is(wrong[i], false, 0, 0) && !a.has_total))
			printf("# %s\n", wrong[i]);
}

static void
test_validators(void)
{
	char text[1000];

	begin();
	T_CHECK(strcmp(web_answer_validator(&a), "") == 0);
	line("Last-Modified: Mon, 23 Nov 2026 00:00:00 GMT\r\n");
	T_CHECK(strcmp(web_answer_validator(&a), "Mon, 23 Nov 2026 00:00:00 GMT") == 0);
	line("ETag: W/\"weak\"\r\n");
	T_CHECK(strcmp(web_answer_validator(&a), "Mon, 23 Nov 2026 00:00:00 GMT") == 0);
	T_CHECK(strcmp(a.etag, "W/\"weak\"") == 0);
	line("etag:  \"strong\"  \r\n");
	T_CHECK(strcmp(web_answer_validator(&a), "\"strong\"") == 0);
	snprintf(text, sizeof text, "ETag: \"%0*d\"", WEB_ETAG_MAX - 2, 1);
	line(text);
	T_CHECK(strlen(a.etag) == WEB_ETAG_MAX);
	snprintf(text, sizeof text, "ETag: \"%0*d\"", WEB_ETAG_MAX - 1, 1);
	line(text);
	T_CHECK(a.etag[0] == '\0');
	begin();
	T_CHECK(a.modified[0] == '\0');
}

static void
test_coding(void)
{
	begin();
	line("Content-Encoding: identity");
	T_CHECK(!a.coded);
	line("Content-Encoding: gzip");
	T_CHECK(a.coded);
	begin();
	line("Content-Encoding: identity, gzip");
	T_CHECK(a.coded);
}

/* A line that is cut anywhere says what it says whole, or nothing. */
static void
test_truncated(void)
{
	static const char whole[] = "Content-Range: bytes 10-19/100";

	for (size_t n = 0; n < sizeof whole - 1; n++) {
		begin();
		web_answer_line(&a, whole, n);
		if (a.has_range)
			T_CHECK(n > strlen("Content-Range: bytes 10-19/") && a.first == 10 &&
				a.last == 19);
	}
	begin();
	web_answer_line(&a, whole, sizeof whole - 1);
	T_CHECK(a.has_range && a.total == 100);
}

int
main(void)
{
	test_status();
	test_range();
	test_validators();
	test_coding();
	test_truncated();
	return t_done();
}
