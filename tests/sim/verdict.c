/* verdict.c: prints and judges what came of a run (verdict.h).  runs.c and sim.c call it, in the
 * program's only thread. */
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

/* The share of blocks that were sent more than once; with the extension, the share of
 * blocks that clients received without needing them. */
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
		{ "the median time, in times of a client that is alone",
		    times_alone(out, alone), sc->max_times_alone },
		{ "the mean time, in times of a client that is alone",
		    ratio(out->mean_us, alone), sc->max_mean_alone },
		{ "the longest time, in times of a client that is alone",
		    ratio((double)out->worst_us, alone), sc->max_worst_alone },
		{ "blocks sent, in images", images_sent(out), sc->max_sent },
		{ "control messages a second", control_rate(sc, out), sc->max_control },
		{ "TCP, in halves of the link", out->tcp, sc->max_tcp },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].most > 0 && limits[i].got > limits[i].most)
			snprintf(out->failed, sizeof out->failed,
			    "%s: %.3f, at most %.3f", limits[i].what, limits[i].got,
			    limits[i].most);
	if (out->tcp < sc->min_tcp)
		snprintf(out->failed, sizeof out->failed,
		    "TCP, in halves of the link: %.3f, at least %.3f", out->tcp, sc->min_tcp);
}

static const double SENT_MOST = 2, SENT_SLACK = 1.4;

static double
blocks_sent(const struct outcome *out)
{
	return (double)(out->blocks_sent + out->parity_sent);
}

void
verdict_print_bad(
    const struct scenario *sc, const struct outcome *out, const struct outcome *without)
{
	printf("%-16s others: mean %.2f s, %.3f times; slowest %.2f s, %.3f times; "
	       "sent %.2f images, %.2f times; parity %.2f; all done %.2f s%s\n",
	    sc->name, out->clean_mean_us / 1e6,
	    out->clean_mean_us / without->clean_mean_us,
	    (double)out->clean_worst_us / 1e6,
	    (double)out->clean_worst_us / (double)without->clean_worst_us,
	    images_sent(out), blocks_sent(out) / blocks_sent(without),
	    (double)out->parity_sent / (double)out->image_blocks,
	    (double)out->end_us / 1e6, out->complaints > 0 ? "; named" : "");
}

void
verdict_check_bad(
    const struct scenario *sc, struct outcome *out, const struct outcome *without)
{
	double extra = (double)sc->clean_extra_us;
	/* At a fixed rate, a client that receives a third of what is sent needs three
	 * times as many blocks to be sent. */
	double times = SENT_SLACK / out->least_heard;

	times = times > SENT_MOST ? times : SENT_MOST;
	times = times > sc->clean_sent ? times : sc->clean_sent;
	const struct {
		const char *what;
		double got, most;
	} limits[] = {
		{ "the mean time of the other clients", out->clean_mean_us,
		    without->clean_mean_us * sc->max_clean + extra },
		{ "the longest time of the other clients", (double)out->clean_worst_us,
		    (double)without->clean_worst_us * sc->max_clean + extra +
			(double)sc->clean_tail_us },
		{ "blocks sent", blocks_sent(out), times * blocks_sent(without) },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].most > 0 && limits[i].got > limits[i].most)
			snprintf(out->failed, sizeof out->failed,
			    "%s: %.0f, at most %.0f", limits[i].what, limits[i].got,
			    limits[i].most);
}

static double
overlap(const struct outcome *out, const struct outcome *sequence)
{
	return (double)out->end_us / (double)sequence->end_us;
}

void
verdict_print_relay(
    const struct scenario *sc, const struct outcome *out, const struct outcome *sequence)
{
	printf("%-16s relay: mean %.2f s; all done %.2f s, %.3f of two loads in sequence; "
	       "sent %.2f images; %u chunks awaited for %.2f s\n",
	    sc->name, out->mean_us / 1e6, (double)out->end_us / 1e6,
	    overlap(out, sequence), images_sent(out), out->awaited,
	    out->mean_wait_us / 1e6);
}

void
verdict_check_relay(
    const struct scenario *sc, struct outcome *out, const struct outcome *sequence)
{
	bool asks_by_chunk = !sc->ext || sc->old_clients > 0;

	if (overlap(out, sequence) > sc->max_overlap)
		snprintf(out->failed, sizeof out->failed,
		    "with a relay the time is %.3f of two loads in sequence, at most "
		    "%.3f",
		    overlap(out, sequence), sc->max_overlap);
	else if (asks_by_chunk && out->awaited == 0)
		snprintf(out->failed, sizeof out->failed,
		    "no client asked the relay for a chunk that had not come");
	else if (sc->max_wait_us > 0 && out->mean_wait_us > (double)sc->max_wait_us)
		snprintf(out->failed, sizeof out->failed,
		    "a chunk that is asked for reaches the relay after %.3f s, at most "
		    "%.3f",
		    out->mean_wait_us / 1e6, (double)sc->max_wait_us / 1e6);
}

static double
of_best(const struct outcome *out, const struct outcome *best)
{
	return out->mean_us / best->mean_us;
}

void
verdict_print_rate(
    const struct scenario *sc, const struct outcome *out, const struct outcome *best)
{
	printf("%-16s rate: mean %.2f s, %.3f times as long as at the best rate; sent %.3f images, "
	       "there %.3f; dropped %llu, there %llu\n",
	    sc->name, out->mean_us / 1e6, of_best(out, best), images_sent(out),
	    images_sent(best), (unsigned long long)out->dropped,
	    (unsigned long long)best->dropped);
}

