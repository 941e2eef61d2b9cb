/* The controller's engine in virtual time: what a session is, reports that are lost, come twice or
 * of an older order, clocks that jump, a thousand nodes, and how they are found; and a controller that is killed after
 * each event, and goes on with what it has saved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/engine/swap_impl.h"
#include "tests/random.h"
#include "tests/t.h"

static const struct swap_config config = { .salt = "5a17", .patience_s = 60, .patience_boot_s = 150 };
static const struct swap_now start = { 1000000000, 1.7e9 };

static struct swap_now
later(struct swap_now now, double s)
{
	return (struct swap_now){ now.us + (uint64_t)(s * 1e6), now.wall_s + s };
}

static void
add_nodes(struct swap *w, unsigned n)
{
	struct err e;
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		uint8_t mac[6] = { 2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i };
		snprintf(name, sizeof name, "n%u", i);
		if (swap_add_node(w, name, mac, "", &e) != 0)
			abort();
	}
}

static int
begin(struct swap *w, struct swap_now now, const char *nodes, unsigned tries, uint32_t *id, struct err *e)
{
	struct swap_wish wish = { .timeout_s = 3600, .tries = tries };
	bool again;

	strcpy(wish.nodes, nodes);
	strcpy(wish.image, "a.ndz");
	return swap_start(w, now, &wish, id, &again, e);
}

/* Sets up a controller with so many nodes, and begins a session of those that are named. */
static struct swap_session *
set_up(struct swap *w, const struct swap_config *c, unsigned nnodes, const char *nodes, unsigned tries)
{
	struct err e;
	uint32_t id;

	swap_init(w, c);
	add_nodes(w, nnodes);
	if (begin(w, start, nodes, tries, &id, &e) != 0)
		abort();
	return swap_find_session(w, id);
}

static bool
report_as(struct swap *w, struct swap_now now, const struct swap_node *n, const char *order, const char *phase,
    const char *text)
{
	struct swap_report r = { 0 };
	uint8_t ip[4] = { 10, 0, n->mac[4], n->mac[5] };
	struct err e;

	memcpy(r.mac, n->mac, 6);
	strcpy(r.order, order);
	strcpy(r.phase, phase);
	strcpy(r.text, text);
	return swap_reported(w, now, &r, ip, &e) == 0;
}

static bool
report(struct swap *w, struct swap_now now, struct swap_node *n, const char *phase, const char *text)
{
	char order[SWAP_ORDER_BYTES];

	swap_order_name(w, n, order);
	return report_as(w, now, n, order, phase, text);
}

static void
test_one_session(void)
{
	struct swap w;
	struct err e;
	uint32_t id;
	struct swap_now now = start;

	swap_init(&w, &config);
	add_nodes(&w, 3);
	T_CHECK(begin(&w, now, "n[0-1],n1", 2, &id, &e) == 0 && id == 1);
	struct swap_session *s = swap_find_session(&w, id);
	T_CHECK(s->total == 2 && s->count[SWAP_BOOTING] == 2);
	T_CHECK(w.nodes[0].power && swap_wants_order(&w.nodes[0]) && !swap_wants_order(&w.nodes[2]));
	T_CHECK(swap_wants_server(&w, s, now.us));
	swap_powered(&w, now, &w.nodes[0], NULL);
	T_CHECK(!w.nodes[0].power);
	T_CHECK(begin(&w, now, "n1", 2, &id, &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(begin(&w, now, "n7", 2, &id, &e) != 0 && e.kind == ERR_ABSENT);
	T_CHECK(begin(&w, now, "n[", 2, &id, &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(begin(&w, now, "", 2, &id, &e) != 0 && e.kind == ERR_USAGE);
	now = later(now, 30);
	T_CHECK(report(&w, now, &w.nodes[0], "loading", "a.ndz onto sda"));
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && fabs(w.nodes[0].took_s[SWAP_BOOTING] - 30) < 1e-6);
	T_CHECK(report(&w, now, &w.nodes[0], "loading", "a.ndz onto sda")); /* twice */
	T_CHECK(w.nodes[0].phase == SWAP_LOADING);
	swap_viewed(&w, now, s, (uint8_t[]){ 10, 0, 0, 0 }, &(struct swap_view){ .progress = 0.5 });
	T_CHECK(swap_progress(&w, s) == 0.25);
	now = later(now, 40);
	T_CHECK(report(&w, now, &w.nodes[0], "done", "sda is loaded"));
	T_CHECK(w.nodes[0].phase == SWAP_DONE && !swap_wants_order(&w.nodes[0]));
	T_CHECK(report(&w, now, &w.nodes[1], "loading", ""));
	T_CHECK(report(&w, now, &w.nodes[1], "personalising", "sda"));
	T_CHECK(!swap_wants_server(&w, s, now.us));
	T_CHECK(s->state == SWAP_IS_RUNNING);
	T_CHECK(report(&w, later(now, 5), &w.nodes[1], "done", ""));
	T_CHECK(s->state == SWAP_IS_DONE && s->count[SWAP_DONE] == 2 && s->nodes == NULL);
	const struct swap_measure *m = &s->took[SWAP_BOOTING];
	T_CHECK(m->n == 2 && m->median_s == 50 && m->worst_s == 70 && strcmp(m->worst, "n1") == 0);
	T_CHECK(s->done_after.n == 2 && s->done_after.median_s == 72.5 && s->done_after.worst_s == 75);
	T_CHECK(s->usable_after.n == 0 && swap_after_s(&w.nodes[0], SWAP_USABLE) < 0);
	T_CHECK(report(&w, now, &w.nodes[2], "done", "")); /* of no session */
	T_CHECK(w.nodes[2].phase == SWAP_IDLE);
	swap_free(&w);
}

static void
test_retry(void)
{
	struct swap w;
	struct swap_now now = start;
	char old[SWAP_ORDER_BYTES];

	struct swap_session *s = set_up(&w, &config, 2, "n[0-1]", 2);
	struct swap_node *n = &w.nodes[0];
	swap_order_name(&w, n, old);
	swap_powered(&w, now, n, NULL);
	report(&w, now, n, "loading", "");
	report(&w, now, n, "failed", "2 disks");
	T_CHECK(n->phase == SWAP_BOOTING && n->tries == 2 && n->power && w.retries == 1);
	T_CHECK(report_as(&w, now, n, old, "failed", "2 disks") && n->tries == 2 && n->phase == SWAP_BOOTING);
	T_CHECK(report_as(&w, now, n, old, "done", "") && n->phase == SWAP_BOOTING);
	report(&w, now, n, "loading", "");
	report(&w, now, n, "failed", "2 disks");
	T_CHECK(n->phase == SWAP_FAILED && strcmp(n->words, "while loading: 2 disks") == 0);
	T_CHECK(!swap_wants_order(n) && s->state == SWAP_IS_RUNNING && w.nodes[1].tries == 1);
	/* The other shows nothing: it is tried once more, and that is all.  Its time begins when it
	 * is switched on, and booting may take longer than the patience with a load. */
	now = later(now, 1000);
	swap_tick(&w, now);
	T_CHECK(w.nodes[1].tries == 1);
	swap_powered(&w, now, &w.nodes[1], NULL);
	now = later(now, 149);
	swap_tick(&w, now);
	T_CHECK(w.nodes[1].tries == 1);
	now = later(now, 2);
	swap_tick(&w, now);
	T_CHECK(w.nodes[1].tries == 2 && w.nodes[1].phase == SWAP_BOOTING);
	T_CHECK(strstr(w.nodes[1].words, "while booting: no sign of progress for 150 s") != NULL);
	report(&w, now, &w.nodes[1], "loading", "");
	swap_viewed(&w, later(now, 50), s, (uint8_t[]){ 10, 0, 0, 1 }, &(struct swap_view){ .progress = 0.1 });
	swap_tick(&w, later(now, 80));
	T_CHECK(w.nodes[1].phase == SWAP_LOADING);
	swap_tick(&w, later(now, 111));
	T_CHECK(w.nodes[1].phase == SWAP_FAILED && s->state == SWAP_IS_FAILED);
	T_CHECK(strstr(w.nodes[1].words, "while loading: no sign of progress for 60 s") != NULL);
	swap_free(&w);
}

static void
test_stop_and_time(void)
{
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	struct swap_session *s = set_up(&w, &config, 2, "n[0-1]", 1);
	report(&w, start, &w.nodes[0], "done", "");
	T_CHECK(swap_stop(&w, start, s->id, &e) == 0);
	T_CHECK(s->state == SWAP_IS_STOPPED);
	T_CHECK(w.nodes[0].phase == SWAP_DONE && w.nodes[1].phase == SWAP_STOPPED);
	T_CHECK(swap_stop(&w, start, s->id, &e) == 0 && swap_stop(&w, start, 9, &e) != 0 && e.kind == ERR_ABSENT);
	struct swap_wish wish = { .nodes = "n0", .image = "a.ndz", .request = "x", .timeout_s = 60, .tries = 1 };
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0 && !again && id == 2);
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0 && again && id == 2 && w.nsessions == 2);
	report(&w, later(start, 50), &w.nodes[0], "loading", "");
	swap_tick(&w, later(start, 61));
	T_CHECK(swap_find_session(&w, 2)->state == SWAP_IS_FAILED);
	T_CHECK(strstr(w.nodes[0].words, "the time of the session is over") != NULL);
	static const char *const bad[] = { "frisbee.action=shell", "frisbee.order=7", "quiet", "frisbee.x", "frisbee.x=a;b",
		"frisbee.x=\"", "frisbee.disc=sda", "frisbee.verify_key=lab.pub", "frisbee.verify-key=",
		"frisbee.decrypt= frisbee.disk=sda", "frisbee.group-key=lab.group", "frisbee.server=10.0.0.9",
		NULL };
	strcpy(wish.request, "y");
	for (int i = 0; bad[i] != NULL; i++) {
		strcpy(wish.words, bad[i]);
		T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	}
	strcpy(wish.words, "frisbee.hostname=dhcp  frisbee.disk=size:1G");
	static const char *const elsewhere[] = { "disk:a/b", "/image/b", "http://a/b", "https://a/b" };
	char named[sizeof wish.image];
	strcpy(named, wish.image);
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
		strcpy(wish.image, elsewhere[i]);
		T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	}
	strcpy(wish.image, named);
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0);
	swap_free(&w);
}

