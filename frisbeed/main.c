/* frisbeed: serve one image to everybody who asks on a multicast group. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/cli.h"
#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/ndz/image.h"
#include "common/store/store_disk.h"
#include "common/net/netopts.h"
#include "common/net/parity.h"
#include "frisbeed/identity.h"
#include "frisbeed/loop.h"

enum {
	BURST_DEFAULT = 16, /* with the gap: 8000 blocks a second */
	GAP_US_DEFAULT = 2000,
	GAP_NOT_SET = -1,
	RUN_BLOCKS_DEFAULT = 32,
	READ_AHEAD_BYTES = 8 << 20,
	IDLE_S_DEFAULT = 1800,
	EXIT_ADDRINUSE = 98, /* as the original's */
	PORT_MAX = 65535,
	SECOND_PORTS = 64, /* behind -p, for the second one */
};

struct opts {
	struct net_options net;
	const char *addr_file; /* -A */
	bool debug, dynamic, fixed, quiet, json, trace, base;
	int64_t idle_s;
	uint64_t run_blocks, burst, gap_us;
	const char *rate; /* -W */
	const char *store;
	const char *ignored;
};

#define RATE_DEFAULT \
	UINT64_C(1000000000) /* the most, with neither -W nor -B nor -G \
	                      */

enum { OPT_JSON = 300, OPT_STORE, OPT_BASE, OPT_FIXED };

#define AT(field) offsetof(struct opts, field)

static const struct cli_opt own_opts[] = {
	{ 'W', "bandwidth", "BITS", "never send faster: 60M, 1G bits a second (1G)",
	    CLI_STR, AT(rate), 0, 0, NULL },
	{ 'B', "burst", "N", "blocks a burst (16), at a fixed rate", CLI_UINT,
	    AT(burst), 1, 65536, NULL },
	{ 'G', "gap", "US",
	    "microseconds from burst to burst (2000); 0: as fast as it goes", CLI_UINT,
	    AT(gap_us), 0, 10000000, NULL },
	{ 'D', "dynamic", NULL, "find the rate below -B and -G, too", CLI_FLAG,
	    AT(dynamic), 0, 0, NULL },
	{ OPT_FIXED, "fixed", NULL, "send at the rate of -W, whatever is lost",
	    CLI_FLAG, AT(fixed), 0, 0, NULL },
	{ 'R', "readsize", "N", "blocks a read (32)", CLI_UINT, AT(run_blocks), 1, 1024,
	    NULL },
	{ 'T', "timeout", "S",
	    "leave after S seconds without requests (1800; 0: never; < 0: when "
	    "the last client has left)",
	    CLI_INT, AT(idle_s), (uint64_t)-1000000, 1000000000, NULL },
	{ 'A', "address-file", "FILE", "write ADDR:PORT there", CLI_STR, AT(addr_file),
	    0, 0, NULL },
	{ 'd', "debug", NULL,
	    "log to stderr (else: to a terminal, or syslog), and more", CLI_FLAG,
	    AT(debug), 0, 0, NULL },
	{ 'q', "quiet", NULL, "log only what went wrong", CLI_FLAG, AT(quiet), 0, 0,
	    NULL },
	{ OPT_STORE, "store", "DIR", "the image is the one of that name in this store",
	    CLI_STR, AT(store), 0, 0, NULL },
	{ OPT_JSON, "json", NULL, "print statistics as JSON at the end", CLI_FLAG,
	    AT(json), 0, 0, NULL },
	{ OPT_BASE, "base", NULL,
	    "only the protocol that old clients speak, with all clients", CLI_FLAG,
	    AT(base), 0, 0, NULL },
	{ 't', "trace", NULL, "the same as -d", CLI_FLAG, AT(debug), 0, 0, NULL },
	{ 'L', NULL, "X", "accepted, and of no use", CLI_STR, AT(ignored), 0, 0, NULL },
	{ 'H', NULL, "S", "not built yet: heartbeats", CLI_REFUSED, 0, 0, 0, NULL },
	{ 'E', NULL, "HOST", "not built yet: an event server", CLI_REFUSED, 0, 0, 0,
	    NULL },
	{ 0 },
};

