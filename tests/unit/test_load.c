/* Loads as values, without a command line: an image is served on this host and loaded into
 * files, two at once, looked at meanwhile, and stopped. */
#include "frisbee/load/load.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "common/image/read/prove.h"
#include "frisbeed/serve/serve.h"
#include "imageunzip/install/destination.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"
#include "tests/unit/segments.h"

enum {
	LIMIT_MS = 60000, /* no load here takes nearly so long */
	FILE_CHUNKS = 12,
	BUFFERS = 8,
	CHUNK_BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES,
};

static struct session_config each = { .net = { .unicast = true }, .unicast_max = 4 };
static struct err e;

static struct serve *
serve_at(uint32_t gap_us, uint64_t rate)
{
	struct serve_config c = { .session = &each,
		.engine = { .run_blocks = 32, .ahead = 16, .burst = 16, .gap_us = gap_us },
		.rate = rate,
		.sessions_max = 2 };
	struct serve *s = NULL;

	T_CHECK(serve_new(&s, &c, &e) == 0);
	return s;
}

/* At a port that the kernel chooses: which one. */
static uint16_t
add(struct serve *s, const char *image)
{
	struct net_options net = { .addr = "127.0.0.1", .port = "0", .unicast = true };
	struct serve_stats st = { 0 };
	struct place *p = NULL;
	uint32_t number;

	T_CHECK(places_one(&p, in_scratch(image), &net, &e) == 0);
	T_CHECK(serve_add(s, p, &number, &e) == 0);
	T_CHECK(serve_stats(s, number, &st, &e) == 0);
	places_free(p, 1);
	const char *colon = strchr(st.where, ':');
	return (uint16_t)(colon != NULL ? atoi(colon + 1) : 0);
}

static struct load_config
config(uint16_t port)
{
	return (struct load_config){ .net = { .addr = { 127, 0, 0, 1 },
					 .port_lo = port,
					 .port_hi = port,
					 .buffer_bytes = 1 << 20 },
		.unicast = true,
		.buffers = BUFFERS };
}

static struct destination
disk_at(const char *name)
{
	return (struct destination){ .name = in_scratch(name),
		.install = { .state_s = INSTALL_STATE_S } };
}

static struct destination
file_at(const char *name)
{
	return (struct destination){ .name = in_scratch(name), .any_file = true };
}

static struct load_config
config_onto(uint16_t port, struct destination *t)
{
	struct load_config c = config(port);

	T_CHECK(load_into(&c, t, &e) == 0);
	return c;
}

static struct load *
start(const struct load_config *c)
{
	struct load *l = NULL;

	T_CHECK(load_start(&l, c, &e) == 0);
	return l;
}