/* A session that waits for some of its nodes, and for no more than some. */
static void
test_sending(void)
{
	struct swap_wish wish = { .nodes = "n[0-2]", .image = "a.ndz", .timeout_s = 3600, .tries = 1, .sending = { .wait = 2, .until = 2 } };
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	swap_init(&w, &config);
	add_nodes(&w, 4);
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0);
	struct swap_session *s = swap_find_session(&w, id);
	for (int i = 0; i < 4; i++)
		swap_powered(&w, start, &w.nodes[i], NULL);
	report(&w, start, &w.nodes[0], "loading", "");
	swap_tick(&w, later(start, 100));
	T_CHECK(w.nodes[0].phase == SWAP_LOADING); /* for another one */
	swap_served(&w, later(start, 100), s, &(struct swap_server){ .blocks_sent = 1 });
	report(&w, later(start, 101), &w.nodes[1], "loading", "");
	swap_tick(&w, later(start, 149));
	T_CHECK(w.nodes[0].phase == SWAP_LOADING);
	report(&w, later(start, 110), &w.nodes[0], "done", "");
	report(&w, later(start, 120), &w.nodes[2], "loading", "");
	report(&w, later(start, 130), &w.nodes[1], "done", "");
	T_CHECK(s->state == SWAP_IS_RUNNING); /* the third one has begun */
	report(&w, later(start, 140), &w.nodes[2], "failed", "");
	T_CHECK(s->state == SWAP_IS_DONE);
	strcpy(wish.nodes, "n[1-3]");
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0);
	s = swap_find_session(&w, id);
	report(&w, start, &w.nodes[1], "done", "");
	T_CHECK(s->state == SWAP_IS_RUNNING);
	report(&w, start, &w.nodes[2], "done", "");
	T_CHECK(s->state == SWAP_IS_DONE && w.nodes[3].phase == SWAP_STOPPED && !swap_wants_order(&w.nodes[3]));
	wish.sending.wait = 4;
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	wish.sending = (struct swap_sending){ .until = 4 };
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	wish.sending = (struct swap_sending){ .bandwidth_bits_per_s = 9999 };
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	wish.sending = (struct swap_sending){ .orders = "orders" };
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	strcpy(wish.nodes, "n1");
	wish.capture = true;
	wish.sending = (struct swap_sending){ .wait = 1 };
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE && w.nsessions == 2);
	swap_free(&w);
}

/* A session that could not be saved does nothing, and can be asked for again. */
static void
test_take_back(void)
{
	struct swap_wish wish = { .nodes = "n0", .image = "a.ndz", .request = "r-1", .timeout_s = 3600, .tries = 2 };
	struct swap w;
	struct err e;
	uint32_t id, next;
	bool again;

	swap_init(&w, &config);
	add_nodes(&w, 1);
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0 && !again);
	swap_take_back(&w, start, id);
	struct swap_session *s = swap_find_session(&w, id);
	T_CHECK(s->state == SWAP_IS_STOPPED && s->unsaved && !swap_wants_server(&w, s, start.us));
	T_CHECK(!w.nodes[0].power && !swap_wants_order(&w.nodes[0]) && w.nodes[0].phase == SWAP_STOPPED);
	T_CHECK(swap_start(&w, start, &wish, &next, &again, &e) == 0 && !again && next != id && w.nodes[0].power);
	report(&w, start, &w.nodes[0], "done", "");
	swap_take_back(&w, start, next); /* too late */
	T_CHECK(swap_find_session(&w, next)->state == SWAP_IS_DONE && swap_find_request(&w, "r-1")->id == next);
	swap_free(&w);
}

static const uint8_t group[4] = { 239, 192, 77, 1 };

static void
test_server(void)
{
	struct swap w;
	struct swap_now now = start;

	struct swap_session *s = set_up(&w, &config, 1, "n0", 1);
	for (unsigned i = 1; i < SWAP_SERVER_FAILURES_MAX; i++) {
		T_CHECK(swap_wants_server(&w, s, now.us));
		swap_serves(&w, s, group, 7701);
		swap_server_failed(&w, now, s, "no such card", false);
		T_CHECK(!swap_wants_server(&w, s, now.us)); /* not at once */
		now = later(now, 40);
		report(&w, now, &w.nodes[0], "waiting", "");
	}
	swap_server_failed(&w, now, s, "no such card", false);
	T_CHECK(s->state == SWAP_IS_FAILED && strstr(w.nodes[0].words, "no such card") != NULL);
	swap_free(&w);
}

