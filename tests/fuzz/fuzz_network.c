/* Descriptions of networks: what is accepted can be evaluated, and no way of sending is faster than
 * its slowest link. */
#include <math.h>
#include <stdlib.h>

#include "dolly/plan/predict.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { BYTES_MAX = 4096, CLIENTS_MAX = 64 };

static void
evaluate(const struct network *n)
{
	struct predict_config c = {
		.raw_bytes = 1e9, .compression = 2, .arity_max = 3, .clients = CLIENTS_MAX
	};
	struct prediction p;
	struct route r;
	struct err e;

	if (route_make(&r, n, &e) == 0 && predict_all(&p, n, &r, &c, &e) == 0)
		for (size_t i = 0; i < p.n; i++)
			if (!(p.rows[i].rate > 0) || !(p.rows[i].seconds > 0))
				abort();
	route_free(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct network n;
	struct err e;

	if (bytes <= BYTES_MAX &&
	    network_parse(&n, (const char *)data, bytes, "text", &e) == 0)
		evaluate(&n);
	else if (bytes > BYTES_MAX)
		return 0;
	network_free(&n);
	return 0;
}
