#include "tests/sim/verdict.h"

#include <stdio.h>

void
verdict_print_head(void)
{
	printf("%-14s %8s %7s %7s %7s %6s %6s %7s %6s %8s %7s %5s %6s\n", "case",
	    "median s", "mean s", "worst s", "x alone", "x sent", "dup %", "control",
	    "ctl/s", "re-asks", "dropped", "idle", "MB/s");
	printf("%-14s %8s %7s %7s %7s %6s %6s %7s %6s %8s\n", "  with ext", "",
	    "mean x", "worst x", "", "parity", "use% -", "par% -", "ctl/s", "busiest");
}

/* With the extension what counts is what the clients received in vain. */
static double
duplicates(const struct scenario *sc, const struct outcome *out)
{
	if (sc->ext)
		return out->useless;
	return out->blocks_sent == 0
	           ? 0
	           : (double)out->blocks_resent / (double)out->blocks_sent;
}

static double
times_alone(const struct outcome *out, uint64_t alone)
{
	return alone > 0 ? (double)out->median_us / (double)alone : 0;
}

static double
control_rate(const struct scenario *sc, const struct outcome *out)
{
	return (double)(sc->ext ? out->chatter : out->control) * 1e6 /
	       (double)(out->end_us + 1);
}

static double
images_sent(const struct outcome *out)
{
	return (double)(out->blocks_sent + out->parity_sent) /
	       (double)out->image_blocks;
}

static double
ratio(double us, uint64_t alone)
{
	return alone > 0 ? us / (double)alone : 0;
}

void
verdict_print(const struct scenario *sc, const struct outcome *out, uint64_t alone)
{
	printf("%-14s %8.2f %7.2f %7.2f %7.3f %6.3f %6.2f %7llu %6.1f %8llu %7llu"
	       " %5llu %6.1f\n",
	    sc->name, (double)out->median_us / 1e6, out->mean_us / 1e6,
	    (double)out->worst_us / 1e6, times_alone(out, alone), images_sent(out),
	    100 * duplicates(sc, out), (unsigned long long)out->control,
	    control_rate(sc, out), (unsigned long long)out->rerequests,
	    (unsigned long long)out->dropped, (unsigned long long)out->idle_timeouts,
	    (double)out->image_blocks * WIRE_BLOCK_BYTES /
		(double)(out->median_us + 1));
	if (!sc->ext)
		return;
	printf("%-14s %8s %7.3f %7.3f %7s %6.3f %6.2f %7.2f %6.1f %8llu\n", "", "",
	    ratio(out->mean_us, alone), ratio((double)out->worst_us, alone), "",
	    (double)out->parity_sent / (double)out->image_blocks, 100 * out->useless,
	    100 * out->unneeded, control_rate(sc, out),
	    (unsigned long long)out->busiest);
}

void
verdict_check(const struct scenario *sc, struct outcome *out, uint64_t alone)
{
	const struct {
		const char *what;
		double got, most;
	} limits[] = {
		{ "duplicates", duplicates(sc, out), sc->max_duplicates },
		{ "the time of one alone", times_alone(out, alone),
		    sc->max_times_alone },
		{ "the mean time, of one alone", ratio(out->mean_us, alone),
		    sc->max_mean_alone },
		{ "the slowest, of one alone", ratio((double)out->worst_us, alone),
		    sc->max_worst_alone },
		{ "sent, in images", images_sent(out), sc->max_sent },
		{ "control messages a second", control_rate(sc, out), sc->max_control },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].most > 0 && limits[i].got > limits[i].most)
			snprintf(out->failed, sizeof out->failed,
			    "%s: %.3f, at most %.3f", limits[i].what, limits[i].got,
			    limits[i].most);
}