/* Nodes are told where the image is sent: at first, when it is known, and when it is another place. */
static void
test_place(void)
{
	struct swap w;
	struct swap_session *s = set_up(&w, &config, 2, "n[0-1]", 1);
	uint64_t before = w.changed;

	T_CHECK(!swap_has_place(s) && swap_wants_order(&w.nodes[0]));
	swap_serves(&w, s, group, 7701);
	T_CHECK(swap_has_place(s) && s->serves && s->unsaved);
	T_CHECK(w.nodes[0].changed > before && w.nodes[1].changed > before);
	before = w.changed;
	swap_serves(&w, s, group, 7701);
	T_CHECK(w.changed == before); /* it is known */
	swap_server_failed(&w, start, s, "killed", false);
	T_CHECK(!s->serves && swap_has_place(s)); /* its nodes keep their orders */
	before = w.changed;
	swap_serves(&w, s, group, 7701);
	T_CHECK(s->serves && w.nodes[0].changed < before);
	swap_serves(&w, s, group, 7702);
	T_CHECK(w.nodes[0].changed > before && w.nodes[1].changed > before && s->port == 7702);
	swap_free(&w);
}

/* What can never be sent is not tried again. */
static void
test_server_never(void)
{
	struct swap w;

	struct swap_session *s = set_up(&w, &config, 1, "n0", 2);
	swap_server_failed(&w, start, s, "no such file", true);
	T_CHECK(s->state == SWAP_IS_FAILED && strcmp(s->last, "its image is not sent: no such file") == 0);
	swap_free(&w);
}

/* Without mfrisbeed a session waits, and says so; that is no failure. */
static void
test_server_away(void)
{
	struct swap w;
	struct swap_session *s = set_up(&w, &config, 1, "n0", 1);

	swap_serves(&w, s, group, 7701);
	for (unsigned i = 0; i < 3 * SWAP_SERVER_FAILURES_MAX; i++)
		swap_server_away(&w, s, "it has hung up");
	T_CHECK(s->state == SWAP_IS_RUNNING && !s->serves && s->port == 7701 && s->server_failures == 0);
	T_CHECK(strcmp(s->last, "waits for mfrisbeed: it has hung up") == 0 && swap_wants_server(&w, s, start.us));
	swap_serves(&w, s, group, 7701);
	T_CHECK(strcmp(s->last, "mfrisbeed answers") == 0);
	swap_free(&w);
}

/* One that is killed again and again, and sends each time, does work: each counts its own blocks. */
static void
test_server_killed(void)
{
	struct swap w;
	struct swap_now now = start;

	struct swap_session *s = set_up(&w, &config, 1, "n0", 1);
	for (unsigned i = 0; i < 3 * SWAP_SERVER_FAILURES_MAX; i++) {
		swap_serves(&w, s, group, 7701);
		swap_served(&w, now, s, &(struct swap_server){ .known = true, .blocks_sent = 1000 - i });
		swap_server_failed(&w, now, s, "killed", false);
		now = later(now, 40);
		report(&w, now, &w.nodes[0], "waiting", "");
	}
	T_CHECK(s->state == SWAP_IS_RUNNING && s->server.blocks_sent > 0);
	swap_free(&w);
}

static void
test_follow_up(void)
{
	struct swap_config c = config;
	struct swap w;

	c.follow_up = true;
	const struct swap_session *s = set_up(&w, &c, 1, "n0", 1);
	struct swap_node *n = &w.nodes[0];
	report(&w, start, n, "loading", "");
	report(&w, start, n, "done", "");
	T_CHECK(n->phase == SWAP_REBOOTING && !swap_wants_order(n));
	report(&w, start, n, "done", "");
	report(&w, start, n, "loading", "");
	swap_tick(&w, later(start, 149));
	T_CHECK(n->phase == SWAP_REBOOTING);
	swap_up(&w, later(start, 20), n);
	T_CHECK(n->phase == SWAP_DONE && n->took_s[SWAP_REBOOTING] == 20 && s->state == SWAP_IS_DONE);
	swap_free(&w);
}

static struct swap_session *
begin_stream(struct swap *w, const struct swap_config *c, const char *nodes)
{
	struct swap_wish wish = { .image = "a.ndz", .timeout_s = 3600, .tries = 2, .stream = true };
	struct err e;
	uint32_t id;
	bool again;

	swap_init(w, c);
	add_nodes(w, 2);
	strcpy(wish.nodes, nodes);
	if (swap_start(w, start, &wish, &id, &again, &e) != 0)
		abort();
	for (size_t i = 0; i < w->nnodes; i++)
		swap_powered(w, start, &w->nodes[i], NULL);
	return swap_find_session(w, id);
}

/* Usable first, whole later: both times, the progress of the disk, and a machine that is reset. */
static void
test_stream(void)
{
	struct swap w;
	struct swap_session *s = begin_stream(&w, &config, "n[0-1]");
	struct swap_node *n = &w.nodes[0], *other = &w.nodes[1];

	report(&w, later(start, 30), n, "streaming", "a.ndz onto sda");
	T_CHECK(n->phase == SWAP_STREAMING && swap_wants_order(n) && swap_node_progress(n) == 0);
	swap_viewed(&w, later(start, 35), s, (uint8_t[]){ 10, 0, 0, 0 }, &(struct swap_view){ .progress = 0.3 });
	T_CHECK(swap_node_progress(n) == 0.3 && swap_after_s(n, SWAP_USABLE) < 0);
	report(&w, later(start, 40), n, "usable", "7 % of sda is there");
	T_CHECK(n->phase == SWAP_USABLE && n->took_s[SWAP_STREAMING] == 10 && swap_after_s(n, SWAP_USABLE) == 40);
	T_CHECK(swap_node_progress(n) == 0.07 && swap_wants_order(n) && s->count[SWAP_USABLE] == 1);
	swap_tick(&w, later(start, 40));
	T_CHECK(s->usable_after.n == 1 && s->usable_after.median_s == 40 && s->done_after.n == 0);
	report(&w, later(start, 90), n, "usable", "101 % of sda");
	T_CHECK(n->phase == SWAP_USABLE && n->took_s[SWAP_USABLE] < 0 && n->filled < 0);
	report(&w, later(start, 100), n, "usable", "55 % of sda is there");
	T_CHECK(swap_node_progress(n) == 0.55);
	/* Somebody resets it: it streams again, and what it took before counts. */
	report(&w, later(start, 120), n, "streaming", "a.ndz onto sda");
	T_CHECK(n->phase == SWAP_STREAMING && n->tries == 1 && n->took_s[SWAP_USABLE] == 80);
	report(&w, later(start, 125), n, "usable", "60 % of sda is there");
	report(&w, later(start, 30), other, "streaming", "");
	report(&w, later(start, 60), other, "usable", "");
	T_CHECK(swap_wants_server(&w, s, start.us));
	report(&w, later(start, 200), n, "done", "sda is whole");
	T_CHECK(n->phase == SWAP_DONE && !swap_wants_order(n) && s->state == SWAP_IS_RUNNING);
	T_CHECK(n->took_s[SWAP_STREAMING] == 15 && n->took_s[SWAP_USABLE] == 155 && swap_after_s(n, SWAP_DONE) == 200);
	report(&w, later(start, 210), n, "usable", "99 % of sda is there"); /* late */
	T_CHECK(n->phase == SWAP_DONE);
	report(&w, later(start, 300), other, "done", "");
	T_CHECK(s->state == SWAP_IS_DONE && s->usable_after.n == 2 && s->done_after.median_s == 250);
	swap_free(&w);
}

