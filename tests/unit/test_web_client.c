/* Requests of web servers, with one that does well or wrong as the path says: limits,
 * parts, tries, pauses, redirects, and both kinds of addresses. */
#include "common/net/web/web_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "tests/t.h"

enum { CALLS = 20, PART = 100 };

static char base[80]; /* http://ADDRESS:PORT */
static atomic_uint requests; /* since test() has begun */
static struct web_client *web;
static struct web_call call;
static struct err e;
static uint8_t part[PART];

/* A client that has enough may be gone. */
static void
send_bytes(int fd, const void *bytes, size_t n)
{
	(void)!send(fd, bytes, n, MSG_NOSIGNAL);
}

static void
send_text(int fd, const char *text)
{
	send_bytes(fd, text, strlen(text));
}

/* What is at a path. */
struct page {
	const char *path;
	const char *text; /* the answer; NULL: the part that is asked for; "": silence */
	unsigned busy;    /* how many requests are told first to come again */
	int shift, more;  /* how far the part lies behind, or what it has more */
};

static char long_head[70000] = "HTTP/1.1 200 OK\r\nX-Line: "; /* main() fills it */

static const struct page pages[] = {
	{ .path = "/part" },
	{ .path = "/busy", .busy = 2 },
	{ .path = "/other", .shift = 1 },
	{ .path = "/more", .more = 1 },
	{ .path = "/less", .more = -1 },
	{ .path = "/gone", .text = "HTTP/1.1 404 Gone\r\n\r\nno such thing" },
	{ .path = "/down", .text = "HTTP/1.1 503 Down\r\n\r\nlater" },
	{ .path = "/moved", .text = "HTTP/1.1 302 Moved\r\nLocation: /part\r\n\r\n" },
	{ .path = "/round", .text = "HTTP/1.1 302 Moved\r\nLocation: /round\r\n\r\n" },
	{ .path = "/whole", .text = "HTTP/1.1 200 OK\r\n\r\nnot a part" },
	{ .path = "/short", .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnot all" },
	{ .path = "/head", .text = long_head },
	{ .path = "/silent", .text = "" },
};

static void
send_part(int fd, const char *request, const struct page *p)
{
	const char *range = strstr(request, "Range: bytes=");
	unsigned first = 0, last = 0;
	char head[200];
	uint8_t body[2 * PART];

	sscanf(range != NULL ? range : "", "Range: bytes=%u-%u", &first, &last);
	snprintf(head, sizeof head,
	    "HTTP/1.1 206 Part\r\nContent-Range: bytes %u-%u/100000\r\n\r\n",
	    first + p->shift, last + p->shift);
	send_text(fd, head);
	int n = (int)(last - first) + 1 + p->more;
	for (int i = 0; i < n; i++)
		body[i] = (uint8_t)((first + i) * 7);
	send_bytes(fd, body, (size_t)n);
}

/* Answer a request.  Returns false if the connection is to stay as it is, silent. */
static bool
answer(int fd, const char *request)
{
	const struct page *p = pages;
	unsigned number = ++requests;

	while (strncmp(request + strlen("GET "), p->path, strlen(p->path)) != 0)
		p++;
	if (number <= p->busy)
		send_text(fd, "HTTP/1.1 503 Busy\r\n\r\n");
	else if (p->text == NULL)
		send_part(fd, request, p);
	else
		send_text(fd, p->text);
	return p->text == NULL || p->text[0] != '\0';
}

static void *
serve(void *listener)
{
	char request[2000];

	for (;;) {
		int fd = accept((int)(intptr_t)listener, NULL, NULL);
		size_t n = 0;
		ssize_t got = 1;
		while (n < sizeof request - 1 && got > 0) {
			request[n] = '\0';
			if (strstr(request, "\r\n\r\n") != NULL)
				break;
			got = read(fd, request + n, sizeof request - 1 - n);
			n += got > 0 ? (size_t)got : 0;
		}
		if (got <= 0 || answer(fd, request)) {
			shutdown(fd, SHUT_WR);
			close(fd);
		}
	}
	return NULL;
}

/* false: this machine has no such addresses. */
static bool
begin(int family)
{
	bool is_four = family == AF_INET;
	struct sockaddr_in6 six = { .sin6_family = family,
		.sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = family,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr *sa = is_four ? (void *)&four : (void *)&six;
	socklen_t n = is_four ? sizeof four : sizeof six;
	pthread_t thread;

	int listener = socket(family, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, sa, n) != 0 || listen(listener, 50) != 0 ||
	    getsockname(listener, sa, &n) != 0)
		return false;
	snprintf(base, sizeof base, "http://%s:%u", is_four ? "127.0.0.1" : "[::1]",
	    ntohs(is_four ? four.sin_port : six.sin6_port));
	return pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener) == 0;
}

static void
renew(const struct web_client_config *c)
{
	web_client_close(web);
	T_CHECK(web_client_open(&web, c, &e) == 0);
}

/* Make a call for a part, or for all of it, and return the kind of its error. */
static enum err_kind
test(const char *path, size_t whole, double seconds)
{
	char url[200];

	snprintf(url, sizeof url, "%s%s", base, path);
	requests = 0;
	e = (struct err){ .kind = ERR_NONE };
	memset(part, 0, sizeof part);
	buf_free(&call.got);
	call = (struct web_call){ .name = "it", .url = url, .retry.seconds = seconds };
	call.bytes = whole > 0 ? whole : PART;
	call.to = whole > 0 ? NULL : part;
	call.from = 1000;
	bool failed = web_perform(web, &call, 1, &e) != NULL;
	T_CHECK(failed == (e.kind != ERR_NONE));
	printf("# %s: %s\n", path, e.text);
	return e.kind;
}

