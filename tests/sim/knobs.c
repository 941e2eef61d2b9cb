/* knobs.c: changes cases by the options --set (knobs.h).  sim.c and runs.c call it, in the
 * program's only thread. */
#include "tests/sim/knobs.h"

#include <stdlib.h>
#include <string.h>

/* A key of --set, and the member that it changes. */
struct knob {
	const char *name;
	size_t off;
	enum { U32, U64, REAL, FLAG, PATTERN } kind;
};
static const struct knob knobs[] = {
	{ "clients", offsetof(struct scenario, clients), U32 },
	{ "chunks", offsetof(struct scenario, chunks), U32 },
	{ "odd-bytes", offsetof(struct scenario, odd_bytes), U32 },
	{ "rate", offsetof(struct scenario, rate_bits), U64 },
	{ "burst", offsetof(struct scenario, burst), U32 },
	{ "gap-us", offsetof(struct scenario, gap_us), U64 },
	{ "dynamic", offsetof(struct scenario, dynamic), FLAG },
	{ "start", offsetof(struct scenario, start), PATTERN },
	{ "spread-us", offsetof(struct scenario, spread_us), U64 },
	{ "lacks-every", offsetof(struct scenario, lacks_every), U32 },
	{ "ext", offsetof(struct scenario, ext), FLAG },
	{ "parity", offsetof(struct scenario, parity), FLAG },
	{ "first", offsetof(struct scenario, first), FLAG },
	{ "server-known", offsetof(struct scenario, server_known), FLAG },
	{ "pack-blocks", offsetof(struct scenario, pack_blocks), U32 },
	{ "narrow-clients", offsetof(struct scenario, narrow_clients), U32 },
	{ "narrow-us", offsetof(struct scenario, narrow_us), U64 },
	{ "empty", offsetof(struct scenario, empty), REAL },
	{ "old-clients", offsetof(struct scenario, old_clients), U32 },
	{ "new-image-us", offsetof(struct scenario, new_image_us), U64 },
	{ "buffers", offsetof(struct scenario, buffers), U32 },
	{ "readahead", offsetof(struct scenario, readahead), U32 },
	{ "in-progress", offsetof(struct scenario, in_progress), U32 },
	{ "sequential", offsetof(struct scenario, sequential), FLAG },
	{ "redo-us", offsetof(struct scenario, redo_us), U64 },
	{ "unheard", offsetof(struct scenario, unheard), FLAG },
	{ "readers", offsetof(struct scenario, readers), U32 },
	{ "reads", offsetof(struct scenario, reads), U32 },
	{ "read-blocks", offsetof(struct scenario, read_blocks), U32 },
	{ "ahead", offsetof(struct scenario, ahead), U32 },
	{ "ordered", offsetof(struct scenario, ordered), FLAG },
	{ "think-us", offsetof(struct scenario, think_us), U64 },
	{ "chunk-us", offsetof(struct scenario, chunk_us), U64 },
	{ "chunk-spread", offsetof(struct scenario, chunk_spread), REAL },
	{ "slow-clients", offsetof(struct scenario, slow_clients), U32 },
	{ "slow-chunk-us", offsetof(struct scenario, slow_chunk_us), U64 },
	{ "damage", offsetof(struct scenario, damage), REAL },
	{ "greedy-old", offsetof(struct scenario, greedy_old), U32 },
	{ "greedy-new", offsetof(struct scenario, greedy_new), U32 },
	{ "crashes", offsetof(struct scenario, crashes), U32 },
	{ "restart-us", offsetof(struct scenario, restart_us), U64 },
	{ "down-us", offsetof(struct scenario, down_us), U64 },
	{ "read-latency-us", offsetof(struct scenario, read_latency_us), U64 },
	{ "read-rate", offsetof(struct scenario, read_bytes_per_s), U64 },
	{ "relay", offsetof(struct scenario, relay), FLAG },
	{ "relay-waits", offsetof(struct scenario, relay_waits), FLAG },
	{ "arrival-us", offsetof(struct scenario, arrival_us), U64 },
	{ "stall-us", offsetof(struct scenario, stall_us), U64 },
	{ "stall-every-us", offsetof(struct scenario, stall_every_us), U64 },
	{ "loss", offsetof(struct scenario, net.loss), REAL },
	{ "server-loss", offsetof(struct scenario, net.server_loss), REAL },
	{ "loss-burst", offsetof(struct scenario, loss_burst), REAL },
	{ "late", offsetof(struct scenario, net.late), REAL },
	{ "late-us", offsetof(struct scenario, net.late_us), U32 },
	{ "twice", offsetof(struct scenario, net.twice), REAL },
	{ "latency-us", offsetof(struct scenario, net.latency_us), U32 },
	{ "port-bits", offsetof(struct scenario, net.port_bits), U64 },
	{ "client-bits", offsetof(struct scenario, net.client_bits), U64 },
	{ "queue-bytes", offsetof(struct scenario, net.queue_bytes), U32 },
	{ "shared-bytes", offsetof(struct scenario, net.shared_bytes), U32 },
	{ "cross", offsetof(struct scenario, net.cross), REAL },
	{ "cross-bytes", offsetof(struct scenario, net.cross_bytes), U32 },
	{ "tcp-us", offsetof(struct scenario, tcp_us), U64 },
	{ "socket-packets", offsetof(struct scenario, net.socket_packets), U32 },
	{ "gather-us", offsetof(struct scenario, net.gather_us), U32 },
	{ "read-ns", offsetof(struct scenario, net.read_ns), U32 },
	{ "bad-clients", offsetof(struct scenario, bad_clients), U32 },
	{ "bad-bits", offsetof(struct scenario, bad.bits), U64 },
	{ "bad-queue-bytes", offsetof(struct scenario, bad.queue_bytes), U32 },
	{ "bad-loss", offsetof(struct scenario, bad.loss), REAL },
	{ "bad-burst-us", offsetof(struct scenario, bad.burst_us), REAL },
	{ "bad-loss-up", offsetof(struct scenario, bad.loss_up), REAL },
	{ "bad-drawn", offsetof(struct scenario, bad_drawn), FLAG },
	{ "bad-old", offsetof(struct scenario, bad_old), FLAG },
	{ "bad-absent", offsetof(struct scenario, bad_absent), FLAG },
	{ "foes", offsetof(struct scenario, foes), U32 },
	{ "foe-does", offsetof(struct scenario, foe_does), U32 },
	{ "rival-us", offsetof(struct scenario, rival_us), U64 },
	{ "rival-same", offsetof(struct scenario, rival_same), FLAG },
	{ "wakes-late-us", offsetof(struct scenario, late_us), U32 },
	{ "mute-us", offsetof(struct scenario, mute_us), U64 },
	{ "mute-for-us", offsetof(struct scenario, mute_for_us), U64 },
	{ NULL, 0, U32 },
};
/* The keys of --set together with --share. */
static const struct knob share_knobs[] = {
	{ "rate", offsetof(struct share, rate_bits), U64 },
	{ "link-bits", offsetof(struct share, link_bits), U64 },
	{ "queue-bytes", offsetof(struct share, queue_bytes), U32 },
	{ "latency-us", offsetof(struct share, latency_us), U32 },
	{ "start-us", offsetof(struct share, start_us), U64 },
	{ "measure-us", offsetof(struct share, measure_us), U64 },
	{ "loss", offsetof(struct share, loss), REAL },
	{ "old", offsetof(struct share, old), FLAG },
	{ "end-us", offsetof(struct share, end_us), U64 },
	{ "down-us", offsetof(struct share, down_us), U64 },
	{ "chunks", offsetof(struct share, chunks), U32 },
	{ NULL, 0, U32 },
};