/* A node that is not usable yet is tried again; one that is may have somebody at work, and is not
 * switched off. */
static void
test_stream_fails(void)
{
	struct swap w;
	struct swap_session *s = begin_stream(&w, &config, "n[0-1]");
	struct swap_node *n = &w.nodes[0], *other = &w.nodes[1];

	report(&w, start, n, "streaming", "");
	report(&w, start, other, "streaming", "");
	report(&w, later(start, 20), other, "usable", "");
	swap_tick(&w, later(start, 79)); /* its system may take as long to start as firmware */
	T_CHECK(n->phase == SWAP_STREAMING && other->phase == SWAP_USABLE);
	swap_viewed(&w, later(start, 79), s, (uint8_t[]){ 10, 0, 0, 1 }, &(struct swap_view){ .progress = 0.4 });
	swap_tick(&w, later(start, 138));
	T_CHECK(other->phase == SWAP_USABLE);
	swap_tick(&w, later(start, 140));
	T_CHECK(other->phase == SWAP_FAILED && !other->power && other->tries == 1 && !swap_wants_order(other));
	T_CHECK(strstr(other->words, "while usable: no sign of progress for 60 s") != NULL);
	swap_tick(&w, later(start, 151));
	T_CHECK(n->phase == SWAP_BOOTING && n->tries == 2 && n->power);
	swap_powered(&w, later(start, 151), n, NULL);
	report(&w, later(start, 160), n, "streaming", "");
	report(&w, later(start, 170), n, "usable", "");
	report(&w, later(start, 180), n, "failed", "nbdkit has ended");
	T_CHECK(n->phase == SWAP_FAILED && s->state == SWAP_IS_FAILED);
	swap_free(&w);
}

/* With a port: usable is who answers there.  An image that cannot be streamed is loaded, and the
 * node starts from its disk. */
static void
test_stream_follow_up(void)
{
	struct swap_config c = config;
	struct swap w;

	c.follow_up = true;
	struct swap_session *s = begin_stream(&w, &c, "n[0-1]");
	struct swap_node *n = &w.nodes[0], *other = &w.nodes[1];
	T_CHECK(!swap_awaits_up(n));
	report(&w, later(start, 10), n, "streaming", "");
	report(&w, later(start, 20), n, "usable", "1 % of sda is there");
	T_CHECK(n->phase == SWAP_STREAMING && swap_awaits_up(n));
	swap_up(&w, later(start, 25), n);
	T_CHECK(n->phase == SWAP_USABLE && swap_after_s(n, SWAP_USABLE) == 25 && !swap_awaits_up(n));
	swap_up(&w, later(start, 26), n);
	report(&w, later(start, 60), n, "usable", "3 % of sda is there");
	T_CHECK(n->phase == SWAP_USABLE && swap_node_progress(n) == 0.03);
	report(&w, later(start, 90), n, "done", "");
	T_CHECK(n->phase == SWAP_DONE);
	report(&w, later(start, 10), other, "streaming", "");
	report(&w, later(start, 20), other, "loading", "its kernel has no module nbd");
	report(&w, later(start, 80), other, "done", "sda is loaded");
	T_CHECK(other->phase == SWAP_REBOOTING);
	swap_up(&w, later(start, 95), other);
	T_CHECK(other->phase == SWAP_DONE && s->state == SWAP_IS_DONE && s->usable_after.n == 1);
	swap_free(&w);
}

static void
test_stream_refused(void)
{
	static const char *const loads[] = { "frisbee.options=-v", "frisbee.hostname=dhcp", "frisbee.disk=sda frisbee.personalise=machine-id",
		"frisbee.network=dhcp", "frisbee.newids=yes", "frisbee.grow=yes", "frisbee.set=a@sda", NULL };
	struct swap_wish wish = { .nodes = "n0", .image = "a.ndz", .timeout_s = 60, .tries = 1, .stream = true };
	struct swap_config c = config;
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	swap_init(&w, &c);
	add_nodes(&w, 1);
	for (int i = 0; loads[i] != NULL; i++) {
		strcpy(wish.words, loads[i]);
		T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE && strstr(e.text, "streams") != NULL);
	}
	strcpy(wish.words, "frisbee.disk=sda frisbee.stream=rate=100M frisbee.verify-key=lab.pub");
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) == 0);
	swap_free(&w);
}

/* What is asked of a controller with two nodes: a capture of n0 as a.ndz, and a word that counts there. */
static const struct swap_wish wants_image = { .nodes = "n0", .image = "a.ndz", .capture = true, .timeout_s = 600,
	.tries = 2, .words = "frisbee.options=-X frisbee.after=poweroff" };

/* A disk becomes an image: its phases, what the node says of its progress, and that nothing is sent. */
static void
test_capture(void)
{
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	swap_init(&w, &config);
	add_nodes(&w, 2);
	T_CHECK(swap_start(&w, start, &wants_image, &id, &again, &e) == 0);
	struct swap_session *s = swap_find_session(&w, id);
	struct swap_node *n = &w.nodes[0];
	T_CHECK(s->capture && !s->replace && swap_wants_order(n) && !swap_wants_server(&w, s, start.us));
	swap_powered(&w, start, n, NULL);
	report(&w, later(start, 10), n, "loading", "");
	report(&w, later(start, 10), n, "personalising", "");
	T_CHECK(n->phase == SWAP_BOOTING);
	report(&w, later(start, 20), n, "capturing", "sda as a.ndz");
	T_CHECK(n->phase == SWAP_CAPTURING && swap_node_progress(n) == 0 && !n->viewed && s->nsamples == 0);
	report(&w, later(start, 30), n, "capturing", "25 % of sda is read, 1.5 MB/s, 90 s left");
	T_CHECK(swap_progress(&w, s) == 0.25 && n->view.rate_bits_per_s == 12e6 && n->view.seconds_left == 90);
	T_CHECK(s->nsamples == 1 && s->samples[0].progress == 0.25f && s->samples[0].rate_bits_per_s == 12e6f);
	T_CHECK(s->server.rate_bits_per_s == 12000000 && !s->server.known);
	report(&w, later(start, 40), n, "waiting", "nobody takes it");
	T_CHECK(n->phase == SWAP_CAPTURING && strcmp(n->words, "nobody takes it") == 0 && swap_progress(&w, s) == 0.25);
	report(&w, later(start, 40), n, "capturing", "101 % of sda is read, 0.1 MB/s, 1 s left");
	report(&w, later(start, 40), n, "capturing", "99 %, -1.0 MB/s");
	T_CHECK(swap_progress(&w, s) == 0.25);
	report(&w, later(start, 90), n, "verifying", "");
	T_CHECK(n->phase == SWAP_VERIFYING && n->took_s[SWAP_CAPTURING] == 70 && swap_progress(&w, s) == 1);
	swap_tick(&w, later(start, 149));
	T_CHECK(n->phase == SWAP_VERIFYING && swap_wants_order(n));
	report(&w, later(start, 150), n, "done", "a.ndz, 12 MB");
	T_CHECK(n->phase == SWAP_DONE && s->state == SWAP_IS_DONE && !swap_wants_order(n) && s->took[SWAP_VERIFYING].n == 1);
	swap_free(&w);
}

