/* Any request to `dsync serve`: refused, or encoded again to the same bytes, with a command line of
 * dmmerge in which the path is the last word. */
#include <assert.h>
#include <string.h>

#include "dsync/talk/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd r = rd_from(data, len);
	uint8_t again[REQUEST_BYTES_MAX];
	struct wr w = wr_to(again, sizeof again);
	struct request_line l;
	struct request q;
	struct err e;
	size_t n = 0;

	if (request_get(&q, &r, &e) != 0) {
		assert(q.what == 0);
		return 0;
	}
	request_put(&w, &q);
	assert(wr_ok(&w) && wr_len(&w) == len && memcmp(again, data, len) == 0);
	request_line(&l, &q, "dmmerge", "--state-dir=/");
	while (l.argv[n] != NULL)
		n++;
	assert(n < REQUEST_ARGV_MAX && l.argv[n - 1] == q.target);
	assert(strcmp(l.argv[n - 2], "--") == 0 && strlen(q.target) == len - 8);
	return 0;
}
