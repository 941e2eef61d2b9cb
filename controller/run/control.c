/* control.c: the controller's parts and its loop (control.h), in the program's first thread.
 *
 * Whatever happens changes the engine; the change is saved; only then it is made true (orders,
 * mfrisbeed, power) and answered.  So a controller that is killed at any point finds in its state
 * all that anybody was told of, and makes true what is lacking.
 *
 * A thousand nodes report many times a second, and saving costs more than all else.  So what
 * happens within 100 ms is saved together, and answers wait until then. */
#include "controller/run/control.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/limiter.h"
#include "common/base/log.h"
#include "common/base/openfiles.h"
#include "common/base/test_times.h"
#include "controller/http/token.h"
#include "controller/http/web.h"
#include "controller/nodes/power.h"
#include "controller/nodes/probe.h"
#include "controller/nodes/reports.h"
#include "controller/nodes/table.h"
#include "controller/run/places.h"
#include "controller/sending/servers.h"

enum {
	TICK_US = 1000000,
	WAIT_MS = 1000,
	SAVE_EVERY_US = 100000, /* somebody who waits for an answer hardly notices this time */
	AT_ONCE_US = 1,         /* a time that has passed: what is due then is done at once */
	/* after a failure (usual): a disk that is full stays so for a while */
	SAVE_AGAIN_US = 1000000,
	NOT_SAVED_US = 60000000, /* a line of the log for all failures in this time */
	OPEN_FILES = 65536, /* most of them are connections of nodes */
};

struct control {
	struct swap w;
	struct places at;
	int orders_lock; /* or -1 */
	struct loop loop;
	struct swapdb *state;
	struct reports *reports;
	struct power *power;
	struct probe *probe;
	struct servers *servers;
	struct images images;
	struct web *web;
	uint64_t settled, next_us; /* swap.changed when orders were settled; when the next tick is due */
	uint64_t save_us;          /* when saving is due at the earliest */
	struct limiter not_saved; /* lines about a state that cannot be saved */
	struct buf orders_changed; /* those that were written or removed, and may be lost with the power */
	bool sweep;             /* orders of machines that are no nodes may be there */
	atomic_bool renew;      /* the file of nodes is to be read again */
};

static struct swap_now
now_is(void *arg)
{
	struct timespec t;
	(void)arg;

	clock_gettime(CLOCK_REALTIME, &t);
	return (struct swap_now){ clock_us(), (double)t.tv_sec + (double)t.tv_nsec / 1e9 };
}

static int
save(void *arg, struct err *e)
{
	struct control *c = arg;

	return swapdb_save(c->state, &c->w, e);
}

/* Somebody has asked for something: it is made true without delay. */
static int
save_call(void *arg, struct err *e)
{
	struct control *c = arg;

	c->save_us = AT_ONCE_US;
	return save(c, e);
}

static int
on_report(void *arg, const struct swap_report *r, const uint8_t ip[4], struct err *e)
{
	struct control *c = arg;

	return swap_reported(&c->w, now_is(NULL), r, ip, e);
}

static void
count_reports(void *arg, uint64_t *taken, uint64_t *refused)
{
	const struct control *c = arg;

	*taken = reports_taken(c->reports);
	*refused = reports_refused(c->reports);
}

static const struct jtree *
all_sent(void *arg)
{
	const struct control *c = arg;

	return servers_sent(c->servers);
}

static void
on_images(void *arg, uint64_t number, struct jtree *said, const char *why)
{
	struct control *c = arg;

	images_take(&c->images, number, said, why);
}

static uint32_t
members_wanted(void *arg)
{
	const struct control *c = arg;

	return c->web != NULL ? web_members_wanted(c->web) : 0;
}

static void
on_members(void *arg, uint32_t session, struct jtree *said, const char *why)
{
	struct control *c = arg;

	if (c->web != NULL)
		web_members(c->web, session, said, why);
	else
		jtree_free(said);
}

static void
ask_members(void *arg)
{
	const struct control *c = arg;

	servers_settle(c->servers);
}

static uint64_t
ask_images(void *arg)
{
	const struct control *c = arg;

	return servers_ask_images(c->servers);
}

static void
on_power(void *arg, struct swap_node *n, const char *why)
{
	struct control *c = arg;

	if (why != NULL)
		log_warn("node=%s session=%u: %s", n->name, n->session, why);
	swap_powered(&c->w, now_is(NULL), n, why);
}

static void
on_up(void *arg, struct swap_node *n)
{
	struct control *c = arg;

	swap_up(&c->w, now_is(NULL), n);
}

/* A node that is switched on without its order starts from its disk, and has lost a try.  settle_orders() logs
 * why it has none, unless it is not known yet where its image is sent. */
