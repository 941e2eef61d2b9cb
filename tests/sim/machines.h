/* machines.h: members of struct scenario for the networks and machines of the simulator's
 * cases. */
#ifndef TESTS_SIM_MACHINES_H
#define TESTS_SIM_MACHINES_H

/* A 100 Mbit/s network, with the server on a gigabit port. */
#define LAN \
	.net.port_bits = 1000000000, .net.client_bits = 100000000, \
	.net.queue_bytes = 131072, .net.latency_us = 100, .net.socket_packets = 900, \
	.net.read_ns = 4000
/* A network of 10 Gbit/s, where the client's socket buffer is the bottleneck. */
#define FAST(packets, ns) \
	.net.port_bits = 10000000000, .net.queue_bytes = 1 << 20, \
	.net.latency_us = 60, .net.socket_packets = (packets), .net.read_ns = (ns)
#define CLIENT(n) .buffers = (n), .readahead = 2, .in_progress = 8
/* The machines of the Frisbee paper and its small image. */
#define DISK .chunk_us = 183000, .chunk_spread = 0.02
#define PAPER LAN, CLIENT(64), DISK, .rate_bits = 70000000
/* The same network with disks so fast that the network is the bottleneck. */
#define QUICK QUICK_AT(70000000)
#define QUICK_AT(rate) LAN, CLIENT(64), .chunk_us = 1000, .rate_bits = (rate)
#define LATE(share, us) .net.late = (share), .net.late_us = (us)
#define SKEWED(how, s) .start = (how), .spread_us = (s)*1000000ull
#define LIMITS(dup, times, ctl) \
	.max_duplicates = (dup), .max_times_alone = (times), .max_control = (ctl)
/* EXT and PACKS(): the extension, with packets of one or of n blocks.  GOALS(): limits on
 * useless data, on the mean and the slowest time as multiples of one client's alone, on data
 * sent as a multiple of the image, and on messages a second besides joins and leaves. */
#define EXT .ext = true, .parity = true, .pack_blocks = 1
#define PACKS(n) .ext = true, .parity = true, .pack_blocks = (n)
#define GOALS(dup, mean, worst, sent, ctl) \
	.max_duplicates = (dup), .max_mean_alone = (mean), .max_worst_alone = (worst), \
	.max_sent = (sent), .max_control = (ctl)

#endif /* TESTS_SIM_MACHINES_H */
