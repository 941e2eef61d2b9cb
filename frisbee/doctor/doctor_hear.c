/* doctor_hear.c: the packets that the examination hears: packets of servers, ECHOs
 * of probes, and IGMP queries.  All files of the doctor call this, in the program's
 * only thread. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/wire/wirext.h"
#include "frisbee/doctor/doctor_exam.h"
#include "frisbee/doctor/doctor_watch.h"

enum { TURN_US = 10000 }; /* sockets that poll() does not wait for are looked at this often */

bool
exam_is_server(const struct exam *x, const uint8_t addr[4])
{
	return !x->f->server_known || memcmp(x->f->server, addr, 4) == 0;
}

/* Makes the sender of this packet the server, whose packets alone count from now on. */
static void
take_for_server(struct exam *x, const struct heard *h)
{
	struct doctor_facts *f = x->f;

	f->server_known = true;
	memcpy(f->server, h->from, 4);
	for (unsigned i = 0; i < 2; i++)
		f->at[i].seen = f->at[i].took = 0;
	if (exam_is_server(x, f->seen) || exam_is_server(x, f->said))
		return;
	f->odd_port = 0;
	f->odd_source = false;
}

void
exam_note_server(struct exam *x, const struct heard *h, int ttl)
{
	struct doctor_facts *f = x->f;

	if (!f->server_known)
		take_for_server(x, h);
	if (h->ttl >= 0 && h->ttl <= ttl)
		f->hops = ttl - h->ttl;
}

/* Notes that a packet has a wrong port or address as its source, unless it is another server's
 * than the one that is known. */
static void
note_odd(struct exam *x, const struct heard *h, const struct wire_msg *m)
{
	struct doctor_facts *f = x->f;

	if (!exam_is_server(x, h->from) && !exam_is_server(x, m->srcip))
		return;
	memcpy(f->seen, h->from, 4);
	memcpy(f->said, m->srcip, 4);
	if (h->port != f->port)
		f->odd_port = h->port;
	else
		f->odd_source = true;
}

/* Is this packet at the first port a server's, a reply or a block, with the right port and
 * address as its source?  If one of these is wrong, the facts say so afterwards. */
static bool
is_servers(struct exam *x, const struct heard *h, struct wire_msg *m)
{
	struct err e;

	if (wire_get(m, h->pkt, h->len, &e) != 0 ||
	    (m->subtype != WIRE_BLOCK && m->type != WIRE_REPLY))
		return false;
	if (h->port == x->f->port && memcmp(m->srcip, h->from, 4) == 0)
		return true;
	note_odd(x, h, m);
	return false;
}

static bool
is_our_reply(const struct exam *x, const struct wire_msg *m)
{
	return m->type == WIRE_REPLY &&
	       (m->subtype == WIRE_JOIN ||
		   (m->subtype == WIRE_JOIN2 &&
		       m->u.join2.clientid == (x->id & INT32_MAX)));
}

static void
hear_first(struct exam *x, const struct heard *h)
{
	struct wire_msg m;

	if (!is_servers(x, h, &m))
		return;
	if (is_our_reply(x, &m))
		exam_note_reply(x, h, &m);
	if (!exam_is_server(x, h->from))
		return;
	x->f->group_heard++;
	x->f->first_heard = true;
	exam_note_server(x, h, DOCTOR_TTL);
	x->blocks += m.subtype == WIRE_BLOCK;
}

/* Notes an ECHO to a probe of this examination, which came through the group or directly. */
static void
hear_echo(struct exam *x, const struct heard *h, bool by_group)
{
	struct doctor_facts *f = x->f;
	struct probe p;
	struct err e;

	if (probe_get(&p, h->pkt, h->len, &e) != 0 || !p.echo || p.id != x->id ||
	    !exam_is_server(x, h->from))
		return;
	/* Several sessions of a host may have the same second port, so the ECHO may come from a
	 * session of another group or port. */
	if (memcmp(p.group, f->group, 4) != 0 || p.port != f->port) {
		memcpy(f->other_group, p.group, 4);
		f->other_port = p.port;
		return;
	}
	f->answers_probes = true;
	f->mute |= (p.flags & PROBE_MUTE) != 0;
	exam_note_session(x, p.blocks);
	exam_note_server(x, h, by_group ? DOCTOR_TTL : EXAM_TTL_DIRECT);
	if (by_group && (p.flags & PROBE_CAME_BY_GROUP))
		f->group_group++;
	else if (by_group)
		f->direct_group++;
	else if (p.flags & PROBE_CAME_BY_GROUP)
		f->group_direct++;
	else
		f->direct_direct++;
	if (p.number >= EXAM_NUMBER_LOSS)
		exam_count_loss(x, &p);
	else if (p.number >= EXAM_NUMBER_LARGE && f->largest < h->ip_bytes)
		f->largest = (uint32_t)h->ip_bytes;
}

