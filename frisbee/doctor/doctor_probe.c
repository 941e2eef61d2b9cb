/* doctor_probe.c: finds the facts in a few seconds.  It asks for the server's answer, probes
 * with small, large and many packets, tries other ways, leaves the group, and listens for IGMP
 * queries.  frisbee/diagnose.c calls it, in the program's only thread. */
#include <string.h>
#include <unistd.h>

#include "common/base/random_bytes.h"
#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_exam.h"
#include "frisbee/doctor/doctor_watch.h"

enum {
	SECOND_REPLY_US = 300000, /* the answer of a second server is waited for this long */
	/* an IGMP query is waited for this long after leaving the group */
	QUERY_US = 2000000,
	REPORT_US = 1200000,      /* the system sends an IGMP report twice in this time */
	SPACE_US = 40000,         /* between large probes */
	TRIES = 4,
};

static const uint16_t sizes[] = { 1056, 972, 548 }; /* of PROBE: for MTUs of 1084, 1000 and 576 */

/* Sends JOIN until a server answers, and once more, because a second server may not have heard
 * the first JOIN. */
static int
ask_for_answer(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;

	for (int i = 0; i < EXAM_JOINS && !f->replied; i++) {
		exam_send_join(x, x->first, f->addr, f->group);
		exam_ask_addresses(x);
		if (exam_listen(x, EXAM_REPLY_US, &f->replied, e) != 0)
			return -1;
	}
	if (f->replied) {
		exam_ask_addresses(x);
		exam_send_join(x, x->first, f->addr, f->group);
		if (exam_listen(x, SECOND_REPLY_US, NULL, e) != 0)
			return -1;
	}
	if (!f->answers_probes)
		exam_send_leave(x, x->first, f->addr);
	return 0;
}

/* Sends small probes through the group and directly, and asks for ECHOs both ways.  It sends
 * twice as many when no ECHO has come through the group, because many may get lost. */
static int
probe_small(struct exam *x, struct err *e)
{
	for (unsigned i = 0; i < (x->f->group_group > 0 ? TRIES : 2 * TRIES); i++) {
		exam_send_probe(
		    x, true, i, PROBE_GROUP | PROBE_DIRECT, PROBE_BYTES_MIN);
		if (x->f->server_known)
			exam_send_probe(
			    x, false, i, PROBE_GROUP | PROBE_DIRECT, PROBE_BYTES_MIN);
		exam_ask_addresses(x);
		if (exam_listen(x, EXAM_ECHO_US / TRIES, NULL, e) != 0)
			return -1;
	}
	return exam_listen(x, EXAM_ECHO_US / 2, NULL, e);
}

static int
probe_large(struct exam *x, struct err *e)
{
	const struct doctor_facts *f = x->f;
	bool by_group = f->group_group > 0 || f->direct_group + f->direct_direct == 0;
	bool to_group = f->group_group + f->direct_group > 0;

	for (unsigned i = 0; i < TRIES * sizeof sizes / sizeof sizes[0]; i++) {
		exam_send_probe(x, by_group, EXAM_NUMBER_LARGE + i,
		    to_group ? PROBE_GROUP : PROBE_DIRECT, sizes[i / TRIES]);
		x->f->large_sent++;
		if (exam_listen(x, SPACE_US, NULL, e) != 0)
			return -1;
	}
	return exam_listen(x, EXAM_ECHO_US / 2, NULL, e);
}

static void
close_group(struct exam *x)
{
	/* Packets that come after this cannot reach the sockets, and must not be counted. */
	watch_collect(x->watch, x->f);
	x->f->at[0].open = x->f->at[1].open = false;
	if (x->first >= 0)
		close(x->first);
	if (x->second >= 0)
		close(x->second);
	exam_close_others(x);
	x->first = x->second = -1;
}

static int
open_second(struct exam *x, struct err *e)
{
	x->second = exam_open_group(x, &x->netif, x->f->second, e);
	if (x->second >= 0)
		x->direct = exam_open_at(
		    x->netif.addr, x->f->second, EXAM_TTL_DIRECT, e);
	watch_collect(x->watch, x->f);
	x->f->at[1].open = x->second >= 0;
	return x->direct >= 0 ? 0 : -1;
}