static int
exit_status(const void *opts, const struct err *e)
{
	(void)opts;
	return e->os == EADDRINUSE ? EXIT_ADDRINUSE : 0;
}

static const struct cli_program prog = {
	.exit_status = exit_status,
	.name = "frisbeed",
	.synopsis = "[options] -m address -p port image",
	.about =
	    "Serve an image, or any file, to all frisbee clients of a group at once.",
	.examples = "  frisbeed -m 239.192.1.5 -p 5005 -W 900M ubuntu.ndz\n"
		    "  frisbeed -m 239.192.1.5 -p 5005 --store /srv/store ubuntu:3\n"
		    "  frisbeed -m 239.192.1.5 -p 0 -A where.txt -T -1 ubuntu.ndz   "
		    "ends with the last client\n",
	.tables = { { net_opts, AT(net), "Network" }, { own_opts, 0, "Serving" } },
};

static const char *
ip_text(const uint8_t ip[4])
{
	static char text[NETIF_TEXT_MAX];

	return netif_text(ip, text);
}

static void
on_joined(void *arg, const uint8_t ip[4], uint32_t id)
{
	(void)arg;
	log_info("client joined addr=%s id=%u", ip_text(ip), id);
}

static void
on_left(void *arg, const uint8_t ip[4], uint32_t id, int32_t elapsed,
    const struct wire_stats *s)
{
	(void)arg;
	if (s == NULL)
		log_info(
		    "client left addr=%s id=%u seconds=%d", ip_text(ip), id, elapsed);
	else
		log_info("client left addr=%s id=%u seconds=%d written=%" PRIu64
			 " requests=%u "
			 "duplicates=%u dropped=%u",
		    ip_text(ip), id, elapsed, s->bytes_written, s->requests,
		    s->dup_finished + s->dup_in_progress, s->dropped_no_buffer);
}

static void
on_bad(void *arg, const uint8_t ip[4], const struct err *e)
{
	(void)arg;
	log_debug("bad packet addr=%s: %s", ip_text(ip), e->text);
}

/* Is it an image?  One that looks like it but cannot be read is refused. */
static int
inspect(const char *path, struct disk *d, bool *whole_chunks, struct err *e)
{
	struct image *img;
	struct ndz_header h;
	uint8_t magic[4] = { 0 };

	*whole_chunks = disk_size_bytes(d) % NDZ_CHUNK_BYTES == 0;
	if (disk_read_upto(d, magic, sizeof magic, 0, e) < 0)
		return -1;
	bool looks_like_one = ndz_looks_like_image(magic);
	if (looks_like_one && *whole_chunks) {
		if (image_open(&img, path, e) != 0)
			return -1;
		int rc = image_header(img, 0, &h, e);
		image_close(img);
		return rc;
	}
	if (looks_like_one)
		return err_set(e, ERR_FORMAT,
		    "%s: an image, but truncated: its length is not whole chunks "
		    "of 1 MiB",
		    path);
	if (!*whole_chunks)
		log_warn("not an image: served only to clients that load any file "
			 "(frisbee -N) file=%s",
		    path);
	return 0;
}

static int
open_image(const struct opts *o, const char *path, struct disk **d,
    struct server_config *c, struct err *e)
{
	struct err ignored;

	if ((o->store != NULL
		    ? store_disk_open(d, o->store, path, STORE_DISK_CACHE_CHUNKS, e)
		    : disk_open(d, path, DISK_READ, e)) != 0)
		return -1;
	int rc = 0;
	if (!disk_seekable(*d) || disk_size_bytes(*d) == 0)
		rc = err_set(e, ERR_USAGE, "%s: is empty, or not a file", path);
	else if (disk_size_bytes(*d) / NDZ_CHUNK_BYTES >= INT32_MAX / WIRE_CHUNK_BLOCKS)
		rc = err_set(e, ERR_UNSUPPORTED,
		    "%s: the protocol counts no more than 2^31 blocks", path);
	else if (o->store != NULL)
		c->whole_chunks = true; /* looked at when it was put there */
	else
		rc = inspect(path, *d, &c->whole_chunks, e);
	if (rc != 0)
		disk_close(*d, &ignored);
	else
		c->image_bytes = disk_size_bytes(*d);
	return rc;
}

