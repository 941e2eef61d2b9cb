/* world.h: one run of the real engines in virtual time: a server and its clients on
 * a simulated switch, with the disks that the programs would have, and the rules
 * that must hold at every step. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/client/client.h"
#include "frisbeed/server/server.h"
#include "tests/sim/net.h"

enum start_pattern { START_AT_ONCE, START_GROUPS, START_UNIFORM };

struct scenario {
	const char *name;
	uint32_t clients;
	uint32_t chunks;
	uint32_t odd_bytes; /* not 0: a file, its last chunk so long */
	struct net_config net;
	double loss_burst;  /* losses come in runs, as long as so many blocks take */
	uint64_t rate_bits; /* -W; 0: unpaced */
	uint32_t burst;     /* or, not 0: -B with ... */
	uint64_t gap_us;    /* ... -G */
	bool dynamic;       /* -D */
	enum start_pattern start;
	uint64_t spread_us;      /* of the starts */
	bool ext, parity;        /* the extension, and with parity */
	bool first;              /* chunk 0 is written first, whatever comes first */
	bool server_known;       /* clients take packets of that address alone */
	uint32_t pack_blocks;    /* blocks in a packet */
	uint32_t narrow_clients; /* the first ones: only one block reaches them ... */
	uint64_t narrow_us;      /* ... from then on */
	double empty;            /* the end of a chunk, at most this share of it */
	uint32_t old_clients;    /* so many, the last ones, do not know it */
	uint64_t new_image_us;   /* the file is replaced then; 0: never */
	uint32_t buffers, readahead, in_progress;
	bool sequential;
	uint64_t redo_us;                /* 0: the usual second */
	bool unheard;                    /* clients do not hear each other */
	uint64_t chunk_us;               /* a client's disk takes so long for a chunk */
	double chunk_spread;             /* +- this share, drawn for each client */
	uint32_t slow_clients;           /* the first ones take ... */
	uint64_t slow_chunk_us;          /* ... so long */
	double damage;                   /* share of chunks that turn out damaged */
	uint32_t greedy_old, greedy_new; /* besides: they ask for all, for ever */
	uint32_t crashes;                /* so many clients die half-way */
	/* The first ones' links are worse than the others'; or what is wrong with each
	 * of them is drawn. */
	uint32_t bad_clients;
	struct net_link bad;
	bool bad_drawn;
	uint32_t foes, foe_does; /* strangers on the group; enum foe_does, 0: drawn */
	/* A second server begins then, with another image or the same; 0: never. */
	uint64_t rival_us;
	bool rival_same;
	/* The same without those that are bad, die, or are strangers; with two servers,
	 * without the second one, and the first does not die. */
	bool bad_absent;
	uint64_t mute_us, mute_for_us; /* from then on, what the server sends is lost */
	uint64_t restart_us;             /* the server dies then; 0: never ... */
	uint64_t down_us;                /* ... and comes back so much later */
	uint64_t read_latency_us;        /* the server's disk: each read ... */
	uint64_t read_bytes_per_s;       /* ... and its rate; 0: no time at all */
	uint64_t stall_us, stall_every_us; /* ... and now and then it hangs */
	uint64_t arrival_us; /* the image still comes to the server: a chunk each time */
	/* The first client is a relay: it serves the others what it loads; or begins to when
	 * it has all of it, as two loads in sequence do. */
	bool relay, relay_waits;
	/* So many clients, the first ones, read the image in one order while it comes: so many
	 * reads of so many blocks, with such a pause behind each. */
	uint32_t readers, reads, read_blocks;
	uint64_t think_us;
	bool readers_idle; /* they read nothing: what the others' times are compared with */
	/* How long a read may take in the middle, and for 99 of 100; and what is sent for them
	 * besides, in times of what one reader reads. */
	uint64_t max_read_median_us, max_read_99_us;
	double max_urgent;
	/* One client alone takes the longer of these: of the network, and this much
	 * more than its disk.  0: not known. */
	uint64_t alone_net_us, alone_extra_us;
	/* What a run may cost at most; 0: no matter. */
	double max_duplicates; /* share of what was sent */
	double max_times_alone;
	double max_control; /* messages a second */
	double max_mean_alone, max_worst_alone;
	double max_sent; /* times the image */
	/* Of what the others take, and is sent, without the bad ones: so many times the
	 * time, and this much longer. */
	double max_clean;
	uint64_t clean_extra_us, clean_tail_us; /* the slowest one, besides */
	/* With a relay: of the time of two loads in sequence; and how long a chunk takes to
	 * come to it that was asked for there, mean. */
	double max_overlap;
	uint64_t max_wait_us;
};

/* Times as multiples of what each client takes alone. */
struct multiples {
	double mean, worst;
};

struct outcome {
	char failed[256]; /* empty: every rule held */
	uint32_t finished;
	uint64_t median_us, worst_us; /* a client's time from its start */
	double mean_us;
	uint64_t best_us;
	double slow_mean_us, fast_mean_us; /* of slow_clients, and the others */
	struct multiples own, own_slow, own_fast;
	double clean_mean_us; /* of clients with which nothing is wrong */
	uint64_t clean_worst_us;
	uint64_t complaints; /* clients that the server has named */
	double least_heard;  /* of what is sent, by one that must end, at most */
	uint64_t end_us;
	uint64_t image_blocks;
	uint64_t blocks_sent, blocks_resent;
	uint64_t parity_sent;
	uint64_t urgent_sent; /* blocks that somebody waited for, in addition */
	uint64_t data_packets_sent, left_out; /* packets; blocks */
	uint64_t fits;                 /* messages: what fits */
	double useless;   /* share of what a client needed, mean: received twice */
	double unneeded;  /* the same of parity */
	uint64_t control; /* messages that reached the server */
	uint64_t chatter; /* of those: neither join nor leave */
	uint64_t busiest; /* of those: in any one second */
	uint64_t damaged; /* blocks, of all clients */
	uint32_t refused; /* clients that were told of another image */
	uint32_t reads;      /* of all readers, and how long they took */
	uint64_t read_median_us, read_99_us, read_worst_us;
	uint32_t awaited;    /* chunks that were asked of a relay before it had them */
	double mean_wait_us; /* ... and have come so long after that */
	uint64_t rerequests, idle_timeouts, dropped, partial_drops;
	struct net_stats net;
	uint64_t hash; /* of all that was sent: one seed, one hash */
};

void world_run(const struct scenario *, uint64_t seed, bool trace, struct outcome *);

#endif /* TESTS_SIM_WORLD_H */