void
verdict_check_rate(
    const struct scenario *sc, struct outcome *out, const struct outcome *best)
{
	if (of_best(out, best) > sc->max_of_best)
		snprintf(out->failed, sizeof out->failed,
		    "%.3f times as long as at the best rate, at most %.3f", of_best(out, best),
		    sc->max_of_best);
	else if (sc->max_sent > 0 && images_sent(out) > sc->max_sent)
		snprintf(out->failed, sizeof out->failed, "sent, in images: %.3f, at most %.3f",
		    images_sent(out), sc->max_sent);
}

/* Microseconds that the blocks for readers take on the link, for which all clients
 * wait. */
static double
urgent_us(const struct scenario *sc, const struct outcome *out)
{
	return (double)out->urgent_sent * WIRE_BLOCK_COST_BITS * 1e6 / (double)sc->rate_bits;
}

static double
urgent_times(const struct scenario *sc, const struct outcome *out)
{
	return (double)out->urgent_sent / ((double)sc->reads * sc->read_blocks);
}

void
verdict_print_readers(
    const struct scenario *sc, const struct outcome *out, const struct outcome *idle)
{
	printf("%-16s readers: %u reads, median %.1f ms, 99 of 100 within %.1f ms, "
	       "slowest %.1f "
	       "ms; sent for them: %.2f times what one reads, in %.2f s; mean time of "
	       "a load "
	       "%.2f s, without readers %.2f s\n",
	    sc->name, out->reads, (double)out->read_median_us / 1e3,
	    (double)out->read_99_us / 1e3, (double)out->read_worst_us / 1e3,
	    urgent_times(sc, out), urgent_us(sc, out) / 1e6, out->mean_us / 1e6,
	    idle->mean_us / 1e6);
}

/* Two percent, because other packets are lost in each run; and the time of one more request, for a
 * block that happens to be lost at the end, which counts in a load of few seconds. */
static const double READERS_SLACK = 1.02, READERS_SLACK_US = 100000;

void
verdict_check_readers(
    const struct scenario *sc, struct outcome *out, const struct outcome *idle)
{
	const struct {
		const char *what;
		double got, most;
	} limits[] = {
		{ "the median time of a read", (double)out->read_median_us,
		    (double)sc->max_read_median_us },
		{ "the time of 99 of 100 reads", (double)out->read_99_us,
		    (double)sc->max_read_99_us },
		{ "blocks sent for readers, in times of what one reads",
		    urgent_times(sc, out), sc->max_urgent },
		{ "the mean time of a load", out->mean_us,
		    (idle->mean_us + urgent_us(sc, out)) * READERS_SLACK +
		        READERS_SLACK_US },
	};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		if (limits[i].most > 0 && limits[i].got > limits[i].most)
			snprintf(out->failed, sizeof out->failed, "%s: %.3f, at most %.3f",
			    limits[i].what, limits[i].got, limits[i].most);
	if (out->failed[0] == '\0' && out->reads < sc->readers * sc->reads)
		snprintf(out->failed, sizeof out->failed, "%u of %u reads were done",
		    out->reads, sc->readers * sc->reads);
}

void
verdict_print_boots(const struct scenario *sc, const struct outcome *out,
    const struct outcome *alone, const struct outcome *loads)
{
	printf("%-16s boots: mean %.2f s, slowest %.2f s, %.3f times one alone (%.2f s); "
	       "%.1f %% of the reads there (alone %.1f), 99 of 100 within %.1f ms (%.1f); disks "
	       "whole: slowest %.2f s, %.3f times a load (%.2f s); sent for reads: %.2f times "
	       "what one reads\n",
	    sc->name, out->boot_mean_us / 1e6, (double)out->boot_worst_us / 1e6,
	    ratio((double)out->boot_worst_us, alone->boot_worst_us),
	    (double)alone->boot_worst_us / 1e6, 100 * out->there, 100 * alone->there,
	    (double)out->read_99_us / 1e3, (double)alone->read_99_us / 1e3,
	    (double)out->worst_us / 1e6, ratio((double)out->worst_us, loads->worst_us),
	    (double)loads->worst_us / 1e6, urgent_times(sc, out));
}

void
verdict_check_boots(const struct scenario *sc, struct outcome *out, const struct outcome *alone,
    const struct outcome *loads)
{
	double boot = ratio((double)out->boot_worst_us, alone->boot_worst_us);
	double whole = ratio((double)out->worst_us, loads->worst_us);

	if (out->reads < sc->readers * sc->reads)
		snprintf(out->failed, sizeof out->failed, "%u of %u reads were done", out->reads,
		    sc->readers * sc->reads);
	else if (out->there < sc->min_there)
		snprintf(out->failed, sizeof out->failed,
		    "the blocks of %.3f of the reads were there, at least %.3f", out->there,
		    sc->min_there);
	else if (sc->max_boot > 0 && boot > sc->max_boot)
		snprintf(out->failed, sizeof out->failed,
		    "the slowest machine takes %.3f times as long to start as one alone, at most %.3f",
		    boot, sc->max_boot);
	else if (sc->max_whole > 0 && whole > sc->max_whole)
		snprintf(out->failed, sizeof out->failed,
		    "the last disk is whole after %.3f times the time of a load, at most %.3f", whole,
		    sc->max_whole);
}