/* What cannot be captured, and two who want one name. */
static void
test_capture_refused(void)
{
	static const char *const names[] = { "a", ".ndz", ".a.ndz", "-a.ndz", "a:b.ndz", "a=.ndz", "a.ndz.sig", NULL };
	static const char *const words[] = { "frisbee.hostname=dhcp", "frisbee.set=a@sda", "frisbee.capture=replace",
		"frisbee.verify-key=a", "frisbee.fit=yes", "frisbee.fit-lv=a/b", "frisbee.newids=yes", "frisbee.stream=rate=1", NULL };
	struct swap w;
	struct err e;
	uint32_t id;
	bool again;

	swap_init(&w, &config);
	add_nodes(&w, 2);
	struct swap_wish wish = wants_image;
	for (int i = 0; names[i] != NULL; i++) {
		strcpy(wish.image, names[i]);
		T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	}
	wish = wants_image;
	for (int i = 0; words[i] != NULL; i++) {
		strcpy(wish.words, words[i]);
		T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	}
	wish = wants_image;
	strcpy(wish.nodes, "n0,n1");
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE && w.nsessions == 0);
	wish.stream = true;
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	wish = wants_image;
	wish.capture = false;
	wish.replace = true;
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(swap_start(&w, start, &wants_image, &id, &again, &e) == 0);
	wish = wants_image;
	wish.replace = true;
	strcpy(wish.nodes, "n1");
	T_CHECK(swap_start(&w, start, &wish, &id, &again, &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(swap_stop(&w, start, 1, &e) == 0 && swap_start(&w, start, &wish, &id, &again, &e) == 0);
	T_CHECK(swap_find_session(&w, id)->replace && w.nodes[1].phase == SWAP_BOOTING);
	swap_free(&w);
}

/* A node that says what no node of its session can be is what it was. */
static void
test_no_stream(void)
{
	struct swap w;

	const struct swap_session *s = set_up(&w, &config, 1, "n0", 2);
	swap_powered(&w, start, &w.nodes[0], NULL);
	report(&w, start, &w.nodes[0], "loading", "");
	T_CHECK(report(&w, later(start, 1), &w.nodes[0], "usable", "100 % of sda is there"));
	T_CHECK(report(&w, later(start, 2), &w.nodes[0], "streaming", "mine"));
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && strcmp(w.nodes[0].words, "mine") == 0 && swap_progress(&w, s) == 0);
	swap_tick(&w, later(start, 2 + config.patience_s));
	T_CHECK(w.nodes[0].phase == SWAP_BOOTING && w.nodes[0].tries == 2);
	swap_free(&w);
}

/* Clocks: the wall clock jumps years, and nothing happens because of it. */
static void
test_clock(void)
{
	struct swap w;
	struct err e;
	uint32_t id;

	const struct swap_session *s = set_up(&w, &config, 1, "n0", 2);
	struct swap_now now = { start.us + 10000000, 0 };
	swap_tick(&w, now);
	report(&w, now, &w.nodes[0], "loading", "");
	now = (struct swap_now){ now.us + 10000000, 9e9 };
	swap_tick(&w, now);
	T_CHECK(w.nodes[0].phase == SWAP_LOADING && w.nodes[0].took_s[SWAP_BOOTING] == 10);
	report(&w, now, &w.nodes[0], "done", "");
	T_CHECK(w.nodes[0].took_s[SWAP_LOADING] == 10 && s->state == SWAP_IS_DONE);
	now.wall_s = 5;
	begin(&w, now, "n0", 2, &id, &e);
	now.wall_s = 1;
	swap_stop(&w, now, id, &e);
	s = swap_find_session(&w, id);
	T_CHECK(s->ended_s >= s->began_s);
	swap_free(&w);
}

/* Sets up another controller with so many nodes, which goes on with a session that was saved and its
 * first node. */
static struct swap_session *
restore_session(struct swap *w, struct swap_now now, unsigned nnodes,
    const struct swap_session *saved, const struct swap_node *n)
{
	struct err e;

	swap_init(w, &config);
	add_nodes(w, nnodes);
	T_CHECK(swap_restore_session(w, now, saved, &e) == 0);
	T_CHECK(swap_restore_node(w, now, n, &e) == 0);
	swap_restored(w, now);
	return swap_find_session(w, saved->id);
}

/* A controller is killed after 100 s of a session, 90 s of which are saved, and starts 30 s later: a
 * reader sees one session of 160 s, with samples of all of it but those that were not saved.  Wall clocks
 * that jump meanwhile change nothing else. */
static void
test_restart(void)
{
	static const double away_s[] = { 30, 1e6, -1e6 };
	struct swap_server seen = { .known = true, .chunks = 9, .blocks_sent = 1, .chunk_map = "ff0" };

	for (int i = 0; i < 3; i++) {
		struct swap w, again;
		struct swap_session *s = set_up(&w, &config, 2, "n0", 2);
		for (int at = 1; at <= 90; at++) {
			swap_tick(&w, later(start, at));
			seen.blocks_sent++;
			swap_served(&w, later(start, at), s, &seen);
		}
		T_CHECK(s->course_unsaved && s->nsamples == 90 && swap_seconds(s, later(start, 90)) == 90);
		struct swap_session saved = *s;
		swap_saved(&w);
		T_CHECK(!s->course_unsaved);
		struct swap_now now = { start.us + 130000000, start.wall_s + 100 + away_s[i] };
		s = restore_session(&again, now, 2, &saved, &w.nodes[0]);
		double had_s = i == 0 ? 130 : 90;
		T_CHECK(fabs(swap_seconds(s, now) - had_s) < 1e-3);
		T_CHECK(s->server.known && strcmp(s->server.chunk_map, "ff0") == 0 && s->nsamples == 90);
		now = later(now, 30);
		swap_tick(&again, now);
		swap_served(&again, now, s, &seen);
		T_CHECK(s->nsamples == 91 && s->samples[0].at_s == 1 && fabs(s->samples[90].at_s - (had_s + 30)) < 1e-3);
		now = later(now, 0.5);
		report(&again, now, &again.nodes[0], "done", "");
		now.wall_s += 1e7; /* when it is looked at does not count */
		T_CHECK(s->state == SWAP_IS_DONE && fabs(swap_seconds(s, now) - (had_s + 30.5)) < 1e-3);
		swap_free(&w);
		swap_free(&again);
	}
}

/* The machine of the controller was without power: its clock begins anew, and has not run for as long as
 * the session yet.  The session goes on where it was, with what is left of its time. */
static void
test_restart_after_boot(void)
{
	const struct swap_now boot = { 20000000, start.wall_s + 1060 };
	struct swap_server seen = { .known = true, .chunks = 9, .blocks_sent = 1 };
	struct swap w, again;
	struct swap_session *s = set_up(&w, &config, 1, "n0", 2);

	swap_powered(&w, start, &w.nodes[0], NULL);
	report(&w, start, &w.nodes[0], "loading", "");
	swap_tick(&w, start);
	for (int at = 10; at <= 1000; at += 10) {
		swap_viewed(&w, later(start, at), s, (uint8_t[]){ 10, 0, 0, 0 }, &(struct swap_view){ .progress = at * 1e-4 });
		swap_tick(&w, later(start, at));
		swap_served(&w, later(start, at), s, &seen);
	}
	T_CHECK(s->nsamples == 100 && s->spent_s == 1000);
	s = restore_session(&again, boot, 1, s, &w.nodes[0]);
	T_CHECK(fabs(swap_seconds(s, boot) - 1060) < 1e-3); /* of which it was away for 60 */
	swap_served(&again, later(boot, 20), s, &seen);
	T_CHECK(s->nsamples == 101 && fabs(s->samples[100].at_s - 1080) < 1e-3);
	report(&again, later(boot, 30), &again.nodes[0], "loading", "");
	swap_tick(&again, later(boot, 30));
	T_CHECK(fabs(s->spent_s - 1030) < 1e-3 && s->state == SWAP_IS_RUNNING);
	report(&again, later(boot, 40), &again.nodes[0], "personalising", "");
	T_CHECK(fabs(again.nodes[0].took_s[SWAP_LOADING] - 1100) < 1e-3);
	for (int at = 50; at < 3600 - 1000; at += 50) {
		report(&again, later(boot, at), &again.nodes[0], "personalising", "");
		swap_tick(&again, later(boot, at));
	}
	T_CHECK(s->state == SWAP_IS_RUNNING);
	swap_tick(&again, later(boot, 3600 - 1000));
	T_CHECK(s->state == SWAP_IS_FAILED);
	swap_free(&w);
	swap_free(&again);
}

