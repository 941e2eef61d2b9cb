/* Finding the facts out, in a few seconds: ask for the server's answer, probe with
 * small, large and many packets, try the other interfaces, leave the group and listen
 * who asks. */
#include <ifaddrs.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/wirext.h"
#include "frisbee/doctor_exam.h"
#include "frisbee/doctor_watch.h"

enum {
	REPLY_US = 500000, /* a JOIN is given so long */
	JOINS = 4,
	ECHO_US = 700000,    /* probes are given so long at the end */
	QUERY_US = 2000000,  /* who is asked whether there are other members */
	REPORT_US = 1200000, /* a report is said twice in this time */
	SPACE_US = 20000,    /* between probes */
	TRIES = 4,
};

static const uint16_t sizes[] = { 1056, 972, 548 }; /* MTU 1084, 1000, 576 */

/* A JOIN that new servers do not count, and others let LEAVE follow. */
static void
send_join(struct exam *x, int fd, const uint8_t addr[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.u.join.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, addr, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, WIREXT_AGAIN | WIREXT_PROBES);
	exam_send(x, fd, x->f->group, x->f->port, pkt, len);
}

static void
send_leave(struct exam *x, int fd, const uint8_t addr[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE,
		.u.leave.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, addr, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	exam_send(x, fd, x->f->group, x->f->port, pkt, len);
}

static void
send_probe(struct exam *x, bool to_group, unsigned number, unsigned flags, size_t len)
{
	struct probe p = {
		.id = x->id, .number = (uint16_t)number, .flags = (uint16_t)flags
	};
	uint8_t pkt[PROBE_BYTES_MAX];

	memcpy(p.srcip, x->netif.addr, 4);
	probe_put(&p, pkt, len);
	exam_send(x, to_group ? x->second : x->direct,
	    to_group ? x->f->group : x->f->server, x->f->second, pkt, len);
}

static int
ask_for_answer(struct exam *x, struct err *e)
{
	for (int i = 0; i < JOINS && !x->f->replied; i++) {
		send_join(x, x->first, x->netif.addr);
		if (exam_listen(x, REPLY_US, &x->f->replied, e) != 0)
			return -1;
	}
	if (!x->f->answers_probes)
		send_leave(x, x->first, x->netif.addr);
	return 0;
}

static int
probe_small(struct exam *x, struct err *e)
{
	for (unsigned i = 0; i < TRIES; i++) {
		send_probe(x, true, i, PROBE_GROUP | PROBE_DIRECT, PROBE_BYTES_MIN);
		if (x->f->server_known)
			send_probe(x, false, i, PROBE_DIRECT, PROBE_BYTES_MIN);
		if (exam_listen(x, ECHO_US / TRIES, NULL, e) != 0)
			return -1;
	}
	return exam_listen(x, ECHO_US / 2, NULL, e);
}

static int
probe_large(struct exam *x, struct err *e)
{
	bool group = x->f->group_group > 0;

	for (unsigned i = 0; i < TRIES * sizeof sizes / sizeof sizes[0]; i++) {
		send_probe(x, group || x->f->direct_direct == 0, EXAM_NUMBER_LARGE + i,
		    group ? PROBE_GROUP : PROBE_DIRECT, sizes[i / TRIES]);
		x->f->large_sent++;
		if (exam_listen(x, 2 * SPACE_US, NULL, e) != 0)
			return -1;
	}
	return exam_listen(x, ECHO_US / 2, NULL, e);
}

static int
probe_loss(struct exam *x, struct err *e)
{
	x->id++; /* the server counts each one's from the beginning */
	for (unsigned i = 0; i < DOCTOR_LOSS_PROBES; i++) {
		send_probe(x, true, EXAM_NUMBER_LOSS + i, PROBE_GROUP, PROBE_BYTES_MIN);
		if (exam_listen(x, SPACE_US, NULL, e) != 0)
			return -1;
	}
	return exam_listen(x, ECHO_US / 2, NULL, e);
}

static void
open_others(struct exam *x)
{
	struct ifaddrs *list = NULL;
	struct netif n;
	struct err ignored;

	if (getifaddrs(&list) != 0)
		return;
	for (struct ifaddrs *i = list; i != NULL && x->nothers < EXAM_OTHERS;
	     i = i->ifa_next) {
		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET ||
		    !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK) ||
		    strcmp(i->ifa_name, x->netif.name) == 0 ||
		    netif_find(&n, i->ifa_name, &ignored) != 0)
			continue;
		int fd = exam_open_group(x, &n, x->f->port, &ignored);
		if (fd < 0)
			continue;
		x->other[x->nothers] = n;
		x->others[x->nothers++] = fd;
	}
	freeifaddrs(list);
}