static bool
is_part(const uint8_t *p, unsigned from)
{
	for (unsigned i = 0; i < PART; i++)
		if (p[i] != (uint8_t)((from + i) * 7))
			return false;
	return true;
}

static void
test_limits(void)
{
	T_CHECK(test("/whole", 10, 5) == ERR_NONE && call.got.len == 10);
	T_CHECK(test("/whole", 9, 5) == ERR_FORMAT && call.too_long && requests == 1);
	T_CHECK(test("/head", 1 << 20, 5) == ERR_FORMAT && call.too_long);
	T_CHECK(requests == 1);
	T_CHECK(test("/more", 0, 5) == ERR_FORMAT && call.too_long && requests == 1);
}

static void
test_parts(void)
{
	T_CHECK(test("/part", 0, 5) == ERR_NONE && is_part(part, 1000));
	T_CHECK(test("/other", 0, 5) == ERR_FORMAT && requests == 1);
	T_CHECK(strstr(e.text, " is not the 100 bytes at 1000 ") != NULL);
	T_CHECK(test("/whole", 0, 5) == ERR_FORMAT && requests == 1);
	T_CHECK(test("/less", 0, 0.2) == ERR_IO && requests == 2);
	T_CHECK(strcmp(e.text, "it: the server's answer ends too early (tries: 2)") == 0);
}

static void
test_tries(void)
{
	T_CHECK(test("/busy", 0, 5) == ERR_NONE && is_part(part, 1000) && requests == 3);
	T_CHECK(test("/down", 0, 0.5) == ERR_IO && requests == 3 && call.retry.tries == 3);
	T_CHECK(strcmp(e.text, "it: the server answers 503 (tries: 3)") == 0);
	T_CHECK(test("/short", 50, 0.2) == ERR_IO && requests == 2);
	T_CHECK(test("/gone", 0, 5) == ERR_IO && e.os == ENOENT && requests == 1);
	T_CHECK(call.got.len == 13 && memcmp(call.got.base, "no such thing", 13) == 0);
	T_CHECK(test("/silent", 0, 0.2) == ERR_IO && web_is_unreached(&call));
	renew(&(struct web_client_config){ .agent = "test", .tries = 2 });
	T_CHECK(test("/down", 0, 1000) == ERR_IO && requests == 2);
}

static void
test_unreached(void)
{
	static const char url[] = "http://127.0.0.1:1/"; /* where nobody listens */
	struct web_call c = { .name = "it", .url = url, .retry.seconds = 0.2 };

	T_CHECK(web_perform(web, &c, 1, &e) == &c && e.kind == ERR_IO);
	T_CHECK(web_is_unreached(&c) && c.retry.tries == 2);
	c = (struct web_call){ .name = "it", .url = url, .doubtful = true, .retry.seconds = 5 };
	T_CHECK(web_perform(web, &c, 1, &e) == &c && e.kind == ERR_IO && c.retry.tries == 1);
}

static void
test_redirects(void)
{
	T_CHECK(test("/moved", 0, 5) == ERR_IO && requests == 1);
	renew(&(struct web_client_config){ .agent = "test", .redirects = 3 });
	T_CHECK(test("/moved", 0, 5) == ERR_NONE && is_part(part, 1000) && requests == 2);
	T_CHECK(test("/round", 0, 5) == ERR_IO && requests == 4);
}

/* The first two are busy at first; all come to their places. */
static void
test_many(void)
{
	static uint8_t parts[CALLS][PART];
	struct web_call calls[CALLS];
	char url[100];
	bool right = true;

	snprintf(url, sizeof url, "%s/busy", base);
	requests = 0;
	for (unsigned i = 0; i < CALLS; i++)
		calls[i] = (struct web_call){ .name = "it", .url = url, .retry.seconds = 5,
			.to = parts[i], .from = i * PART, .bytes = PART };
	T_CHECK(web_perform(web, calls, CALLS, &e) == NULL && requests == CALLS + 2);
	for (unsigned i = 0; i < CALLS; i++) {
		right = right && is_part(parts[i], i * PART);
		buf_free(&calls[i].got);
	}
	T_CHECK(right);
}

int
main(void)
{
	size_t n = strlen(long_head);

	memset(long_head + n, 'x', sizeof long_head - n - 3);
	strcat(long_head, "\r\n");
	alarm(60);
	if (curl_lib_load(&e) != 0) {
		puts(e.text);
		return 77;
	}
	if (!T_CHECK(begin(AF_INET)))
		return t_done();
	renew(&(struct web_client_config){ .agent = "test" });
	test_limits();
	test_parts();
	test_tries();
	test_unreached();
	test_many();
	test_redirects();
	if (begin(AF_INET6))
		T_CHECK(test("/part", 0, 5) == ERR_NONE && is_part(part, 1000));
	cancel_work_for(&(struct cancel){ .signal = SIGTERM });
	T_CHECK(test("/part", 0, 5) == ERR_CANCELLED);
	buf_free(&call.got);
	web_client_close(web);
	return t_done();
}