static int
configure(const struct opts *o, struct server_config *c, struct err *e)
{
	uint64_t rate;

	c->run_blocks = (uint32_t)o->run_blocks;
	c->ahead = READ_AHEAD_BYTES / WIRE_BLOCK_BYTES / c->run_blocks;
	c->ahead = c->ahead > SERVER_AHEAD_MAX ? SERVER_AHEAD_MAX : c->ahead;
	bool paced = o->burst != 0 || (int64_t)o->gap_us != GAP_NOT_SET;
	c->burst = o->burst != 0 ? (uint32_t)o->burst : BURST_DEFAULT;
	c->gap_us = (int64_t)o->gap_us != GAP_NOT_SET ? o->gap_us : GAP_US_DEFAULT;
	/* Bursts and gaps that somebody has chosen are kept to. */
	c->dynamic = o->dynamic ||
	             (!o->fixed && (!paced || o->rate != NULL || c->gap_us == 0));
	c->idle_us = o->idle_s * 1000000;
	if (o->dynamic && o->fixed)
		return err_set(e, ERR_USAGE, "-D and --fixed contradict each other");
	if (o->rate == NULL && !paced)
		server_rate_to_burst(RATE_DEFAULT, &c->burst, &c->gap_us);
	if (o->rate == NULL)
		return 0;
	if (cli_rate(o->rate, 10000, 1000000000000ull, &rate, e) != 0)
		return err_ctx(e, "-W");
	server_rate_to_burst(rate, &c->burst, &c->gap_us);
	return 0;
}

/* "addr:port\n" and a NUL, as the original writes it. */
static int
write_address(const struct opts *o, const struct sock *s, struct err *e)
{
	char text[64];
	struct disk *d;

	if (o->addr_file == NULL)
		return 0;
	int n = snprintf(
	    text, sizeof text, "%s:%u\n", ip_text(sock_dest(s)), sock_port(s));
	if (disk_open(&d, o->addr_file, DISK_WRITE | DISK_CREATE | DISK_TRUNC, e) != 0)
		return -1;
	int rc = disk_write(d, text, (size_t)n + 1, 0, e);
	struct err closing;
	if (disk_close(d, rc == 0 ? e : &closing) != 0)
		rc = -1;
	return rc;
}

static int
report(const struct opts *o, const struct server *s, double seconds, struct err *e)
{
	const struct server_stats *t = server_stats(s);

	log_info("done seconds=%.1f blocks_sent=%" PRIu64 " blocks_resent=%" PRIu64
		 " joins=%" PRIu64 " requests=%" PRIu64 " prequests=%" PRIu64,
	    seconds, t->blocks_sent, t->blocks_resent, t->joins, t->requests,
	    t->prequests);
	if (!o->json)
		return 0;
	struct json *j = json_new();
	if (j == NULL)
		return err_nomem(e, "the statistics");
	json_object(j, NULL);
	json_double(j, "seconds", seconds);
	json_uint(j, "chunks", server_chunks(s));
	json_uint(j, "joins", t->joins);
	json_uint(j, "leaves", t->leaves);
	json_uint(j, "clients_at_once", t->clients_max);
	json_uint(j, "requests", t->requests);
	json_uint(j, "prequests", t->prequests);
	json_uint(j, "blocks_asked", t->blocks_asked);
	json_uint(j, "blocks_merged", t->blocks_merged);
	json_uint(j, "blocks_sent", t->blocks_sent);
	json_uint(j, "blocks_resent", t->blocks_resent);
	json_uint(j, "bytes_sent", t->bytes_sent);
	json_uint(j, "lost_blocks", t->lost_blocks);
	json_uint(j, "bad_packets", t->bad_packets);
	json_uint(j, "wants", t->wants);
	json_uint(j, "reports", t->reports);
	json_uint(j, "parity_sent", t->parity_sent);
	json_uint(j, "rate_bits", (uint64_t)(t->rate * WIRE_BLOCK_COST_BITS));
	json_uint(j, "slowed", t->slowed);
	json_uint(j, "loads", t->loads);
	json_end(j);
	int rc = json_print(j, stdout, e);
	json_free(j);
	return rc;
}

