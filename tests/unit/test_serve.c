/* Sessions that come and go in one process, without a command line: two images are served at
 * two ports of this host, one is removed while the other serves on, and a third one comes. */
#include "frisbeed/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/log.h"
#include "tests/unit/one_chunk.h"
#include "tests/unit/scratch.h"

enum {
	SESSIONS_MAX = 3,
	TRIES = 300, /* of which each waits so long: */
	TRY_MS = 200,
	ROUNDS = 4,
};

static struct session_config each = { .net = { .unicast = true }, .unicast_max = 4 };
static const uint8_t this_host[4] = { 127, 0, 0, 1 };
static struct err e;

static struct serve *
make_serve(void)
{
	struct serve_config c = { .session = &each,
		.engine = { .run_blocks = 32, .ahead = 16, .burst = 16, .gap_us = 2000 },
		.rate = 100000000,
		.sessions_max = SESSIONS_MAX };
	struct serve *s = NULL;

	T_CHECK(serve_new(&s, &c, &e) == 0);
	return s;
}

/* At a port that the kernel chooses. */
static struct place *
place_of(const char *image)
{
	struct net_options net = each.net;
	struct place *p = NULL;

	net.addr = "127.0.0.1";
	net.port = "0";
	T_CHECK(places_one(&p, in_scratch(image), &net, &e) == 0);
	return p;
}

/* Its number; 0: it failed, with the error. */
static uint32_t
add(struct serve *s, const char *image)
{
	struct place *p = place_of(image);
	uint32_t number;

	if (serve_add(s, p, &number, &e) != 0)
		T_CHECK(number == 0);
	else
		T_CHECK(number != 0);
	places_free(p, 1);
	return number;
}

static struct serve_stats
stats_of(struct serve *s, uint32_t number)
{
	struct serve_stats st = { 0 };

	T_CHECK(serve_stats(s, number, &st, &e) == 0);
	return st;
}

static bool
is_absent(struct serve *s, uint32_t number)
{
	struct serve_stats st;

	return serve_stats(s, number, &st, &e) != 0 && e.kind == ERR_ABSENT;
}

/* A client's socket at "127.0.0.1:PORT". */
static int
client_at(const char *where)
{
	const char *colon = strchr(where, ':');
	struct sockaddr_in to = { .sin_family = AF_INET };

	T_CHECK(colon != NULL);
	T_CHECK(strncmp(where, "127.0.0.1:", 10) == 0);
	to.sin_port = htons((uint16_t)atoi(colon + 1));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	T_CHECK(fd >= 0);
	T_CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
	return fd;
}

/* Ask once: 1 it was answered with the size of our image, 0 not yet, -1 nobody is there. */
static int
ask(int fd)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, this_host, 4);
	m.u.join.clientid = 7;
	if (send(fd, pkt, wire_put(&m, pkt, sizeof pkt), 0) < 0)
		return errno == ECONNREFUSED ? -1 : 0;
	if (poll(&p, 1, TRY_MS) <= 0)
		return 0;
	ssize_t n = recv(fd, pkt, sizeof pkt, 0);
	if (n < 0)
		return errno == ECONNREFUSED ? -1 : 0;
	return wire_get(&m, pkt, (size_t)n, &e) == 0 && m.type == WIRE_REPLY &&
	       m.subtype == WIRE_JOIN && m.u.join.blocks == WIRE_CHUNK_BLOCKS;
}

static int
joins(const char *where)
{
	int fd = client_at(where), answer = 0;

	for (int i = 0; i < TRIES && answer == 0; i++)
		answer = ask(fd);
	close(fd);
	return answer;
}

/* Looks at statistics while sessions come and go. */
struct looker {
	struct serve *serve;
	uint32_t number;
	atomic_bool stop;
	unsigned looked, found;
};

static void *
look(void *arg)
{
	struct looker *l = arg;
	struct client_row rows[4];
	struct serve_stats st;
	struct err ignored;

	do {
		l->looked++;
		l->found += serve_stats(l->serve, l->number, &st, &ignored) == 0 &&
		            st.state == SESSION_SERVING;
		serve_clients(l->serve, l->number, rows, 4);
		serve_sample(l->serve);
		poll(NULL, 0, 1);
	} while (!atomic_load(&l->stop));
	return NULL;
}

static void
check_serving(struct serve *s, uint32_t number)
{
	struct serve_stats st = stats_of(s, number);

	T_CHECK(st.state == SESSION_SERVING);
	T_CHECK(st.chunks == 1);
	T_CHECK(!st.from_store);
	T_CHECK(joins(st.where) == 1);
}

