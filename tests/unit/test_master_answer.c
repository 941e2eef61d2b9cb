/* A request on behalf of another host: the master allows what both that host and the
 * one that asks may have, whichever of them may have more. */
#include "mfrisbeed/master/answer.h"

#include <string.h>

#include "tests/t.h"

static const char text[] =
    "image both /nonexistent/both.ndz\nimage one /nonexistent/one.ndz\n"
    "group 239.1.1.1\nallow 10.0.0.1 both one\nallow 10.0.0.2 both\n"
    "allow 10.0.0.1 upload\n";
static const uint8_t itself[4], more[4] = { 10, 0, 0, 1 }, less[4] = { 10, 0, 0, 2 };
static struct settings settings;
static struct uploads *uploads;
static struct err e;

static ssize_t
ask(const uint8_t from[4], const void *request, size_t bytes,
    uint8_t out[MASTER_PUT_REPLY_BYTES])
{
	const struct answerer a = { .settings = &settings, .uploads = uploads };
	struct asker who = { .here = { 10, 0, 0, 9 } };

	memcpy(who.from, from, sizeof who.from);
	return answer_make(&a, &who, request, bytes, true, out, &e);
}

/* The files do not exist, so a host that may have an image hears that there is none. */
static enum master_error
get(const uint8_t from[4], const uint8_t host[4], const char *name)
{
	struct master_get m = { .methods = MASTER_ANY, .status_only = true };
	uint8_t request[MASTER_GET_BYTES], out[MASTER_PUT_REPLY_BYTES];
	struct master_get_reply r = { 0 };

	memcpy(m.host, host, sizeof m.host);
	snprintf(m.name, sizeof m.name, "%s", name);
	master_get_write(&m, request);
	ssize_t n = ask(from, request, sizeof request, out);
	T_CHECK(n == MASTER_GET_REPLY_BYTES);
	T_CHECK(master_get_reply_read(&r, out, (size_t)n, &e) == 0);
	return r.error;
}

static enum master_error
put(const uint8_t from[4], const uint8_t host[4])
{
	struct master_put m = { .status_only = true, .name = "new" };
	uint8_t request[MASTER_PUT_BYTES], out[MASTER_PUT_REPLY_BYTES];
	struct master_put_reply r = { 0 };

	memcpy(m.host, host, sizeof m.host);
	master_put_write(&m, request);
	ssize_t n = ask(from, request, sizeof request, out);
	T_CHECK(n == MASTER_PUT_REPLY_BYTES);
	T_CHECK(master_put_reply_read(&r, out, (size_t)n, &e) == 0);
	return r.error;
}

int
main(void)
{
	T_CHECK(settings_parse(&settings, text, sizeof text - 1, "text", &e) == 0);
	T_CHECK(uploads_new(&uploads, NULL, NULL, &e) == 0);
	T_CHECK(get(more, itself, "one") == MASTER_NO_IMAGE);
	T_CHECK(get(less, itself, "one") == MASTER_NO_ACCESS);
	T_CHECK(get(more, less, "both") == MASTER_NO_IMAGE);
	T_CHECK(get(more, less, "one") == MASTER_NO_ACCESS);
	T_CHECK(get(less, more, "one") == MASTER_NO_ACCESS);
	T_CHECK(put(more, itself) == MASTER_OK);
	T_CHECK(put(more, less) == MASTER_NO_ACCESS);
	T_CHECK(put(less, more) == MASTER_NO_ACCESS);
	uploads_free(uploads);
	settings_free(&settings);
	return t_done();
}