static void
hear_second(struct exam *x, const struct heard *h)
{
	if (probe_is(h->pkt, h->len))
		hear_echo(x, h, true);
	else
		exam_note_state(x, h);
}

/* Notes a reply at the first port that did not come through the group. */
static void
hear_plain(struct exam *x, const struct heard *h)
{
	struct doctor_facts *f = x->f;
	struct wire_msg m;

	if (!is_servers(x, h, &m) || !is_our_reply(x, &m))
		return;
	exam_note_server(x, h, EXAM_TTL_DIRECT);
	if (memcmp(h->to, f->addr, 4) == 0) {
		f->by_unicast = true;
		memcpy(f->server, h->from, 4);
	} else if (!netif_is_group(h->to)) {
		f->by_broadcast = true;
		memcpy(f->server, h->from, 4);
		memcpy(f->broadcast, h->to, 4);
	}
}

/* Notes a packet that came to the group on another interface. */
static void
hear_other(struct exam *x, const struct netif *other, const struct heard *h)
{
	struct wire_msg m;

	if (!is_servers(x, h, &m))
		return;
	snprintf(x->f->other_iface, IF_NAMESIZE, "%s", other->name);
	exam_note_server(x, h, DOCTOR_TTL);
}

static void
hear_others(struct exam *x)
{
	struct heard h;
	unsigned left;

	for (unsigned i = 0; i < x->nothers; i++)
		for (left = EXAM_TURN_PACKETS; exam_receive(x, x->others[i], &h, &left);)
			hear_other(x, &x->other[i], &h);
	for (left = EXAM_TURN_PACKETS; exam_receive(x, x->plain, &h, &left);)
		hear_plain(x, &h);
	x->f->pinged |= x->plain >= 0 && errno == ECONNREFUSED;
}

static void
hear_blocks(struct exam *x)
{
	struct heard h;

	for (unsigned left = EXAM_TURN_PACKETS; exam_receive(x, x->first, &h, &left);)
		hear_first(x, &h);
}

/* Takes errors that came for what was sent: while there is one, poll() does not wait. */
static void
hear_errors(struct exam *x)
{
	const int fds[] = { x->first, x->second, x->direct, x->plain };

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		for (int why; (why = exam_error(fds[i])) != 0;) {
			x->f->refused |= fds[i] == x->direct && why == ECONNREFUSED;
			x->f->unreachable |= fds[i] == x->direct && why == EHOSTUNREACH;
			x->f->pinged |= fds[i] == x->plain && why == ECONNREFUSED;
		}
}

/* Takes what has come, from each socket as much as one turn may.  Blocks that have
 * come before an ECHO are taken in the same turn. */
static void
hear_all(struct exam *x)
{
	struct heard h;
	unsigned left;

	hear_blocks(x);
	for (left = EXAM_TURN_PACKETS; exam_receive(x, x->second, &h, &left);)
		hear_second(x, &h);
	errno = 0;
	for (left = EXAM_TURN_PACKETS; exam_receive(x, x->direct, &h, &left);)
		hear_echo(x, &h, false);
	x->f->refused |= errno == ECONNREFUSED;
	x->f->unreachable |= errno == EHOSTUNREACH;
	if (x->echo_came)
		hear_blocks(x);
	exam_note_heard(x);
	hear_others(x);
	exam_hear_host(x);
	watch_collect(x->watch, x->f);
	hear_errors(x);
}

int
exam_listen(struct exam *x, uint64_t us, const bool *enough, struct err *e)
{
	uint64_t until = clock_us() + us;

	for (uint64_t now; (now = clock_us()) < until;) {
		struct pollfd fds[] = { { x->first, POLLIN, 0 },
			{ x->second, POLLIN, 0 }, { x->direct, POLLIN, 0 },
			{ x->watch, POLLIN, 0 } };
		if (cancel_check(e) != 0)
			return -1;
		hear_all(x);
		if (enough != NULL && *enough)
			return 0;
		uint64_t wait = until - now < TURN_US ? until - now : TURN_US;
		struct timespec ts = { 0, (long)(wait * 1000) };
		ppoll(fds, sizeof fds / sizeof fds[0], &ts, NULL);
	}
	hear_all(x);
	return 0;
}