static void
check_clients(struct serve *s, uint32_t number, uint32_t n)
{
	struct client_row rows[8];

	T_CHECK(stats_of(s, number).clients_known == n);
	T_CHECK(serve_clients(s, number, rows, 8) == n);
	T_CHECK(n == 0 || memcmp(rows[0].ip, this_host, 4) == 0);
	T_CHECK(n == 0 || rows[0].joins > 0);
}

static void
test_come_and_go(void)
{
	struct looker l = { .serve = make_serve() };
	struct serve *s = l.serve;
	uint32_t first = add(s, "a.ndz"), second = add(s, "b.ndz");
	pthread_t thread;

	T_CHECK(first != second);
	l.number = second;
	T_CHECK(thread_start(&thread, look, &l) == 0);
	check_serving(s, first);
	check_serving(s, second);
	check_clients(s, first, 1);
	struct serve_stats was = stats_of(s, first);
	T_CHECK(serve_remove(s, first, &e) == 0);
	T_CHECK(is_absent(s, first));
	T_CHECK(serve_remove(s, first, &e) != 0);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(joins(was.where) == -1);
	/* The other one has lost nothing, and serves another client. */
	check_clients(s, second, 1);
	check_serving(s, second);
	check_clients(s, second, 2);
	uint32_t third = add(s, "a.ndz");
	T_CHECK(third != first);
	T_CHECK(third != second);
	check_serving(s, third);
	check_clients(s, third, 1);
	atomic_store(&l.stop, true);
	pthread_join(thread, NULL);
	T_CHECK(l.looked > 0);
	T_CHECK(l.found == l.looked);
	serve_free(s);
	serve_free(NULL);
}

/* Until there is one; 0: none came in time. */
static uint32_t
take_ended(struct serve *s)
{
	struct pollfd p = { .fd = serve_fd(s), .events = POLLIN };
	uint32_t number;

	for (int i = 0; i < TRIES; i++) {
		if (serve_take_ended(s, &number))
			return number;
		poll(&p, 1, TRY_MS);
	}
	return 0;
}