static bool
has_order(void *arg, const struct swap_node *n)
{
	const struct control *c = arg;
	const struct swap_session *s = swap_find_session(&c->w, n->session);
	struct err ignored;

	return s != NULL && swap_has_place(s) && orders_settle(&c->at.orders, &c->w, n, &ignored) == 0;
}

/* Writes and removes the orders of nodes that have changed.  If that fails for one, all of them
 * are tried again the next time: a disk may be full for a moment.  False: a node that is to
 * have no order still has one. */
static bool
settle_orders(struct control *c)
{
	const struct swap_node *first = NULL;
	uint64_t changed = c->w.changed; /* a node that is refused changes once more */
	unsigned failed = 0;
	bool gone = true;
	struct err e, why = { 0 };

	for (size_t i = 0; i < c->w.nnodes; i++) {
		struct swap_node *n = &c->w.nodes[i];
		if (n->changed <= c->settled || orders_settle(&c->at.orders, &c->w, n, &e) == 0)
			continue;
		if (e.kind == ERR_USAGE) {
			on_power(c, n, e.text);
			continue;
		}
		gone = gone && swap_wants_order(n);
		if (failed++ == 0)
			first = n, why = e;
	}
	if (failed > 0)
		log_err("node=%s nodes=%u: its order cannot be %s: %s", first->name, failed, swap_wants_order(first) ? "written" : "removed", why.text);
	else
		c->settled = changed;
	return gone;
}

/* Removes the orders of machines that are no nodes any more. */
static void
sweep_orders(struct control *c)
{
	struct err e;

	if (!c->sweep)
		return;
	c->sweep = orders_sweep(&c->at.orders, &c->w, &e) != 0;
	if (c->sweep)
		log_err("old orders cannot be removed: %s", e.text);
}

static void
sync_orders(struct control *c)
{
	struct err e;

	if (c->orders_changed.len == 0 && buf_ok(&c->orders_changed))
		return;
	if (orders_sync(&c->at.orders, &e) != 0)
		log_err("after a power failure, removed orders may be there again, and new "
			"ones missing: %s",
		    e.text);
}

/* Makes true what the engine wants.  False: a node that is to have no order still has one. */
static bool
settle(struct control *c)
{
	struct swap_now now = now_is(NULL);
	bool gone = settle_orders(c);

	sweep_orders(c);
	sync_orders(c);
	servers_settle(c->servers);
	power_settle(c->power, &c->w, now.us);
	return gone;
}

/* The file of nodes takes the place of the table, if it is right. */
static int
read_nodes_again(struct control *c, struct err *e)
{
	struct swap table;

	swap_init(&table, &(struct swap_config){ 0 });
	int rc = table_read(&table, c->at.nodes, e);
	if (rc == 0)
		rc = swap_renew(&c->w, &table, e);
	swap_free(&table);
	return rc;
}

/* Lets nodes come and go, once all is saved and no order is left of what has ended. */
static void
renew_nodes(struct control *c)
{
	bool renew = atomic_exchange(&c->renew, false);
	struct err e;

	if (renew && read_nodes_again(c, &e) != 0) {
		log_err("the nodes stay as they were: %s", e.text);
		renew = false;
	}
	if (renew)
		log_info("the nodes were read again nodes=%zu", c->w.nnodes);
	if (!swap_leave(&c->w) && !renew)
		return;
	c->sweep = true;
	sweep_orders(c);
	web_renew(c->web);
}

/* A full disk is no reason to end: what runs goes on, what is asked for meanwhile is refused, and it is tried
 * again for as long as it takes. */
static void
not_saved(struct control *c, const struct err *e)
{
	unsigned ignored;

	if (limiter_may(&c->not_saved, clock_us(), NOT_SAVED_US, 1, &ignored))
		log_err("%s", e->text);
	c->save_us = clock_us() + test_time_us("save", SAVE_AGAIN_US);
	reports_answer(c->reports, 0, "the state cannot be saved");
}

static void
save_and_settle(struct control *c)
{
	struct err e;

	if (save(c, &e) != 0) {
		not_saved(c, &e);
		return;
	}
	if (c->not_saved.n > 0)
		log_info("the state is saved again");
	c->not_saved = (struct limiter){ 0 };
	/* Orders are removed before a node that is done hears that it may reboot. */
	bool gone = settle(c);
	reports_answer(c->reports, now_is(NULL).wall_s, gone ? NULL : "an order that was done cannot be removed");
	renew_nodes(c);
}

static void
tick(struct control *c)
{
	struct swap_now now = now_is(NULL);

	if (now.us < c->next_us)
		return;
	c->next_us = now.us + TICK_US;
	servers_look(c->servers);
	swap_tick(&c->w, now);
	if (c->probe != NULL)
		probe_tick(c->probe, &c->w, now.us);
	swap_forget(&c->w);
}