/* What is kept of a session does not grow with its length. */
static void
test_course(void)
{
	struct swap_server seen = { .known = true, .chunks = 9 };
	struct swap w;
	struct swap_session *s = set_up(&w, &config, 1, "n0", 2);
	unsigned most = 0;

	for (int at = 0; at < 3500; at++) {
		swap_served(&w, later(start, at), s, &seen);
		most = s->nsamples > most ? s->nsamples : most;
	}
	T_CHECK(most == SWAP_SAMPLES_MAX && s->samples[0].at_s == 0);
	report(&w, later(start, 3500), &w.nodes[0], "done", "");
	T_CHECK(s->state == SWAP_IS_DONE && s->course_unsaved && s->nsamples <= SWAP_SAMPLES_KEPT);
	T_CHECK(s->nsamples > SWAP_SAMPLES_KEPT / 3 && s->samples[s->nsamples - 1].at_s > 3300);
	swap_saved(&w);
	unsigned n = s->nsamples;
	seen.blocks_sent = 77; /* what frisbeed said as it ended */
	swap_served(&w, later(start, 3501), s, &seen);
	T_CHECK(s->nsamples == n && s->server.blocks_sent == 77 && s->course_unsaved);
	swap_free(&w);
}

static void
fill_table(struct swap *table, const char *const *names, const uint8_t *ends)
{
	struct err e;

	swap_init(table, &config);
	for (int i = 0; names[i] != NULL; i++)
		if (swap_add_node(table, names[i], (uint8_t[]){ 2, 0, 0, 0, 0, ends[i] }, "", &e) != 0)
			abort();
}

/* Nodes are found by each of their keys as if all were looked at. */
static bool
index_is_right(const struct swap *w)
{
	static const size_t bytes[SWAP_KEYS] = { SWAP_NAME_BYTES, 6, SMBIOS_BYTES, 4 };
	static const uint8_t none[4];

	for (size_t i = 0; i < w->nnodes; i++) {
		const struct swap_node *n = &w->nodes[i];
		const void *const value[SWAP_KEYS] = { n->name, n->mac, n->smbios, n->ip };
		for (int key = 0; key < SWAP_KEYS; key++) {
			size_t same = 0, found = 0;
			for (size_t k = 0; k < w->nnodes; k++) {
				const void *const other[SWAP_KEYS] = { w->nodes[k].name, w->nodes[k].mac, w->nodes[k].smbios,
					w->nodes[k].ip };
				same += memcmp(value[key], other[key], bytes[key]) == 0;
			}
			if (key == SWAP_BY_SMBIOS && n->smbios[0] == 0)
				same = 0;
			if (key == SWAP_BY_IP && memcmp(n->ip, none, 4) == 0)
				same = 0; /* it has no address yet */
			for (const struct swap_node *f = NULL; (f = swap_index_find(w, (enum swap_key)key, value[key], f)) != NULL;)
				found++;
			if (found != same)
				return false;
		}
	}
	return true;
}

static void
test_index(void)
{
	struct swap w, table;
	struct err e;
	uint32_t id;
	char name[16];

	swap_init(&w, &config);
	T_CHECK(swap_find_node(&w, "n0") == NULL && swap_same_machine(&w, &(struct swap_node){ .mac = { 2 } }) == NULL);
	add_nodes(&w, 150);
	begin(&w, start, "n[0-149]", 10, &id, &e);
	for (int i = 0; i < 1000; i++) { /* machines have taken addresses of others */
		struct swap_report r = { .phase = "loading" };
		struct swap_node *n = &w.nodes[draw(128)];
		memcpy(r.mac, n->mac, 6);
		swap_order_name(&w, n, r.order);
		swap_reported(&w, start, &r, (uint8_t[]){ 10, 0, 0, (uint8_t)draw(64) }, &e);
	}
	T_CHECK(index_is_right(&w));
	/* All that load with this address are meant, and no others. */
	uint8_t ip[4];
	memcpy(ip, w.nodes[5].ip, 4);
	swap_viewed(&w, start, swap_find_session(&w, id), ip, &(struct swap_view){ .progress = 0.5 });
	for (size_t i = 0; i < w.nnodes; i++)
		if (w.nodes[i].viewed != (memcmp(w.nodes[i].ip, ip, 4) == 0))
			T_CHECK(!"another node was seen");
	swap_stop(&w, start, id, &e);
	swap_saved(&w);
	swap_init(&table, &config);
	for (int i = 299; i >= 0; i--) {
		snprintf(name, sizeof name, "n%d", i * 7 % 300);
		if (swap_add_node(&table, name, (uint8_t[]){ 4, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i }, "", &e) != 0)
			T_CHECK(!"a node cannot be added");
	}
	T_CHECK(index_is_right(&table) && swap_renew(&w, &table, &e) == 0 && w.nnodes == 300 && index_is_right(&w));
	swap_free(&table);
	fill_table(&table, (const char *[]){ "n3", NULL }, (uint8_t[]){ 99 });
	T_CHECK(swap_renew(&w, &table, &e) == 0 && w.nnodes == 1 && index_is_right(&w));
	T_CHECK(swap_find_node(&w, "n4") == NULL && swap_same_machine(&w, &(struct swap_node){ .mac = { 2, 0, 0, 0, 0, 99 } }) == &w.nodes[0]);
	swap_free(&table);
	swap_free(&w);
}

/* A world around the engine: orders that are there, nodes that boot and load by chance, reports that
 * are lost or come twice, a controller that is killed. */
enum { WORLD = 60, ROUNDS = 4000 };

struct machine {
	char order[SWAP_ORDER_BYTES]; /* that is in the folder; empty: none */
	char obeys[SWAP_ORDER_BYTES]; /* that it has booted with */
	int at;                       /* 0 off, 1 boots, 2 loads, 3 has loaded and tells so, 4 runs its disk, */
	                              /* 5 its system runs while its disk is filled */
	bool loaded;
	bool told, mute; /* that its system runs; its network is gone then */
	unsigned loads, cycles;
	char last_loaded[SWAP_ORDER_BYTES];
};

struct world {
	struct swap w;
	struct machine m[WORLD];
	struct swap saved; /* as it is on the disk */
	bool loss, stream;
	bool disturbed; /* a machine whose system ran, as the controller knew, was switched off */
	unsigned kills;
};

