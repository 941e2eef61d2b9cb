/* doctor_ask.c: the messages that the examination sends: JOIN, PROBE, and LEAVE for
 * servers that may have counted this client.  The other files of the doctor call
 * this, in the program's only thread. */
#include <string.h>

#include "common/wire/wirext.h"
#include "frisbee/doctor/doctor_exam.h"

/* Sends a JOIN whose WIREXT_PROBES flag tells a new server that this client only asks, so that it
 * is not counted.  For other servers a LEAVE must follow. */
void
exam_send_join(struct exam *x, int fd, const uint8_t from[4], const uint8_t to[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.u.join.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, from, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, WIREXT_AGAIN | WIREXT_PROBES);
	exam_send(x, fd, to, x->f->port, pkt, len);
}

void
exam_send_leave(struct exam *x, int fd, const uint8_t from[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE,
		.u.leave.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, from, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	exam_send(x, fd, x->f->group, x->f->port, pkt, len);
}

void
exam_send_probe(
    struct exam *x, bool to_group, unsigned number, unsigned flags, size_t len)
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
