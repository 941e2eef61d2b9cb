/* How much memory frisbee takes for chunks that are on their way. */
#include "frisbee/options.h"
#include "tests/t.h"

/* MB, as the system tells it; 0: it does not. */
static uint64_t
memory_mb(void)
{
	unsigned long long kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	if (f == NULL)
		return 0;
	if (fscanf(f, "MemTotal: %llu kB", &kb) != 1)
		kb = 0;
	fclose(f);
	return kb >> 10;
}

static uint64_t
settled(struct opts o)
{
	struct err e;

	T_CHECK(opts_settle(&o, &e) == 0);
	return o.chunk_mb;
}

int
main(void)
{
	struct opts o = frisbee_defaults;
	uint64_t mb = settled(o), part = memory_mb() / 64;

	T_CHECK(part > 0);
	T_CHECK(mb == (part < 64 ? 64 : part > 128 ? 128 : part));
	o.chunk_mb = 200;
	T_CHECK(settled(o) == 200);
	o.chunk_mb = 0;
	T_CHECK(settled(o) == 1 << 16); /* the whole image */
	o.both_mb = 20;
	T_CHECK(settled(o) == 10);
	return t_done();
}