static bool
has_ended(const struct load *l, int ms)
{
	struct pollfd p = { .fd = load_fd(l), .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Is there only what raw[] has? */
static bool
is_installed(const char *name)
{
	static uint8_t got[sizeof raw + 1];
	FILE *f = fopen(in_scratch(name), "r");

	if (f == NULL)
		return false;
	size_t n = fread(got, 1, sizeof got, f);
	fclose(f);
	return n == sizeof raw && memcmp(got, raw, sizeof raw) == 0;
}

static void
save(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(in_scratch(name), "w");

	T_CHECK(f != NULL && fwrite(bytes, n, 1, f) == 1);
	T_CHECK(f != NULL && fclose(f) == 0);
}

static void
check_whole(struct load *l, struct destination *t, const char *name)
{
	struct load_stats r;

	T_CHECK(has_ended(l, LIMIT_MS));
	T_CHECK(load_end(l, &r, &e) == 0);
	T_CHECK(r.done && r.chunks == 1 && r.chunks_complete == 1);
	T_CHECK(r.packets > 0 && r.seconds > 0);
	T_CHECK(r.sum.bytes_covered > 0);
	T_CHECK(t->stats.bytes_covered == r.sum.bytes_covered);
	lost_free(&t->stats.lost);
	T_CHECK(is_installed(name));
}

static void
test_one(void)
{
	struct serve *s = serve_at(2000, 0);
	struct destination t = disk_at("one");
	struct load_config c = config_onto(add(s, "a.ndz"), &t);

	check_whole(start(&c), &t, "one");
	serve_free(s);
}

/* At once, of two sessions, in one poll(2). */
static void
test_two(void)
{
	struct serve *s = serve_at(2000, 0);
	struct destination ta = disk_at("first"), tb = disk_at("second");
	struct load_config a = config_onto(add(s, "a.ndz"), &ta);
	struct load_config b = config_onto(add(s, "a.ndz"), &tb);
	struct load *la = start(&a), *lb = start(&b);
	struct pollfd p[2] = { { .fd = load_fd(la), .events = POLLIN },
		{ .fd = load_fd(lb), .events = POLLIN } };

	T_CHECK(poll(p, 2, LIMIT_MS) > 0);
	check_whole(la, &ta, "first");
	check_whole(lb, &tb, "second");
	serve_free(s);
}

/* What the callbacks were told, by the load's thread. */
struct told {
	atomic_uint ticks;
	_Atomic uint64_t done, total;
};

static void
on_tick(void *arg, const struct load_stats *r)
{
	struct told *t = arg;

	atomic_fetch_add(&t->ticks, r->seconds >= 0);
}

static void
on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct told *t = arg;

	atomic_store(&t->done, done);
	atomic_store(&t->total, total);
}

/* Statistics until they say that something has come. */
static void
look_while_it_runs(struct load *l)
{
	struct load_stats r;

	do {
		load_stats(l, &r);
		T_CHECK(!r.done && r.chunks_complete <= r.chunks);
	} while (r.chunks_complete == 0 && !has_ended(l, 100));
	T_CHECK(r.state == LOAD_LOADING && r.chunks == FILE_CHUNKS);
	T_CHECK(r.packets > 0 && r.seconds > 0);
}

static uint8_t file_bytes[FILE_CHUNKS * CHUNK_BYTES - 5000];

/* 4 MB a second, so that there is something to look at. */
static struct serve *
serve_slowly(uint16_t *port)
{
	struct serve *s = serve_at(4000, 0);

	*port = add(s, "file");
	return s;
}

static void
test_looked_at(void)
{
	struct told t = { 0 };
	struct load_stats r;
	uint16_t port;
	struct serve *s = serve_slowly(&port);
	struct destination to = file_at("copy");
	struct load_config c = config_onto(port, &to);

	c.tick = on_tick;
	c.progress = on_progress;
	c.arg = &t;
	struct load *l = start(&c);
	look_while_it_runs(l);
	T_CHECK(has_ended(l, LIMIT_MS));
	load_stats(l, &r);
	T_CHECK(r.done && r.chunks_complete == FILE_CHUNKS);
	load_stop(l); /* too late */
	load_urgent(l, 0);
	T_CHECK(load_end(l, NULL, &e) == 0);
	T_CHECK(atomic_load(&t.ticks) > 1);
	T_CHECK(atomic_load(&t.done) == (uint64_t)FILE_CHUNKS * CHUNK_BYTES);
	T_CHECK(atomic_load(&t.total) == (uint64_t)FILE_CHUNKS * CHUNK_BYTES);
	T_CHECK(scratch_holds("copy", file_bytes, sizeof file_bytes));
	serve_free(s);
}

/* A port at which nobody listens, while fd is open. */
static uint16_t
silent_port(int *fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof a;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*fd = socket(AF_INET, SOCK_DGRAM, 0);
	T_CHECK(bind(*fd, (struct sockaddr *)&a, sizeof a) == 0);
	T_CHECK(getsockname(*fd, (struct sockaddr *)&a, &n) == 0);
	return ntohs(a.sin_port);
}

static void
check_stopped(struct load *l, const char *why)
{
	struct load_stats r;

	T_CHECK(has_ended(l, LIMIT_MS));
	T_CHECK(load_end(l, &r, &e) != 0);
	T_CHECK(e.kind == ERR_CANCELLED && strstr(e.text, why) != NULL);
	T_CHECK(!r.done && !r.gave_up && r.chunks == 0 && r.state == LOAD_WAITING);
}

/* One that waits for a server in vain; the other one goes on. */
static void
test_stop(void)
{
	struct cancel owner = { 0 };
	int fd;
	uint16_t port = silent_port(&fd);

	cancel_work_for(&owner);
	struct destination tc = disk_at("stopped"), td = disk_at("signalled");
	struct load_config c = config_onto(port, &tc), d = config_onto(port, &td);
	struct load *one = start(&c), *other = start(&d);
	T_CHECK(cancel_owner() == &owner);
	T_CHECK(!has_ended(one, 300));
	load_stop(one);
	load_stop(one);
	check_stopped(one, "SIGTERM");
	T_CHECK(!has_ended(other, 300));
	owner.signal = SIGINT;
	check_stopped(other, "SIGINT");
	T_CHECK(access(in_scratch("stopped"), F_OK) != 0);
	cancel_work_for(NULL);
	close(fd);
}

/* In the middle: what there is of a new file goes. */
static void
test_stop_loading(void)
{
	uint16_t port;
	struct serve *s = serve_slowly(&port);
	struct destination t = file_at("half");
	struct load_config c = config_onto(port, &t);
	struct load_stats r;

	struct load *l = start(&c);
	look_while_it_runs(l);
	load_stop(l);
	T_CHECK(load_end(l, &r, &e) != 0);
	T_CHECK(e.kind == ERR_CANCELLED && strstr(e.text, "was removed") != NULL);
	T_CHECK(!r.done && r.chunks == FILE_CHUNKS && r.chunks_complete > 0);
	T_CHECK(access(in_scratch("half"), F_OK) != 0);
	serve_free(s);
}

static void
test_gives_up(void)
{
	int fd;
	struct destination t = disk_at("nothing");
	struct load_config c = config_onto(silent_port(&fd), &t);
	struct load_stats r;

	c.silence_us = 500000;
	struct load *l = start(&c);
	T_CHECK(has_ended(l, LIMIT_MS));
	T_CHECK(load_end(l, &r, &e) != 0 && e.kind == ERR_IO);
	T_CHECK(r.gave_up && !r.done);
	close(fd);
}

/* Nothing is begun, and nothing is left. */
static void
test_cannot_start(void)
{
	struct destination t = disk_at("no/such/folder");
	struct load_config c = config_onto(4000, &t);
	struct load *l;

	T_CHECK(load_start(&l, &c, &e) != 0 && e.kind == ERR_IO);
	t.name = in_scratch("none");
	c.net.port_hi = 4001;
	T_CHECK(load_start(&l, &c, &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(access(t.name, F_OK) != 0);
	T_CHECK(cancel_owner() == NULL);
	t.any_file = true;
	t.install.opener.verify_key = "a.pub";
	T_CHECK(load_into(&c, &t, &e) == -1 && e.kind == ERR_USAGE);
}

/* A sink of the caller's own, which wants chunks in order, or takes them in any. */
struct own {
	bool any_order;
	uint32_t nchunks, next, given_up, ended;
	uint32_t came[FILE_CHUNKS]; /* the numbers of the first `next` chunks */
	uint32_t fails_at; /* this chunk cannot be put */
	bool right;
};

static void
own_info(void *self, struct sink_info *i)
{
	const struct own *o = self;

	i->in_order = !o->any_order;
}

static void
own_begin(void *self, uint32_t nchunks, const struct sink_giver *giver)
{
	struct own *o = self;

	o->nchunks = nchunks;
	o->right = giver->failed != NULL && giver->wants != NULL;
}

static int
own_put(void *self, struct proved *proved, struct err *why)
{
	const struct sink_chunk *c = proved_chunk(proved);
	const uint32_t number = c->number;
	struct own *o = self;
	const uint8_t *want = file_bytes + (size_t)c->number * CHUNK_BYTES;
	const size_t left = sizeof file_bytes - (size_t)c->number * CHUNK_BYTES;

	o->right &= (o->any_order || c->number == o->next) && c->part == NULL &&
	            c->length == (left < CHUNK_BYTES ? left : CHUNK_BYTES) &&
	            memcmp(c->bytes, want, c->length) == 0;
	if (o->next < FILE_CHUNKS)
		o->came[o->next] = c->number;
	o->next++;
	proved_free(proved);
	return number == o->fails_at ? err_set(why, ERR_IO, "the sink is full") : 0;
}

static int
own_end(void *self, struct sink_sum *sum, struct err *why)
{
	struct own *o = self;

	(void)why;
	o->ended++;
	sum->bytes_written = 77;
	return 0;
}

static bool
own_close(void *self, struct sink_sum *sum, struct err *why)
{
	struct own *o = self;

	(void)sum;
	(void)why;
	o->given_up += o->ended == 0;
	return false;
}

static int
own_open(void *arg, struct sink *sink, struct err *why)
{
	static const struct sink_ops ops = { .info = own_info,
		.begin = own_begin,
		.put = own_put,
		.end = own_end,
		.close = own_close };

	(void)why;
	*sink = (struct sink){ &ops, arg };
	return 0;
}

static struct load_config
config_into(struct own *o, uint16_t port)
{
	struct load_config c = config(port);

	c.any_file = true;
	c.open = own_open;
	c.open_arg = o;
	return c;
}

static int
load_into_own(struct own *o, struct load_stats *r)
{
	struct serve *s = serve_at(500, 0);
	struct load_config c = config_into(o, add(s, "file"));
	struct load *l = start(&c);

	T_CHECK(has_ended(l, LIMIT_MS));
	int rc = load_end(l, r, &e);
	serve_free(s);
	return rc;
}

static void
test_own_sink(void)
{
	struct own good_one = { .fails_at = UINT32_MAX }, bad_one = { .fails_at = 5 };
	struct load_stats r;

	T_CHECK(load_into_own(&good_one, &r) == 0);
	T_CHECK(good_one.right);
	T_CHECK(good_one.nchunks == FILE_CHUNKS && good_one.next == FILE_CHUNKS);
	T_CHECK(good_one.ended == 1 && good_one.given_up == 0);
	T_CHECK(r.done && r.sum.bytes_written == 77);
	T_CHECK(load_into_own(&bad_one, &r) == -1);
	T_CHECK(strstr(e.text, "the sink is full") != NULL);
	T_CHECK(bad_one.right && bad_one.next == 6);
	T_CHECK(bad_one.ended == 0 && bad_one.given_up == 1);
	T_CHECK(!r.done);
}

/* Which of the chunks that came was this one, from 0?  FILE_CHUNKS: none. */
static uint32_t
place_of(const struct own *o, uint32_t number)
{
	uint32_t i = 0;

	while (i < o->next && o->came[i] != number)
		i++;
	return i < o->next ? i : FILE_CHUNKS;
}

/* The last chunk of a load that asks for them in order comes before most others. */
static void
test_urgent(void)
{
	struct own o = { .any_order = true, .fails_at = UINT32_MAX };
	uint16_t port;
	struct serve *s = serve_slowly(&port);
	struct load_config c = config_into(&o, port);

	c.sequential = true;
	struct load *l = start(&c);
	for (unsigned i = 0; i < 100; i++) /* more than are remembered */
		load_urgent(l, 1000 + i);
	load_urgent(l, FILE_CHUNKS - 1);
	T_CHECK(has_ended(l, LIMIT_MS));
	T_CHECK(load_end(l, NULL, &e) == 0);
	T_CHECK(o.right && o.next == FILE_CHUNKS);
	T_CHECK(place_of(&o, FILE_CHUNKS - 1) < FILE_CHUNKS / 2);
	serve_free(s);
}

int
main(void)
{
	if (!segments_arrive()) {
		puts("UDP_SEGMENT does not reach the kernel as it was set");
		return 77;
	}
	log_open("test_load", true, LOG_LEVEL_ERR);
	scratch_init();
	make_chunk();
	save("a.ndz", good, sizeof good);
	sample_fill(file_bytes, sizeof file_bytes, 1);
	save("file", file_bytes, sizeof file_bytes);
	test_one();
	test_two();
	test_looked_at();
	test_urgent();
	test_stop();
	test_stop_loading();
	test_gives_up();
	test_cannot_start();
	test_own_sink();
	return t_done();
}
