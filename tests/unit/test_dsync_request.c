/* Requests to `dsync serve`: round trip, every truncation, what is refused, and the command lines
 * that become of them. */
#include "dsync/talk/request.h"

#include <string.h>

#include "tests/t.h"

static struct request
digests_of(const char *target)
{
	struct request q;
	struct err e;

	T_CHECK(request_make(&q, REQUEST_DIGESTS, 1 << 20, target, &e) == 0);
	T_CHECK(request_take_options(&q, " --in-place  --force ", &e) == 0);
	return q;
}

static size_t
encode(const struct request *q, uint8_t bytes[REQUEST_BYTES_MAX])
{
	struct wr w = wr_to(bytes, REQUEST_BYTES_MAX);

	request_put(&w, q);
	return wr_ok(&w) ? wr_len(&w) : 0;
}

static int
decode(struct request *q, const uint8_t *bytes, size_t n, struct err *e)
{
	struct rd r = rd_from(bytes, n);

	return request_get(q, &r, e);
}

static void
test_round_trip(void)
{
	struct request q = digests_of("/dev/mapper/a b"), again;
	uint8_t bytes[REQUEST_BYTES_MAX];
	size_t n = encode(&q, bytes);
	struct err e;

	T_CHECK(n == 8 + strlen(q.target));
	T_CHECK(decode(&again, bytes, n, &e) == 0 && memcmp(&q, &again, sizeof q) == 0);
	T_CHECK(q.flags == (REQUEST_IN_PLACE | REQUEST_FORCE));
	for (size_t cut = 0; cut < n; cut++) /* a shorter path is a path, too */
		if ((decode(&again, bytes, cut, &e) == 0) != (cut > 8))
			T_CHECK(!"a request that is cut");
}

static void
test_longest(void)
{
	char path[REQUEST_TARGET_MAX + 2];
	uint8_t bytes[REQUEST_BYTES_MAX + 1];
	struct request q, again;
	struct err e;

	memset(path, 'x', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	T_CHECK(request_make(&q, REQUEST_STATUS, 0, path, &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(request_make(&q, REQUEST_STATUS, 0, "", &e) != 0);
	path[sizeof path - 2] = '\0';
	T_CHECK(request_make(&q, REQUEST_STATUS, 0, path, &e) == 0);
	size_t n = encode(&q, bytes);
	T_CHECK(n == REQUEST_BYTES_MAX && decode(&again, bytes, n, &e) == 0);
	bytes[n] = 'x';
	T_CHECK(decode(&again, bytes, n + 1, &e) != 0 && e.kind == ERR_FORMAT);
}

/* Change one byte of a good request. */
static enum err_kind
refused(size_t at, uint8_t to)
{
	struct request q = digests_of("/x"), again;
	uint8_t bytes[REQUEST_BYTES_MAX];
	size_t n = encode(&q, bytes);
	struct err e;

	bytes[at] = to;
	if (decode(&again, bytes, n, &e) == 0)
		return ERR_NONE;
	T_CHECK(again.what == 0); /* the server looks up its name */
	return e.kind;
}

static void
test_refused(void)
{
	struct request q = digests_of("/x");
	struct err e;

	T_CHECK(refused(0, 2) == ERR_UNSUPPORTED);
	T_CHECK(refused(1, 0) == ERR_FORMAT);
	T_CHECK(refused(1, REQUEST_DIGESTS + 1) == ERR_FORMAT);
	T_CHECK(refused(1, 255) == ERR_FORMAT);
	T_CHECK(refused(1, REQUEST_MERGE) == ERR_FORMAT); /* a merge has no digests */
	T_CHECK(refused(2, 16) == ERR_FORMAT);
	T_CHECK(refused(3, 1) == ERR_FORMAT);
	T_CHECK(refused(6, 0) == ERR_FORMAT); /* digests of 0 bytes */
	T_CHECK(refused(7, 255) == ERR_FORMAT);
	T_CHECK(refused(9, 0) == ERR_FORMAT); /* a path with a NUL */
	T_CHECK(request_take_options(&q, "--journal=/x", &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(request_take_options(&q, "--in-plac", &e) != 0);
}

static void
test_line(void)
{
	static const char *const want[] = { "dmmerge", "--quiet", "--state-dir=/v",
		"--digests=1048576", "--in-place", "--force", "--", "-x" };
	struct request q = digests_of("-x");
	struct request_line l;
	size_t n = sizeof want / sizeof *want;

	request_line(&l, &q, "dmmerge", "--state-dir=/v");
	for (size_t i = 0; i < n; i++)
		T_CHECK(strcmp(l.argv[i], want[i]) == 0);
	T_CHECK(l.argv[n] == NULL);
	q.what = REQUEST_MERGE, q.flags = 15;
	request_line(&l, &q, "dmmerge", "--state-dir=/v");
	T_CHECK(strcmp(l.argv[3], "--in-place") == 0 && strcmp(l.argv[7], "--") == 0 && l.argv[9] == NULL);
}

int
main(void)
{
	test_round_trip();
	test_longest();
	test_refused();
	test_line();
	return t_done();
}
