/* world.h: one run of the real engines in virtual time: a server and its clients on
 * a simulated switch, with disks as the programs would have, and with the rules
 * that must hold at every step. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/client/client.h"
#include "frisbeed/server/server.h"
#include "tests/sim/net.h"

enum start_pattern { START_AT_ONCE, START_GROUPS, START_UNIFORM, START_LATE };

struct scenario {
	const char *name;
	uint32_t clients;
	uint32_t chunks;
	uint32_t odd_bytes; /* not 0: a file that is no image; the bytes of its last chunk */
	struct net_config net;
	double loss_burst;  /* mean length of a run of losses, in times of a block */
	uint64_t rate_bits; /* -W; 0: unpaced */
	uint32_t burst;     /* -B; not 0: with gap_us, in place of rate_bits */
	uint64_t gap_us;    /* -G */
	bool dynamic;       /* -D */
	enum start_pattern start;
	uint64_t spread_us;      /* time over which the clients start, or (late) until they do */
	uint32_t lacks_every;    /* clients resume, and lack one of so many chunks; 0: they begin */
	bool ext, parity;        /* with the extension; with parity */
	bool first;              /* chunk 0 is written before all others */
	bool server_known;       /* clients take packets of the server's address alone */
	uint32_t pack_blocks;    /* blocks in a packet */
	/* From narrow_us on, only packets of one block reach the first narrow_clients. */
	uint32_t narrow_clients;
	uint64_t narrow_us;
	double empty;            /* largest share of a chunk that its empty end has */
	uint32_t old_clients;    /* the last ones, which do not know the extension */
	uint64_t new_image_us;   /* when the file is replaced; 0: never */
	uint32_t buffers, readahead, in_progress;
	bool sequential;
	uint64_t redo_us;                /* 0: the default, one second */
	bool unheard;                    /* clients do not hear each other */
	uint64_t chunk_us;               /* time that a client's disk takes for a chunk */
	double chunk_spread;             /* +- this share, drawn for each client */
	uint32_t slow_clients;           /* the first ones, whose disks are slower */
	uint64_t slow_chunk_us;          /* time that their disks take for a chunk */
	double damage;                   /* share of chunks that turn out damaged */
	uint32_t greedy_old, greedy_new; /* further machines, which ask for all, for ever */
	uint32_t crashes;                /* clients that die half-way */
	/* The links of the first bad_clients are as `bad` says; with bad_drawn, what is wrong
	 * with each of these links is drawn. */
	uint32_t bad_clients;
	struct net_link bad;
	bool bad_drawn;
	bool bad_old; /* they do not know the extension, either */
	uint32_t foes, foe_does; /* strangers on the group; enum foe_does, 0: drawn */
	/* When a second server begins, with the same image or another one; 0: never. */
	uint64_t rival_us;
	bool rival_same;
	/* The same run without clients that are bad or die, and without strangers.  A case of two
	 * servers runs without the second one, and its first server does not die. */
	bool bad_absent;
	uint64_t tcp_us; /* when somebody begins to send to the first client by TCP; 0: never */
	uint32_t late_us; /* how late servers wake at most; one time in a thousand by 5 ms */
	uint64_t mute_us, mute_for_us; /* when, and how long, the server's packets are lost */
	uint64_t restart_us;             /* when the server dies; 0: never */
	uint64_t down_us;                /* how much later it comes back */
	uint64_t read_latency_us;        /* of each read of the server's disk */
	uint64_t read_bytes_per_s;       /* of the server's disk; 0: no time at all */
	uint64_t stall_us, stall_every_us; /* how long, and how often, that disk hangs */
	uint64_t arrival_us; /* the image still comes to the server, a chunk each time */
	/* The first client is a relay, which serves to the others what it loads.  With
	 * relay_waits it begins when it has the whole image, as two loads in sequence do. */
	bool relay, relay_waits;
	/* The first `readers` clients read the image in one order while it comes: `reads`
	 * reads of read_blocks blocks, with a pause of think_us behind each read. */
	uint32_t readers, reads, read_blocks;
	uint64_t think_us;
	/* A reader knows the order, and asks for so many of its reads at the same time before it
	 * does them; for no more than two while one that it does waits.  0: it knows no order. */
	uint32_t ahead;
	bool ordered; /* the server knows the order, and sends it when somebody reads */
	bool readers_idle; /* readers read nothing, so that others' times can be compared */
	/* Limits: the median time of a read, and the time of 99 of 100 reads; and what may be
	 * sent for reads in addition, as a multiple of what one reader reads. */
	uint64_t max_read_median_us, max_read_99_us;
	double max_urgent;
	/* Limits of readers that start by these reads: from the start of a machine to the end of
	 * its last read, as a multiple of the time of one machine alone; and from its start until
	 * its disk is whole, as a multiple of the time without reads.  Of the slowest machine. */
	double max_boot, max_whole;
	double min_there; /* least share of the reads whose blocks have come before they begin */
	/* The time of one client alone is the longer of two: that of the network, and that of its
	 * disk with alone_extra_us added.  0: not known. */
	uint64_t alone_net_us, alone_extra_us;
	/* Limits on what a run may cost; 0: no limit. */
	double max_duplicates; /* share of what was sent */
	double max_times_alone;
	double max_control; /* messages a second */
	double max_mean_alone, max_worst_alone;
	double max_sent; /* multiple of the image */
	/* Limits compared with the run without the bad clients (bad_absent): a multiple of the
	 * time of the others and of what is sent, and a time that is added. */
	double max_clean;
	uint64_t clean_extra_us, clean_tail_us; /* tail: added for the slowest client, too */
	double clean_sent; /* a multiple of what is sent, in place of 2; 0: 2 */
	/* Limits with a relay: the share of the time of two loads in sequence; and the mean
	 * time that a chunk takes to come to the relay after it was asked for there. */
	double max_overlap;
	uint64_t max_wait_us;
	/* Limit of a rate that adapts: a multiple of the clients' mean time at this fixed rate,
	 * which is the best one. */
	double max_of_best;
	uint64_t best_bits;
	/* Limits of what the TCP stream gets, as a multiple of half of the link. */
	double min_tcp, max_tcp;
};