static void
save(struct world *x)
{
	for (size_t i = 0; i < x->saved.nsessions; i++) {
		free(x->saved.sessions[i]->nodes);
		free(x->saved.sessions[i]);
	}
	free(x->saved.sessions);
	free(x->saved.nodes);
	x->saved = x->w;
	x->saved.nodes = malloc(x->w.nnodes * sizeof *x->w.nodes);
	memcpy(x->saved.nodes, x->w.nodes, x->w.nnodes * sizeof *x->w.nodes);
	x->saved.sessions = calloc(x->w.nsessions + 1, sizeof *x->w.sessions);
	for (size_t i = 0; i < x->w.nsessions; i++) {
		x->saved.sessions[i] = malloc(sizeof **x->w.sessions);
		*x->saved.sessions[i] = *x->w.sessions[i];
		x->saved.sessions[i]->nodes = NULL;
	}
	swap_saved(&x->w);
}

static bool
restore(struct world *x, struct swap_now now)
{
	struct err e;

	x->kills++;
	swap_free(&x->w);
	swap_init(&x->w, &config);
	add_nodes(&x->w, WORLD);
	for (size_t i = 0; i < x->saved.nsessions; i++)
		if (swap_restore_session(&x->w, now, x->saved.sessions[i], &e) != 0)
			return false;
	for (size_t i = 0; i < x->saved.nnodes; i++)
		if (x->saved.nodes[i].session != 0 && swap_restore_node(&x->w, now, &x->saved.nodes[i], &e) != 0)
			return false;
	swap_restored(&x->w, now);
	return true;
}

/* What the controller's loop does after it has saved; a kill may come at any point. */
static bool
settle(struct world *x, struct swap_now now, unsigned kill_in)
{
	save(x);
	for (unsigned i = 0; i < WORLD; i++) {
		struct swap_node *n = &x->w.nodes[i];
		if (kill_in-- == 0)
			return restore(x, now);
		x->m[i].order[0] = '\0';
		if (swap_wants_order(n))
			swap_order_name(&x->w, n, x->m[i].order);
		if (n->power) {
			x->disturbed |= x->m[i].at == 5 && x->m[i].told;
			x->m[i].at = 1;
			x->m[i].told = x->m[i].mute = false;
			x->m[i].loaded = false;
			x->m[i].cycles++;
			if (kill_in-- == 0)
				return restore(x, now);
			swap_powered(&x->w, now, n, NULL);
		}
	}
	return true;
}

/* The machine does its next step.  False: a rule is broken. */
static bool
live(struct world *x, struct swap_now now, unsigned i)
{
	struct machine *m = &x->m[i];
	struct swap_node *n = &x->w.nodes[i];
	bool arrives = !x->loss || draw(4) > 0;

	switch (m->at) {
	case 1:
		strcpy(m->obeys, m->order);
		m->at = m->order[0] != '\0' ? 2 : 4;
		if (m->at == 2 && arrives)
			report_as(&x->w, now, n, m->obeys, x->stream ? "streaming" : "loading", "");
		break;
	case 5:
		m->mute |= m->told && x->loss && draw(20) == 0;
		if (m->mute)
			break;
		m->told |= arrives;
		if (arrives)
			report_as(&x->w, now, n, m->obeys, "usable", "50 % of sda is there");
		if (x->loss && draw(20) == 0) {
			m->at = (int)draw(2); /* its plug is pulled, or somebody resets it */
			m->told = false;
		} else if (draw(3) == 0) {
			m->loaded = true;
			m->loads++;
			m->at = 3;
		}
		break;
	case 2:
		if (x->loss && draw(20) == 0) {
			report_as(&x->w, now, n, m->obeys, "failed", "a disk");
			m->at = 0;
		} else if (x->loss && draw(20) == 0) {
			m->at = 0; /* somebody pulls its plug */
		} else if (x->stream) {
			m->at = 5;
		} else {
			if (strcmp(m->last_loaded, m->obeys) == 0)
				return false; /* an order was obeyed twice to its end */
			m->loaded = true;
			m->loads++;
			m->at = 3;
		}
		break;
	case 3:
		if (arrives) {
			report_as(&x->w, now, n, m->obeys, "done", "");
			strcpy(m->last_loaded, m->obeys);
			if (draw(3) == 0)
				report_as(&x->w, now, n, m->obeys, "done", "");
			m->at = 4;
		}
		break;
	default:
		break;
	}
	return true;
}

static bool
run_world(uint32_t seed, bool loss, bool kills, bool stream)
{
	struct swap_wish wish = { .nodes = "n[0-59]", .image = "a.ndz", .timeout_s = 3600, .tries = 10, .stream = stream };
	struct world *x = calloc(1, sizeof *x);
	bool again;
	struct swap_now now = start;
	struct err e;
	uint32_t id = 0;
	bool good = true;

	draw_seed = seed;
	x->loss = loss;
	x->stream = stream;
	swap_init(&x->w, &config);
	add_nodes(&x->w, WORLD);
	swap_start(&x->w, now, &wish, &id, &again, &e);
	for (unsigned round = 0; good && round < ROUNDS; round++) {
		good = settle(x, now, kills && draw(6) == 0 ? draw(WORLD) : WORLD * 3);
		if (swap_find_session(&x->w, id)->state != SWAP_IS_RUNNING)
			break;
		now = later(now, 2);
		if (kills && draw(10) == 0)
			now.wall_s += (double)draw(2000) - 1000;
		for (unsigned k = 0; good && k < 20; k++)
			good = live(x, now, draw(WORLD));
		/* What was reported is answered after it was saved, so a kill in between is before. */
		save(x);
		swap_tick(&x->w, now);
		if (kills && draw(10) == 0)
			good = restore(x, now) && good;
	}
	good = good && settle(x, now, WORLD * 3);
	struct swap_session *s = swap_find_session(&x->w, id);
	good = good && s->state != SWAP_IS_RUNNING && s->count[SWAP_DONE] + s->count[SWAP_FAILED] == WORLD;
	for (unsigned i = 0; i < WORLD; i++) {
		good = good && x->m[i].order[0] == '\0';
		good = good && (x->w.nodes[i].phase != SWAP_DONE || x->m[i].loaded);
		good = good && (loss || kills || (x->m[i].loads == 1 && x->m[i].cycles == 1));
	}
	good = good && !x->disturbed && (!kills || x->kills > 0) && (loss || s->state == SWAP_IS_DONE);
	swap_free(&x->w);
	for (size_t i = 0; i < x->saved.nsessions; i++)
		free(x->saved.sessions[i]);
	free(x->saved.sessions);
	free(x->saved.nodes);
	free(x);
	return good;
}

static void
test_worlds(void)
{
	for (int stream = 0; stream < 2; stream++) {
		unsigned good = 0;
		T_CHECK(run_world(1, false, false, stream));
		for (uint32_t seed = 1; seed <= 30; seed++)
			good += run_world(seed, false, true, stream) + run_world(seed, true, true, stream);
		T_CHECK(good == 60);
	}
}

static void
test_thousand(void)
{
	struct swap w;
	struct swap_now now = start;
	struct swap_session *s = set_up(&w, &config, 1000, "n[0-999]", 2);

	for (unsigned i = 0; i < 1000; i++)
		report(&w, later(now, i * 0.01), &w.nodes[i], "loading", "");
	T_CHECK(s->count[SWAP_LOADING] == 1000);
	for (unsigned i = 0; i < 990; i++)
		report(&w, later(now, 50), &w.nodes[i], "done", "");
	T_CHECK(s->state == SWAP_IS_RUNNING && s->count[SWAP_DONE] == 990);
	for (int i = 0; i < 400; i++) {
		for (unsigned k = 0; k < 1000; k++)
			swap_powered(&w, later(now, 50 + i), &w.nodes[k], NULL);
		swap_tick(&w, later(now, 50 + i));
	}
	T_CHECK(s->state == SWAP_IS_FAILED && s->count[SWAP_FAILED] == 10 && w.retries == 10);
	swap_free(&w);
}