/* Measures the way to a server whose answers to probes came. */
static int
examine_way(struct exam *x, struct err *e)
{
	const struct doctor_facts *f = x->f;

	if (probe_large(x, e) != 0)
		return -1;
	if (f->group_group + f->direct_group == 0)
		return 0;
	return exam_loss(x, e) == 0 ? exam_bursts(x, e) : -1;
}

/* Looks for the reason when nothing came through the group. */
static int
examine_silence(struct exam *x, struct err *e)
{
	const struct doctor_facts *f = x->f;
	bool answers = f->replied || f->answers_probes;

	if (f->group_heard + f->group_group + f->direct_group == 0 &&
	    exam_try_others(x, e) != 0)
		return -1;
	bool elsewhere = f->other_iface[0] != 0 || f->by_unicast || f->by_broadcast;
	bool known = answers || elsewhere || f->other_port != 0;
	return f->server_known && !known ? exam_host(x, e) : 0;
}

static int
examine(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (ask_for_answer(x, e) != 0 || open_second(x, e) != 0 ||
	    probe_small(x, e) != 0)
		return -1;
	bool echoes =
	    f->group_group + f->group_direct + f->direct_group + f->direct_direct > 0;
	if ((echoes && examine_way(x, e) != 0) || examine_silence(x, e) != 0)
		return -1;
	if (!f->watched)
		return 0;
	if (f->reports_out == 0 && exam_listen(x, REPORT_US, NULL, e) != 0)
		return -1;
	/* A querier asks for other members at once when one leaves. */
	close_group(x);
	return exam_listen(x, QUERY_US, &f->query, e);
}

static int
begin(struct exam *x, const uint8_t *key, struct err *e)
{
	struct doctor_facts *f = x->f;

	random_bytes(&x->id, sizeof x->id);
	if (sock_new_auth_at(&x->auth, f->group, f->port, false, key, e) != 0)
		return -1;
	f->authenticated = key != NULL;
	f->member_before = watch_is_member(f->iface, f->group);
	x->watch = watch_open(x->netif.index, f->group);
	f->watched = x->watch >= 0;
	exam_open_host(x);
	x->first = exam_open_group(x, &x->netif, f->port, e);
	f->at[0].open = x->first >= 0;
	return x->first >= 0 ? 0 : -1;
}

static int
set_up(struct exam *x, const struct doctor_config *c, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (c->server != NULL && addr_parse(c->server, f->server, e) != 0)
		return err_ctx(e, "-S");
	f->named = f->server_known = c->server != NULL;
	memcpy(f->group, c->net->addr, 4);
	f->port = c->net->port_lo;
	f->second = (uint16_t)(f->port + 1);
	f->hops = -1;
	return exam_find_interface(x, e);
}

int
doctor_probe(const struct doctor_config *c, struct doctor_facts *f, struct err *e)
{
	struct exam x = { .net = c->net,
		.f = f,
		.first = -1,
		.second = -1,
		.direct = -1,
		.watch = -1,
		.plain = -1,
		.arp = -1,
		.ping = -1 };

	*f = (struct doctor_facts){ 0 };
	if (set_up(&x, c, e) != 0)
		return -1;
	if (f->link != DOCTOR_LINK_OK)
		return 0;
	uint64_t rpf = watch_rpf_drops(), iface = watch_iface_drops(f->iface),
		 buffer = watch_buffer_drops();
	int rc = begin(&x, c->key, e);
	if (rc == 0)
		rc = examine(&x, e);
	f->rpf_drops = watch_rpf_drops() - rpf;
	f->iface_drops = watch_iface_drops(f->iface) - iface;
	f->buffer_drops = watch_buffer_drops() - buffer;
	if (x.auth != NULL)
		f->other_keys = ignored_reason(auth_ignored(x.auth));
	auth_free(x.auth);
	close_group(&x);
	exam_close_host(&x);
	if (x.direct >= 0)
		close(x.direct);
	if (x.watch >= 0)
		close(x.watch);
	return rc;
}