/* A signal to their owner ends sessions, and each is named once. */
static void
test_signal(void)
{
	struct serve *s = make_serve();
	struct cancel owner = { 0 };
	uint32_t number;

	cancel_work_for(&owner);
	uint32_t a = add(s, "a.ndz"), b = add(s, "b.ndz"), c = add(s, "a.ndz");
	T_CHECK(!serve_take_ended(s, &number));
	owner.signal = SIGTERM;
	T_CHECK(serve_remove(s, b, &e) == 0); /* its end is not told */
	uint32_t one = take_ended(s), other = take_ended(s);
	T_CHECK((one == a && other == c) || (one == c && other == a));
	T_CHECK(!serve_take_ended(s, &number));
	T_CHECK(stats_of(s, a).state == SESSION_ENDED);
	double seconds = stats_of(s, a).seconds;
	T_CHECK(seconds > 0);
	T_CHECK(stats_of(s, a).seconds == seconds);
	T_CHECK(serve_start(s, a, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(serve_remove(s, a, &e) == 0);
	T_CHECK(is_absent(s, a));
	cancel_work_for(NULL);
	serve_free(s);
}

/* What cannot be served takes no room. */
static void
test_refused(void)
{
	struct serve *s = make_serve();

	for (unsigned i = 0; i <= SESSIONS_MAX; i++) {
		T_CHECK(add(s, "missing") == 0);
		T_CHECK(e.os == ENOENT);
	}
	for (unsigned i = 0; i < SESSIONS_MAX; i++)
		T_CHECK(add(s, "a.ndz") != 0);
	T_CHECK(add(s, "b.ndz") == 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(is_absent(s, 0));
	serve_free(s);
}

/* Several are opened before the first one serves; one that has failed says why. */
static void
test_together(void)
{
	struct serve *s = make_serve();
	struct place *good_place = place_of("a.ndz"), *bad_place = place_of("missing");
	struct place both[] = { *good_place, *bad_place };
	uint32_t number[2];

	T_CHECK(serve_open(s, both, 2, NULL, number, &e) == 0);
	T_CHECK(stats_of(s, number[0]).state == SESSION_OPEN);
	T_CHECK(stats_of(s, number[0]).seconds == 0);
	T_CHECK(stats_of(s, number[1]).state == SESSION_FAILED);
	T_CHECK(stats_of(s, number[1]).err.os == ENOENT);
	T_CHECK(serve_start(s, number[1], &e) != 0);
	T_CHECK(e.os == ENOENT);
	T_CHECK(serve_start(s, number[0], &e) == 0);
	T_CHECK(serve_start(s, number[0], &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	check_serving(s, number[0]);
	T_CHECK(serve_open(s, both, 2, NULL, number, &e) != 0);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(number[0] == 0);
	T_CHECK(number[1] == 0);
	places_free(good_place, 1);
	places_free(bad_place, 1);
	serve_free(s);
}

/* Who never asks which sessions have ended may have as many of them, one after another, as it
 * likes.  These have one address that they send to, and one engine. */
static void
test_rounds(void)
{
	uint32_t number;

	each.net.unicast = false;
	struct serve *s = make_serve();
	for (unsigned i = 0; i < ROUNDS * SESSIONS_MAX; i++) {
		number = add(s, "a.ndz");
		T_CHECK(stats_of(s, number).state == SESSION_SERVING);
		T_CHECK(serve_remove(s, number, &e) == 0);
	}
	T_CHECK(!serve_take_ended(s, &number));
	serve_free(s);
	each.net.unicast = true;
}

static void
save_image(const char *name)
{
	FILE *f = fopen(in_scratch(name), "w");

	T_CHECK(f != NULL);
	T_CHECK(fwrite(good, sizeof good, 1, f) == 1);
	T_CHECK(fclose(f) == 0);
}

static const char *
far_name(void *self)
{
	(void)self;
	return "far away";
}

/* What a server elsewhere says of its image. */
static int
far_info(void *self, struct source_info *info, struct err *ignored)
{
	(void)ignored;
	info->bytes = *(const uint64_t *)self;
	info->chunks = (uint32_t)(info->bytes / SOURCE_CHUNK_BYTES);
	info->live = true;
	return 0;
}

static void
far_close(void *self)
{
	(void)self;
}

/* A source that cannot be served is refused, however large it claims to be. */
static void
test_source(uint64_t bytes, const char *why)
{
	static const struct source_ops ops = {
		.name = far_name, .info = far_info, .close = far_close
	};
	struct source far = { &ops, &bytes };
	struct serve *s = make_serve();
	struct net_options net = { .addr = "127.0.0.1", .port = "0", .unicast = true };
	struct place *p = NULL;
	uint32_t number;

	T_CHECK(places_one(&p, "far", &net, &e) == 0);
	T_CHECK(serve_add_source(s, p, &far, &number, &e) == -1);
	T_CHECK(strstr(e.text, "far away") != NULL);
	T_CHECK(strstr(e.text, why) != NULL);
	places_free(p, 1);
	serve_free(s);
}

/* A source that in the session's thread waits until its work is to end, or for so long that the
 * test has failed. */
struct waiter {
	pthread_t opener;
	bool told;
};

static int
waiting_info(void *self, struct source_info *info, struct err *why)
{
	struct waiter *w = self;

	*info = (struct source_info){
		.bytes = SOURCE_CHUNK_BYTES, .chunks = 1, .has_identity = true
	};
	if (pthread_equal(pthread_self(), w->opener))
		return 0;
	for (int i = 0; i < TRIES && cancel_signal() == 0; i++)
		poll(NULL, 0, TRY_MS);
	w->told = cancel_signal() != 0;
	return cancel_check(why);
}

/* Who removes a session does not wait for what its image comes from, although no signal came. */
static void
test_waiting(void)
{
	static const struct source_ops ops = {
		.name = far_name, .info = waiting_info, .close = far_close
	};
	struct waiter w = { .opener = pthread_self() };
	struct source waits = { &ops, &w };
	uint32_t number;

	each.net.unicast = false;
	struct serve *s = make_serve();
	struct place *p = place_of("far");
	T_CHECK(serve_add_source(s, p, &waits, &number, &e) == 0);
	T_CHECK(serve_remove(s, number, &e) == 0);
	T_CHECK(w.told);
	places_free(p, 1);
	serve_free(s);
	each.net.unicast = true;
}

/* Each kind of message of a client is counted as one. */
static void
test_messages(void)
{
	const struct server_stats st = { .joins = 1,
		.leaves = 2,
		.requests = 4,
		.prequests = 8,
		.wants = 16,
		.nacks = 32,
		.credits = 64,
		.mtu_acks = 128,
		.congestions = 256,
		.bad_packets = 512 };

	T_CHECK(tally_control(&st) == 511);
}

int
main(void)
{
	log_open("test_serve", true, LOG_LEVEL_WARN);
	scratch_init();
	make_chunk();
	save_image("a.ndz");
	save_image("b.ndz");
	test_come_and_go();
	test_signal();
	test_refused();
	test_together();
	test_rounds();
	test_waiting();
	test_messages();
	test_source(UINT64_C(1) << 42, "no more than 2^31 blocks");
	test_source(0, "is empty");
	test_source(8 * SOURCE_CHUNK_BYTES, "can only be served to a group");
	return t_done();
}