/* Does it answer elsewhere?  The first answer may come before the switch knows us. */
static int
try_others(struct exam *x, struct err *e)
{
	bool found = false;

	open_others(x);
	for (int round = 0; round < JOINS && x->nothers != 0 && !found; round++) {
		for (unsigned i = 0; i < x->nothers; i++)
			send_join(x, x->others[i], x->other[i].addr);
		if (exam_listen(x, REPLY_US, NULL, e) != 0)
			return -1;
		found = x->f->other_iface[0] != 0;
	}
	for (unsigned i = 0; i < x->nothers; i++)
		send_leave(x, x->others[i], x->other[i].addr);
	return 0;
}

static void
close_group(struct exam *x)
{
	if (x->first >= 0)
		close(x->first);
	if (x->second >= 0)
		close(x->second);
	for (unsigned i = 0; i < x->nothers; i++)
		close(x->others[i]);
	x->first = x->second = -1;
	x->nothers = 0;
}

static int
open_second(struct exam *x, struct err *e)
{
	x->second = exam_open_group(x, &x->netif, x->f->second, e);
	if (x->second >= 0)
		x->direct = exam_open_at(
		    x->netif.addr, x->f->second, EXAM_TTL_DIRECT, e);
	return x->direct >= 0 ? 0 : -1;
}

static int
examine(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (ask_for_answer(x, e) != 0 || open_second(x, e) != 0 ||
	    probe_small(x, e) != 0)
		return -1;
	bool echoes = f->group_group + f->group_direct + f->direct_direct > 0;
	if (echoes && probe_large(x, e) != 0)
		return -1;
	if (f->group_group > 0 && probe_loss(x, e) != 0)
		return -1;
	if (f->group_heard == 0 && f->group_group == 0 && try_others(x, e) != 0)
		return -1;
	if (!f->watched)
		return 0;
	if (f->reports_out == 0 && exam_listen(x, REPORT_US, NULL, e) != 0)
		return -1;
	/* Whoever asks for members does it at once when one leaves. */
	close_group(x);
	return exam_listen(x, QUERY_US, &f->query, e);
}

static int
begin(struct exam *x, const struct doctor_config *c, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (c->net->iface != NULL ? netif_find(&x->netif, c->net->iface, e) != 0
				  : netif_of_route(&x->netif, c->net->addr, e) != 0)
		return -1;
	if (c->server != NULL && netif_parse(c->server, f->server, e) != 0)
		return err_ctx(e, "-S");
	f->server_known = c->server != NULL;
	memcpy(f->addr, x->netif.addr, 4);
	memcpy(f->group, c->net->addr, 4);
	memcpy(f->iface, x->netif.name, sizeof f->iface);
	f->port = c->net->port_lo;
	f->second = (uint16_t)(f->port + 1);
	f->mtu = exam_mtu(f->iface);
	f->hops = -1;
	f->member_before = watch_is_member(f->iface, f->group);
	if (getrandom(&x->id, sizeof x->id, 0) != sizeof x->id)
		return err_os(e, "no random numbers");
	if (sock_new_auth_at(&x->auth, f->group, f->port, false, c->key, e) != 0)
		return -1;
	f->authenticated = c->key != NULL;
	x->watch = watch_open(x->netif.index, f->group);
	f->watched = x->watch >= 0;
	x->first = exam_open_group(x, &x->netif, f->port, e);
	return x->first >= 0 ? 0 : -1;
}

int
doctor_probe(const struct doctor_config *c, struct doctor_facts *f, struct err *e)
{
	struct exam x = { .net = c->net,
		.f = f,
		.first = -1,
		.second = -1,
		.direct = -1,
		.watch = -1 };
	uint64_t dropped = watch_rpf_drops();

	*f = (struct doctor_facts){ 0 };
	int rc = begin(&x, c, e);
	if (rc == 0)
		rc = examine(&x, e);
	f->rpf_drops = watch_rpf_drops() - dropped;
	if (x.auth != NULL)
		f->other_keys = ignored_reason(auth_ignored(x.auth));
	auth_free(x.auth);
	close_group(&x);
	if (x.direct >= 0)
		close(x.direct);
	if (x.watch >= 0)
		close(x.watch);
	return rc;
}