/* What our own clients can do more; without it they do as the old ones. */
static struct sock *
open_second(const struct opts *o, const struct sock_config *sc, struct disk *d,
    uint16_t main_port, struct server_config *c)
{
	struct sock_config nc = *sc;
	struct sock *second;
	struct err e;

	/* Without a pace, clients that ask for one chunk after the other set it. */
	if (o->base || !c->whole_chunks || c->gap_us == 0)
		return NULL;
	/* The same one after a restart, if it can be had. */
	nc.port_lo = (uint16_t)(main_port < PORT_MAX - SECOND_PORTS ? main_port + 1
								    : 1024);
	nc.port_hi = (uint16_t)(nc.port_lo + SECOND_PORTS - 1);
	if (getrandom(&c->ext.session, sizeof c->ext.session, 0) !=
		sizeof c->ext.session ||
	    identity_of(d, c->ext.identity, &e) != 0 ||
	    sock_open(&second, &nc, &e) != 0) {
		log_warn("only the base protocol: no second port");
		return NULL;
	}
	c->ext.session |= 1;
	c->ext.on = true;
	c->ext.parity = parity_available();
	c->ext.port = sock_port(second);
	return second;
}

static int
serve(const struct opts *o, struct sock *sock, struct sock *second, struct disk *d,
    struct server_config *c, struct err *e)
{
	static const struct server_log log = { on_joined, on_left, on_bad, NULL };
	struct loop_config lc = { .ahead = c->ahead,
		.run_blocks = c->run_blocks,
		.keepalive_us = o->net.keepalive_s * 1000000,
		.second = second,
		.session = c->ext.session };
	uint64_t started = clock_us();

	memcpy(c->srcip, sock_netif(sock)->addr, 4);
	struct server *s = server_new(c, started);
	if (s == NULL)
		return err_nomem(e, "the server");
	server_set_log(s, &log);
	log_info("serving file=%s chunks=%u addr=%s port=%u interface=%s burst=%u "
		 "gap_us=%" PRIu64,
	    disk_name(d), server_chunks(s), ip_text(sock_dest(sock)), sock_port(sock),
	    sock_netif(sock)->name, c->burst, c->gap_us);
	int rc = write_address(o, sock, e);
	if (rc == 0)
		rc = loop_run(s, sock, d, &lc, e);
	if (rc == 0)
		rc = report(o, s, (double)(clock_us() - started) / 1e6, e);
	server_free(s);
	return rc;
}

static int
run(const struct opts *o, const char *path, struct err *e)
{
	struct server_config c = { 0 };
	struct sock_config sc;
	struct sock *sock;
	struct disk *d;
	struct err closing;

	if (net_options_resolve(&o->net, &sc, e) != 0 || configure(o, &c, e) != 0 ||
	    open_image(o, path, &d, &c, e) != 0)
		return -1;
	int rc = sock_open(&sock, &sc, e);
	if (rc == 0) {
		struct sock *second = open_second(o, &sc, d, sock_port(sock), &c);
		rc = serve(o, sock, second, d, &c, e);
		sock_close(second);
		sock_close(sock);
	}
	disk_close(d, &closing); /* only read */
	return rc;
}

static int
act(void *opts, char **operands, int n, struct err *e)
{
	const struct opts *o = opts;

	if (n != 1)
		return err_set(e, ERR_USAGE, "one image is needed");
	log_open("frisbeed", o->debug || isatty(STDERR_FILENO),
	    o->quiet   ? LOG_LEVEL_WARN
	    : o->debug ? LOG_LEVEL_DEBUG
		       : LOG_LEVEL_INFO);
	if (run(o, operands[0], e) != 0)
		return -1;
	return cli_signal() == SIGHUP;
}

int
main(int argc, char **argv)
{
	struct opts o = { .idle_s = IDLE_S_DEFAULT,
		.run_blocks = RUN_BLOCKS_DEFAULT,
		.gap_us = (uint64_t)GAP_NOT_SET };

	return cli_main(&prog, argc, argv, &o, act);
}