static bool
turn_knob(void *at, const struct knob *k, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	at = (char *)at + k->off;
	switch (k->kind) {
	case U32:
		*(uint32_t *)at = (uint32_t)v;
		break;
	case U64:
		*(uint64_t *)at = (uint64_t)v;
		break;
	case REAL:
		*(double *)at = v;
		break;
	case FLAG:
		*(bool *)at = v != 0;
		break;
	case PATTERN:
		*(enum start_pattern *)at = (enum start_pattern)v;
		break;
	}
	return end != value && *end == '\0';
}

static bool
set_knob(void *at, const struct knob *table, const char *setting)
{
	const char *eq = strchr(setting, '=');
	size_t len = eq != NULL ? (size_t)(eq - setting) : 0;

	for (const struct knob *k = table; eq != NULL && k->name != NULL; k++)
		if (strlen(k->name) == len && strncmp(k->name, setting, len) == 0)
			return turn_knob(at, k, eq + 1);
	return false;
}

/* A changed case is another one: what it may cost is not known. */
void
knobs_drop_limits(struct scenario *sc)
{
	sc->max_duplicates = sc->max_times_alone = sc->max_control = 0;
	sc->max_mean_alone = sc->max_worst_alone = sc->max_sent = 0;
	sc->max_clean = sc->max_overlap = sc->max_of_best = 0;
	sc->max_wait_us = 0;
	sc->min_tcp = sc->max_tcp = 0;
	sc->max_read_median_us = sc->max_read_99_us = 0;
	sc->max_urgent = sc->max_boot = sc->max_whole = sc->min_there = 0;
}

bool
knobs_change(struct scenario *sc, const char *setting, char *changes, size_t cap)
{
	size_t len = strlen(changes);

	knobs_drop_limits(sc);
	int n = snprintf(changes + len, cap - len, " --set %s", setting);
	return n > 0 && (size_t)n < cap - len && set_knob(sc, knobs, setting);
}

bool
knobs_change_share(struct share *sh, const char *setting)
{
	return set_knob(sh, share_knobs, setting);
}

static void
print_names(FILE *f, const struct knob *table)
{
	for (const struct knob *k = table; k->name != NULL; k++)
		fprintf(f, " %s", k->name);
}

void
knobs_print(FILE *f)
{
	print_names(f, knobs);
}

void
knobs_print_share(FILE *f)
{
	print_names(f, share_knobs);
}