/* What has happened is saved and made true, if that is due.  Returns for how many milliseconds nothing
 * needs to be done, unless something happens. */
static int
save_when_due(struct control *c)
{
	uint64_t now_us = clock_us();

	if (now_us < c->save_us)
		return (int)((c->save_us - now_us) / 1000) + 1;
	c->save_us = now_us + SAVE_EVERY_US;
	save_and_settle(c);
	return WAIT_MS;
}

int
control_run(struct control *c, struct err *e)
{
	while (cancel_signal() == 0) {
		tick(c);
		int wait_ms = save_when_due(c);
		web_tick(c->web);
		loop_once(&c->loop, web_wait_ms(c->web, wait_ms));
	}
	return save(c, e);
}

static int
open_state(struct control *c, const struct control_config *config, struct err *e)
{
	struct swap_config s = { .patience_s = (unsigned)config->patience_s,
		.patience_boot_s = (unsigned)config->patience_boot_s,
		.follow_up = config->up_port != 0 };

	if (swapdb_open(&c->state, c->at.state, s.salt, e) != 0)
		return -1;
	if (config->token_file == NULL && token_make(c->at.token, e) != 0)
		return -1;
	swap_init(&c->w, &s);
	if (table_read(&c->w, c->at.nodes, e) != 0)
		return -1;
	return swapdb_load(c->state, &c->w, now_is(NULL), e);
}

static int
open_nodes(struct control *c, const struct control_config *config, struct err *e)
{
	if (reports_open(&c->reports, &c->loop, c->at.address_bytes, (uint16_t)config->report_port, on_report, c, e) != 0)
		return -1;
	c->at.orders.report_port = reports_port(c->reports);
	c->at.orders.changed = &c->orders_changed;
	if (power_open(&c->power, &c->loop, config->power, c->at.address_bytes, has_order, on_power, c, e) != 0)
		return -1;
	return config->up_port == 0
	           ? 0
	           : probe_open(&c->probe, &c->loop, (uint16_t)config->up_port, on_up, c, e);
}

static int
open_servers(struct control *c, const struct control_config *config, struct err *e)
{
	struct servers_config s = { .master = config->master,
		.images = c->at.images,
		.store = config->store,
		.state = c->at.state,
		.address = c->at.address,
		.group = c->at.group,
		.port = c->at.port,
		.rate = config->rate,
		.group_key = config->group_key,
		.debug = config->debug,
		.quiet = config->quiet,
		.syslog = config->syslog,
		.db = c->state,
		.now = now_is,
		.images_said = on_images,
		.members_wanted = members_wanted,
		.members_said = on_members,
		.arg = c };

	return servers_open(&c->servers, &c->loop, &c->w, &s, e);
}

static int
open_web(struct control *c, struct err *e)
{
	struct web_config web = { .port = c->at.web_port,
		.token_file = c->at.token,
		.w = &c->w,
		.state = c->state,
		.images = &c->images,
		.save = save_call,
		.now = now_is,
		.reports = count_reports,
		.sent = all_sent,
		.ask_images = ask_images,
		.ask = ask_members,
		.arg = c };

	memcpy(web.addr, c->at.web_address, 4);
	return web_open(&c->web, &c->loop, &web, e);
}

int
control_open(struct control **out, const struct control_config *config, struct err *e)
{
	struct control *c = calloc(1, sizeof *c);

	*out = NULL;
	if (c == NULL)
		return err_nomem(e, "the controller");
	c->loop.epoll = c->orders_lock = -1;
	c->sweep = true; /* the file of nodes may have changed since the last run */
	openfiles_allow(OPEN_FILES);
	if (places_find(&c->at, config, e) != 0 || orders_lock(&c->at.orders, &c->orders_lock, e) != 0 ||
	    loop_open(&c->loop, e) != 0 || open_state(c, config, e) != 0 || open_nodes(c, config, e) != 0 ||
	    open_servers(c, config, e) != 0 || open_web(c, e) != 0) {
		control_close(c);
		return -1;
	}
	*out = c;
	return 0;
}

uint16_t
control_web_port(const struct control *c)
{
	return web_port(c->web);
}

uint16_t
control_report_port(const struct control *c)
{
	return reports_port(c->reports);
}

void
control_renew(struct control *c)
{
	atomic_store(&c->renew, true);
}

void
control_close(struct control *c)
{
	if (c == NULL)
		return;
	web_close(c->web);
	images_free(&c->images);
	servers_close(c->servers);
	probe_close(c->probe);
	power_close(c->power);
	reports_close(c->reports);
	swapdb_close(c->state);
	loop_close(&c->loop);
	swap_free(&c->w);
	buf_free(&c->orders_changed);
	if (c->orders_lock >= 0)
		close(c->orders_lock);
	free(c);
}