static void
test_forget(void)
{
	struct swap w;
	struct err e;
	uint32_t id;

	swap_init(&w, &config);
	add_nodes(&w, 1);
	for (int i = 0; i < SWAP_RECENT_MAX + 50; i++) {
		begin(&w, start, "n0", 1, &id, &e);
		report(&w, start, &w.nodes[0], "done", "");
		swap_saved(&w);
		swap_forget(&w);
	}
	T_CHECK(w.nsessions == SWAP_RECENT_MAX && w.sessions[0]->id == 51);
	swap_free(&w);
}

static void
test_reports(void)
{
	static const char line[] = "report 52-54-00-00-00-0a 5a17-7-1 loading a.ndz onto sda";
	struct swap_report r;
	struct err e;
	char again[400];

	T_CHECK(swap_report_read(line, strlen(line), &r, &e) == 0);
	T_CHECK(r.mac[0] == 0x52 && r.mac[5] == 0x0a && strcmp(r.order, "5a17-7-1") == 0);
	T_CHECK(strcmp(r.phase, "loading") == 0 && strcmp(r.text, "a.ndz onto sda") == 0);
	T_CHECK(swap_report_write(&r, again, sizeof again) == strlen(line) && strcmp(again, line) == 0);
	size_t whole = strlen("report 52-54-00-00-00-0a 5a17-7-1 l");
	for (size_t n = 0; n < strlen(line); n++) /* every truncation */
		if ((swap_report_read(line, n, &r, &e) == 0) != (n >= whole))
			T_CHECK(!"a report that is cut off");
	static const char *const bad[] = { "report 52-54-00-00-00-0A - done", "report ../../../x - done", "capture x",
		"report 52-54-00-00-00-0a a/b done x", "report 52-54-00-00-00-0a - DONE x", "report", "",
		"report 52-54-00-00-00-0a 12345678901234567890123456789012345678901 done" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_CHECK(swap_report_read(bad[i], strlen(bad[i]), &r, &e) != 0 && e.kind == ERR_FORMAT);
	static const char harm[] = "report 52-54-00-00-00-0a - failed a\033[2Jb\xff";
	T_CHECK(swap_report_read(harm, strlen(harm), &r, &e) == 0 && strcmp(r.text, "a?[2Jb?") == 0);
}

static void
test_names(void)
{
	struct swap w;
	struct err e;
	uint8_t mac[6] = { 2 }, other[6] = { 4 };

	swap_init(&w, &config);
	T_CHECK(swap_add_node(&w, "a", mac, "", &e) == 0);
	T_CHECK(swap_add_node(&w, "a", other, "", &e) != 0 && e.kind == ERR_USAGE);
	T_CHECK(swap_add_node(&w, "b", mac, "", &e) != 0);
	static const char *const bad[] = { "", "..", "a/b", "a b", "a\n", "-x", "<b>" };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		T_CHECK(swap_add_node(&w, bad[i], other, "", &e) != 0 && e.kind == ERR_USAGE);
	swap_free(&w);
}

/* The nodes are n0 to n3 with the addresses 0 to 3; n1 and n3 are in a session. */
static void
test_renew(void)
{
	struct swap w, table;
	struct err e;
	struct swap_session *s = set_up(&w, &config, 4, "n1,n3", 1);

	T_CHECK(report(&w, start, swap_find_node(&w, "n3"), "loading", "x"));
	swap_saved(&w);
	/* n9 is new, n3 comes first, n0 has another address, n2 goes at once and n1 later. */
	fill_table(&table, (const char *[]){ "n9", "n3", "n0", NULL }, (uint8_t[]){ 9, 3, 7 });
	T_CHECK(swap_renew(&w, &table, &e) == 0 && w.nnodes == 4);
	T_CHECK(strcmp(w.nodes[0].name, "n9") == 0 && w.nodes[0].phase == SWAP_IDLE && w.nodes[2].mac[5] == 7);
	T_CHECK(swap_find_node(&w, "n2") == NULL && swap_find_node(&w, "n1")->leaves && !w.nodes[1].leaves);
	T_CHECK(strcmp(w.nodes[s->nodes[0]].name, "n1") == 0 && strcmp(w.nodes[s->nodes[1]].name, "n3") == 0);
	T_CHECK(!swap_leave(&w) && w.nnodes == 4);
	T_CHECK(report(&w, start, swap_find_node(&w, "n3"), "done", "") && s->count[SWAP_DONE] == 1);
	T_CHECK(report(&w, start, swap_find_node(&w, "n1"), "done", "") && s->state == SWAP_IS_DONE);
	T_CHECK(!swap_leave(&w)); /* its end is not saved yet */
	swap_saved(&w);
	T_CHECK(swap_leave(&w) && w.nnodes == 3 && swap_find_node(&w, "n1") == NULL);
	T_CHECK(swap_find_node(&w, "n3")->phase == SWAP_DONE && !swap_leave(&w));
	swap_free(&table);
	swap_free(&w);
}

static void
test_renew_refused(void)
{
	struct swap w, table;
	struct err e;
	uint32_t id;

	const struct swap_session *s = set_up(&w, &config, 2, "n1", 1);
	fill_table(&table, (const char *[]){ "n0", "n1", NULL }, (uint8_t[]){ 0, 5 });
	T_CHECK(swap_renew(&w, &table, &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(strstr(e.text, "n1 belongs to session 1") != NULL);
	swap_free(&table);
	fill_table(&table, (const char *[]){ "other", NULL }, (uint8_t[]){ 1 });
	T_CHECK(swap_renew(&w, &table, &e) != 0 && strstr(e.text, "other is the machine of n1") != NULL);
	T_CHECK(w.nnodes == 2 && !w.nodes[1].leaves && swap_stop(&w, start, s->id, &e) == 0);
	swap_saved(&w);
	T_CHECK(swap_renew(&w, &table, &e) == 0 && w.nnodes == 1 && swap_find_node(&w, "other") != NULL);
	swap_free(&table);
	/* After a restart, a member that the file has no more leaves, too. */
	T_CHECK(begin(&w, start, "other", 1, &id, &e) == 0);
	struct swap again;
	swap_init(&again, &config);
	T_CHECK(swap_restore_session(&again, start, swap_find_session(&w, id), &e) == 0);
	T_CHECK(swap_restore_node(&again, start, &w.nodes[0], &e) == 0 && again.nodes[0].leaves);
	swap_free(&again);
	swap_free(&w);
}

int
main(void)
{
	test_one_session();
	test_retry();
	test_stop_and_time();
	test_sending();
	test_take_back();
	test_server();
	test_place();
	test_server_never();
	test_server_away();
	test_server_killed();
	test_follow_up();
	test_stream();
	test_stream_fails();
	test_stream_follow_up();
	test_stream_refused();
	test_capture();
	test_capture_refused();
	test_no_stream();
	test_clock();
	test_restart();
	test_restart_after_boot();
	test_course();
	test_index();
	test_worlds();
	test_thousand();
	test_forget();
	test_reports();
	test_names();
	test_renew();
	test_renew_refused();
	return t_done();
}
