/* What the examination hears: servers' packets, ECHOs of probes, and who asks for
 * members of the group. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cli.h"
#include "common/base/progress.h"
#include "common/net/wirext.h"
#include "frisbee/doctor_exam.h"
#include "frisbee/doctor_watch.h"

static void
note_server(struct exam *x, const struct heard *h, int ttl)
{
	struct doctor_facts *f = x->f;

	if (!f->server_known)
		memcpy(f->server, h->from, 4);
	f->server_known = true;
	if (h->ttl >= 0 && h->ttl <= ttl)
		f->hops = ttl - h->ttl;
}

/* A server's packet at the first port: a reply, or a block.  Is it one, and sound? */
static bool
is_servers(struct exam *x, const struct heard *h, struct wire_msg *m)
{
	struct err e;

	if (wire_get(m, h->pkt, h->len, &e) != 0 ||
	    (m->subtype != WIRE_BLOCK && m->type != WIRE_REPLY))
		return false;
	if (h->port != x->f->port) {
		x->f->odd_port = h->port;
		return false;
	}
	if (memcmp(m->srcip, h->from, 4) == 0)
		return true;
	x->f->odd_source = true;
	memcpy(x->f->seen, h->from, 4);
	memcpy(x->f->server, m->srcip, 4);
	return false;
}

static void
hear_first(struct exam *x, const struct heard *h)
{
	struct wire_msg m;
	struct wirext_answer a;

	if (!is_servers(x, h, &m))
		return;
	x->f->group_heard++;
	note_server(x, h, DOCTOR_TTL);
	if (m.type == WIRE_REPLY && m.subtype == WIRE_JOIN2 &&
	    m.u.join2.clientid == (x->id & INT32_MAX))
		x->f->replied = x->f->any_file = true;
	if (m.type != WIRE_REPLY || m.subtype != WIRE_JOIN)
		return;
	x->f->replied = true;
	x->f->chunks = m.u.join.blocks / WIRE_CHUNK_BLOCKS;
	if (wirext_get_answer(h->pkt, h->len, &a)) {
		x->f->answers_probes = (a.flags & WIREXT_PROBES) != 0;
		x->f->second = a.port;
	}
}

static void
hear_loss(struct exam *x, const struct probe *p)
{
	struct doctor_loss *l = &x->f->loss;
	unsigned i = p->number - (unsigned)EXAM_NUMBER_LOSS;

	if (i >= DOCTOR_LOSS_PROBES || (x->got[i / 64] >> i % 64 & 1) != 0)
		return;
	x->got[i / 64] |= UINT64_C(1) << i % 64;
	l->got++;
	if (l->sent < i + 1)
		l->sent = i + 1;
	if (l->heard < p->heard)
		l->heard = p->heard;
	if (l->answered < p->by_group)
		l->answered = p->by_group;
}

/* An ECHO for us, through the group or not. */
static void
hear_echo(struct exam *x, const struct heard *h, bool by_group)
{
	struct doctor_facts *f = x->f;
	struct probe p;
	struct err e;

	if (probe_get(&p, h->pkt, h->len, &e) != 0 || !p.echo || p.id != x->id)
		return;
	f->answers_probes = true;
	note_server(x, h, by_group ? DOCTOR_TTL : EXAM_TTL_DIRECT);
	if (by_group)
		f->group_group++;
	else if (p.flags & PROBE_CAME_BY_GROUP)
		f->group_direct++;
	else
		f->direct_direct++;
	if (p.number >= EXAM_NUMBER_LOSS)
		hear_loss(x, &p);
	else if (p.number >= EXAM_NUMBER_LARGE && f->largest < h->ip_bytes)
		f->largest = (uint32_t)h->ip_bytes;
}

static void
hear_others(struct exam *x)
{
	struct wire_msg m;
	struct heard h;

	for (unsigned i = 0; i < x->nothers; i++)
		while (exam_receive(x, x->others[i], &h))
			if (is_servers(x, &h, &m)) {
				snprintf(x->f->other_iface, IF_NAMESIZE, "%s",
				    x->other[i].name);
				note_server(x, &h, DOCTOR_TTL);
			}
}

static void
hear_all(struct exam *x)
{
	struct heard h;

	while (exam_receive(x, x->first, &h))
		hear_first(x, &h);
	while (exam_receive(x, x->second, &h))
		hear_echo(x, &h, true);
	errno = 0;
	while (exam_receive(x, x->direct, &h))
		hear_echo(x, &h, false);
	x->f->refused |= errno == ECONNREFUSED;
	hear_others(x);
	watch_collect(x->watch, x->f);
}

/* Listen for so long, or until *enough. */
int
exam_listen(struct exam *x, uint64_t us, const bool *enough, struct err *e)
{
	uint64_t until = clock_us() + us;

	for (uint64_t now; (now = clock_us()) < until;) {
		struct pollfd fds[] = { { x->first, POLLIN, 0 },
			{ x->second, POLLIN, 0 }, { x->direct, POLLIN, 0 },
			{ x->watch, POLLIN, 0 } };
		if (cli_check_signal(e) != 0)
			return -1;
		hear_all(x);
		if (enough != NULL && *enough)
			return 0;
		uint64_t wait = until - now < 10000 ? until - now : 10000;
		poll(fds, x->nothers != 0 ? 0 : 4, (int)(wait / 1000) + 1);
	}
	hear_all(x);
	return 0;
}
