/* answer.c: prints what came of a run as JSON (answer.h).  runs.c and shares.c call it, in the
 * program's only thread. */
#include "tests/sim/answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/json.h"

static struct json *
begin(uint64_t seed)
{
	struct json *j = json_new();

	assert(j != NULL);
	json_object(j, NULL);
	json_uint(j, "seed", seed);
	return j;
}

static void
end(struct json *j)
{
	struct err e;

	json_end(j);
	if (json_show(j, &e) != 0)
		fprintf(stderr, "sim: %s\n", e.text);
}

static void
put_multiples(struct json *j, const char *key, const struct multiples *m)
{
	json_object(j, key);
	json_double(j, "mean", m->mean);
	json_double(j, "worst", m->worst);
	json_end(j);
}

/* As text: a number of 64 bits is more than many readers of JSON can hold. */
static void
put_hash(struct json *j, uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof text, "%016" PRIx64, hash);
	json_string(j, "hash", text);
}

static void
put_times(struct json *j, const struct scenario *sc, const struct outcome *out,
    uint64_t alone)
{
	json_double(j, "mean_s", out->mean_us / 1e6);
	json_double(j, "best_s", (double)out->best_us / 1e6);
	json_double(j, "median_s", (double)out->median_us / 1e6);
	json_double(j, "worst_s", (double)out->worst_us / 1e6);
	json_double(j, "slow_mean_s", out->slow_mean_us / 1e6);
	json_double(j, "fast_mean_s", out->fast_mean_us / 1e6);
	json_double(j, "end_s", (double)out->end_us / 1e6);
	json_double(j, "alone_s", (double)alone / 1e6);
	if (sc->alone_net_us == 0)
		return;
	put_multiples(j, "own", &out->own);
	put_multiples(j, "own_slow", &out->own_slow);
	put_multiples(j, "own_fast", &out->own_fast);
}

static double
images_sent(const struct outcome *out)
{
	return (double)(out->blocks_sent + out->parity_sent) / (double)out->image_blocks;
}

static void
put_traffic(struct json *j, const struct outcome *out)
{
	double image = (double)out->image_blocks, seconds = (double)out->end_us / 1e6;
	double resent = out->blocks_sent > 0
	                    ? (double)out->blocks_resent / (double)out->blocks_sent
	                    : 0;

	json_double(j, "sent", images_sent(out));
	json_double(j, "parity", (double)out->parity_sent / image);
	json_double(j, "resent", resent);
	json_double(j, "useless", out->useless);
	json_double(j, "unneeded_parity", out->unneeded);
	json_uint(j, "control", out->control);
	json_double(j, "control_per_s", (double)out->control / seconds);
	json_double(j, "chatter_per_s", (double)out->chatter / seconds);
	json_uint(j, "busiest_second", out->busiest);
	json_uint(j, "rerequests", out->rerequests);
	json_uint(j, "idle_timeouts", out->idle_timeouts);
}

/* Of clients with which nothing is wrong, of readers, and of a relay. */
static void
put_others(struct json *j, const struct scenario *sc, const struct outcome *out)
{
	double one_reads = (double)sc->reads * sc->read_blocks;

	json_double(j, "clean_mean_s", out->clean_mean_us / 1e6);
	json_double(j, "clean_worst_s", (double)out->clean_worst_us / 1e6);
	json_double(j, "read_mean_s", out->read_mean_us / 1e6);
	json_double(j, "read_median_s", (double)out->read_median_us / 1e6);
	json_double(j, "read_99_s", (double)out->read_99_us / 1e6);
	json_double(j, "read_worst_s", (double)out->read_worst_us / 1e6);
	json_double(j, "reads_there", out->there);
	json_double(j, "boot_mean_s", out->boot_mean_us / 1e6);
	json_double(j, "boot_worst_s", (double)out->boot_worst_us / 1e6);
	json_double(j, "urgent", one_reads > 0 ? (double)out->urgent_sent / one_reads : 0);
	json_uint(j, "awaited", out->awaited);
	json_double(j, "awaited_s", out->mean_wait_us / 1e6);
	json_double(j, "tcp", out->tcp);
}

static void
put_run(struct json *j, const char *key, const struct scenario *sc, const struct outcome *out)
{
	if (out == NULL)
		return;
	json_object(j, key);
	json_string(j, "failed", out->failed);
	json_double(j, "mean_s", out->mean_us / 1e6);
	json_double(j, "worst_s", (double)out->worst_us / 1e6);
	json_double(j, "end_s", (double)out->end_us / 1e6);
	json_double(j, "sent", images_sent(out));
	put_others(j, sc, out);
	json_end(j);
}

void
answer_case(const struct scenario *sc, uint64_t seed, const struct answer *a)
{
	struct json *j = begin(seed);

	json_string(j, "case", sc->name);
	json_string(j, "failed", a->out->failed);
	json_uint(j, "clients", sc->clients);
	json_uint(j, "chunks", sc->chunks);
	json_uint(j, "finished", a->out->finished);
	put_times(j, sc, a->out, a->alone_us);
	put_traffic(j, a->out);
	put_others(j, sc, a->out);
	put_run(j, "beside", sc, a->beside);
	put_run(j, "boot_alone", sc, a->boot_alone);
	put_hash(j, a->out->hash);
	end(j);
}

void
answer_share(const struct share *sh, uint64_t seed, const struct share_outcome *out)
{
	struct json *j = begin(seed);

	json_uint(j, "servers", sh->servers);
	json_double(j, "jain", out->jain);
	json_double(j, "use", out->use);
	json_double(j, "loss", out->loss);
	if (sh->end_us != 0) {
		json_double(j, "least_kept", out->least_kept);
		json_double(j, "most_kept", out->most_kept);
	}
	if (sh->down_us != 0)
		json_bool(j, "whole", out->whole);
	end(j);
}
