/* doctor_servers.c: which hosts serve the group and port, and how many blocks of a
 * session arrive. doctor_hear.c calls this, in the program's only thread. */
#include <string.h>

#include "common/base/clock.h"
#include "frisbee/doctor/doctor_exam.h"

static struct doctor_server *
server_of(struct doctor_facts *f, const uint8_t addr[4])
{
	for (unsigned i = 0; i < f->nservers; i++)
		if (memcmp(f->servers[i].addr, addr, 4) == 0)
			return &f->servers[i];
	if (f->nservers == DOCTOR_SERVERS)
		return NULL;
	memcpy(f->servers[f->nservers].addr, addr, 4);
	return &f->servers[f->nservers++];
}

static void
note_identity(struct doctor_server *s, const uint8_t identity[WIREXT_IDENTITY_BYTES])
{
	s->has_identity = true;
	memcpy(s->identity, identity, WIREXT_IDENTITY_BYTES);
}

void
exam_note_reply(struct exam *x, const struct heard *h, const struct wire_msg *m)
{
	struct doctor_facts *f = x->f;
	struct doctor_server *s = server_of(f, h->from);
	struct wirext_answer a;
	bool its = exam_is_server(x, h->from);

	if (s == NULL)
		return;
	f->replied |= its;
	if (m->subtype == WIRE_JOIN2) {
		s->any_file = true;
		f->any_file |= its;
		return;
	}
	s->chunks = m->u.join.blocks / WIRE_CHUNK_BLOCKS;
	if (its)
		f->chunks = s->chunks;
	if (!wirext_get_answer(h->pkt, h->len, &a))
		return;
	note_identity(s, a.identity);
	if (its) {
		f->answers_probes = (a.flags & WIREXT_PROBES) != 0;
		f->second = a.port;
	}
}

/* The blocks and parity blocks in a message of a server. */
static uint32_t
blocks_in(const struct wirext_msg *m)
{
	if (m->kind == WIREXT_DATA || m->kind == WIREXT_URGENT_DATA)
		return m->u.data.count;
	return m->kind == WIREXT_PARITY;
}

void
exam_note_state(struct exam *x, const struct heard *h)
{
	struct doctor_server *s;
	struct wirext_msg m;
	struct err ignored;

	if (wirext_get(&m, h->pkt, h->len, &ignored) != 0 ||
	    memcmp(m.srcip, h->from, 4) != 0)
		return;
	if (m.kind != WIREXT_STATE && m.kind != WIREXT_TIME && blocks_in(&m) == 0)
		return;
	if (exam_is_server(x, h->from)) {
		x->f->group_heard++;
		x->f->second_heard = true;
		exam_note_server(x, h, DOCTOR_TTL);
		x->blocks += blocks_in(&m);
	}
	if (m.kind != WIREXT_STATE || (s = server_of(x->f, h->from)) == NULL)
		return;
	note_identity(s, m.u.state.identity);
	s->chunks = m.u.state.chunks;
}

void
exam_note_session(struct exam *x, uint32_t sent)
{
	struct doctor_session *s = &x->f->session;
	uint64_t now = clock_us();

	/* The first ECHO begins the measurement, and so does one of a server that was started
	 * again and counts from 0. */
	if (x->echo_us == 0 || sent - x->sent_then > INT32_MAX) {
		x->echo_us = now;
		x->sent_then = sent;
		x->blocks_then = x->blocks_before;
	}
	s->sent = sent - x->sent_then;
	s->us = now - x->echo_us;
	x->echo_came = true;
}

/* ECHOs come at another socket than most blocks, and this machine may be late to take
 * both, so it is not known which of a turn's blocks came before an ECHO.  Those of the
 * first ECHO's turn and of the last one's count as heard: what was taken late must not
 * seem lost. */
void
exam_note_heard(struct exam *x)
{
	if (x->echo_came)
		x->f->session.heard = x->blocks - x->blocks_then;
	x->echo_came = false;
	x->blocks_before = x->blocks;
}