/* Times of clients as multiples of the time that each takes alone. */
struct multiples {
	double mean, worst;
};

struct outcome {
	char failed[256]; /* empty: every rule held */
	uint32_t finished;
	uint64_t median_us, worst_us; /* a client's time from its start */
	double mean_us;
	uint64_t best_us;
	double slow_mean_us, fast_mean_us; /* of slow_clients, and of the others */
	struct multiples own, own_slow, own_fast;
	double clean_mean_us; /* of clients with which nothing is wrong */
	uint64_t clean_worst_us;
	uint64_t complaints; /* clients that the server has named in its log */
	double least_heard;  /* least heard_share of a client that must end */
	uint64_t end_us;
	uint64_t image_blocks;
	uint64_t blocks_sent, blocks_resent;
	uint64_t parity_sent;
	uint64_t urgent_sent; /* blocks that somebody waited for, in addition */
	uint64_t data_packets_sent, left_out; /* packets; blocks */
	uint64_t fits;                 /* messages that acknowledge an MTU probe */
	double useless;   /* blocks received twice, as a share of what a client needed, mean */
	double unneeded;  /* unneeded parity, as the same share */
	uint64_t control; /* messages that reached the server */
	uint64_t chatter; /* messages of `control` that are neither join nor leave */
	uint64_t busiest; /* most messages of `chatter` in one second */
	uint64_t damaged; /* blocks, of all clients */
	uint32_t refused; /* clients that were told of another image */
	uint32_t reads;      /* of all readers; below, how long they took */
	double read_mean_us;
	uint64_t read_median_us, read_99_us, read_worst_us;
	/* From a reader's start to the end of its last read. */
	double boot_mean_us;
	uint64_t boot_worst_us;
	double there; /* share of the reads whose blocks had come before they began */
	uint32_t awaited;    /* chunks that were asked of a relay before it had them */
	double mean_wait_us; /* mean time from that until the chunk came */
	uint64_t rerequests, idle_timeouts, dropped, partial_drops;
	double tcp; /* what the TCP stream got, as a multiple of half of the link */
	struct net_stats net;
	uint64_t hash; /* of all packets sent: one seed gives one hash */
};

/* Runs a scenario to its end with this seed, and fills in what came of it.  trace: every event is
 * printed. */
void world_run(const struct scenario *, uint64_t seed, bool trace, struct outcome *);

#endif /* TESTS_SIM_WORLD_H */
