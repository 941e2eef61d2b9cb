/* paper.c: runs the tables of the Frisbee paper, and prints them beside the published numbers
 * (paper.h).  sim.c calls it, in the program's only thread. */
#include "tests/sim/paper.h"

#include <stdio.h>

#include "tests/sim/machines.h"
#include "tests/sim/world.h"

enum {
	SMALL_CHUNKS =
	    180, /* chunks of the paper's small image, and of its large one */
	LARGE_CHUNKS = 655,
	SMALL_CHUNK_US =
	    183000, /* microseconds in which its machines' disks write a chunk */
	LARGE_CHUNK_US = 131000,
	PC2000_CHUNK_US = 88000,
	PC600_CHUNK_US = 144000,
	SPREAD_US = 30000000,
	TABLE_4_CLIENTS = 4,
};
/* Bits a second that the paper calls 70 and 90 Mbit/s, as its own times imply. */
static const uint64_t RATE_70 = 64100000, RATE_90 = 83400000;

static const struct scenario machines = {
	.name = "paper", LAN, CLIENT(64), .chunk_spread = 0.02
};

struct skewed {
	const char *name;
	uint32_t chunks;
	enum start_pattern start;
	const char *mean, *range, *messages, *duplicates; /* published */
};

static const struct skewed table_3[] = {
	{ "small, at once", SMALL_CHUNKS, START_AT_ONCE, "33.6", "32.9-34.7", "2753",
	    "3.2" },
	{ "small, four groups", SMALL_CHUNKS, START_GROUPS, "35.6", "33.2-40.3", "4561",
	    "46" },
	{ "small, uniform", SMALL_CHUNKS, START_UNIFORM, "40.0", "34.5-51.0", "7875",
	    "59" },
	{ "large, at once", LARGE_CHUNKS, START_AT_ONCE, "100.2", "100-101", "12772",
	    "7.3" },
	{ "large, four groups", LARGE_CHUNKS, START_GROUPS, "113.3", "106-126", "17266",
	    "26" },
	{ "large, uniform", LARGE_CHUNKS, START_UNIFORM, "132.4", "120-147", "23842",
	    "37" },
};

struct mixed {
	const char *rate;
	uint64_t rate_bits;
	uint32_t slow;
	const char *slow_mean, *fast_mean, *messages, *duplicates; /* published */
};

static const struct mixed table_4[] = {
	{ "70", RATE_70, 0, "-", "94.3", "895", "0.0" },
	{ "70", RATE_70, 1, "96.7", "94.0", "918", "0.6" },
	{ "70", RATE_70, 3, "95.9", "93.9", "885", "0.2" },
	{ "70", RATE_70, 4, "95.5", "-", "877", "0.2" },
	{ "90", RATE_90, 0, "-", "72.3", "667", "0.1" },
	{ "90", RATE_90, 1, "105.0", "81.6", "986", "24.0" },
	{ "90", RATE_90, 3, "106.7", "93.7", "1222", "30.8" },
	{ "90", RATE_90, 4, "106.5", "-", "1186", "28.7" },
};

static bool
held(const struct outcome *out)
{
	fflush(stdout);
	if (out->failed[0] == '\0')
		return true;
	printf("FAILED: %s\n", out->failed);
	return false;
}

static void
print_counts(const struct outcome *out, const char *messages, const char *duplicates)
{
	double percent = out->blocks_sent > 0 ? 100.0 * (double)out->blocks_resent /
	                                            (double)out->blocks_sent
	                                      : 0;

	printf("  %6llu (%5s)  %5.1f (%4s)\n", (unsigned long long)out->control,
	    messages, percent, duplicates);
}

static bool
run_skewed(const struct skewed *t, uint64_t seed)
{
	struct scenario sc = machines;
	struct outcome out;
	char range[32];

	sc.clients = 80;
	sc.chunks = t->chunks;
	sc.chunk_us = t->chunks == SMALL_CHUNKS ? SMALL_CHUNK_US : LARGE_CHUNK_US;
	sc.rate_bits = RATE_70;
	sc.start = t->start;
	sc.spread_us = SPREAD_US;
	world_run(&sc, seed, false, &out);
	snprintf(range, sizeof range, "%.1f-%.1f", (double)out.best_us / 1e6,
	    (double)out.worst_us / 1e6);
	printf("%-20s  %6.1f (%5s)  %-11s (%-9s)", t->name, out.mean_us / 1e6, t->mean,
	    range, t->range);
	print_counts(&out, t->messages, t->duplicates);
	return held(&out);
}

static void
print_mean(double us, const char *published)
{
	if (us > 0)
		printf("  %6.1f (%5s)", us / 1e6, published);
	else
		printf("  %6s        ", "-");
}

static bool
run_mixed(const struct mixed *t, uint64_t seed)
{
	struct scenario sc = machines;
	struct outcome out;

	sc.clients = TABLE_4_CLIENTS;
	sc.chunks = LARGE_CHUNKS;
	sc.chunk_us = PC2000_CHUNK_US;
	sc.slow_clients = t->slow;
	sc.slow_chunk_us = PC600_CHUNK_US;
	sc.rate_bits = t->rate_bits;
	world_run(&sc, seed, false, &out);
	printf("%s Mbit/s, %u and %u   ", t->rate, t->slow, TABLE_4_CLIENTS - t->slow);
	print_mean(out.slow_mean_us, t->slow_mean);
	print_mean(out.fast_mean_us, t->fast_mean);
	print_counts(&out, t->messages, t->duplicates);
	return held(&out);
}

int
paper_tables(uint64_t seed)
{
	unsigned failed = 0;

	printf("Seed %llu; what the paper has is in brackets.\n\n"
	       "Table 3: 80 clients, starts spread over 30 s\n"
	       "%-20s  %-14s  %-23s  %-14s  %s\n",
	    (unsigned long long)seed, "", "mean s", "range", "messages", "dup. %");
	for (size_t i = 0; i < sizeof table_3 / sizeof table_3[0]; i++)
		failed += !run_skewed(&table_3[i], seed);
	printf("\nTable 4: pc600 and pc2000, large image\n"
	       "%-20s  %-14s  %-14s  %-14s  %s\n",
	    "", "pc600 mean s", "pc2000", "messages", "dup. %");
	for (size_t i = 0; i < sizeof table_4 / sizeof table_4[0]; i++)
		failed += !run_mixed(&table_4[i], seed);
	return failed != 0;
}
