/* client_session.c: the session of a server with the extension.  The engine calls
 * this when it has read a message about it, or looks for one to send, in its only
 * thread. */
#include "frisbee/client/client_session.h"

#include <string.h>

enum {
	/* STATE arrives each second.  Without it for this time, two were lost or the
	 * server is gone, so no chunk is assumed to come. */
	DOUBT_US = 1600000,
	/* A server that answers JOIN but has sent no STATE for this time cannot be
	 * heard on the second port; the usual reason is a firewall. */
	LOST_US = 4000000,
	/* If something was heard there before, the port is open and most of it is lost.
	 */
	LOST_OPEN_US = 15000000,
};

void
client_session_begin(struct client_session *s, uint64_t now_us,
    const struct wirext_answer *a, bool parity)
{
	*s = (struct client_session){ .known = true,
		.on = true,
		.parity = parity && (a->flags & WIREXT_CAN_PARITY) != 0,
		.unpaced = (a->flags & WIREXT_UNPACED) != 0,
		.urgent = (a->flags & WIREXT_CAN_URGENT) != 0,
		.port = a->port,
		.session = a->session,
		.clients = a->clients,
		.state_us = now_us };
	memcpy(s->identity, a->identity, sizeof s->identity);
}

void
client_session_forget(struct client_session *s)
{
	*s = (struct client_session){ 0 };
}

void
client_session_close(struct client_session *s)
{
	s->on = false;
	s->closed = true;
}

bool
client_session_adopt(struct client_session *s, uint32_t session)
{
	bool other = s->session != session;

	s->session = session;
	return other;
}

bool
client_session_answered(struct client_session *s, const struct wirext_answer *a)
{
	if (!s->known)
		return false;
	s->answered = true;
	s->urgent = a != NULL && (a->flags & WIREXT_CAN_URGENT) != 0;
	if (a == NULL)
		s->on &=
		    !s->doubting; /* a server without the extension has taken over */
	return a != NULL && a->session != s->session;
}

void
client_session_moved(struct client_session *s, uint64_t now_us, uint16_t port)
{
	s->port = port;
	s->state_us = now_us;
	s->doubting = false;
}

bool
client_session_state(
    struct client_session *s, uint64_t now_us, uint32_t clients, bool idle)
{
	bool still = idle && s->idle;

	s->state_us = now_us;
	s->doubting = false;
	s->clients = clients;
	s->idle = idle;
	return still;
}

void
client_session_busy(struct client_session *s)
{
	s->idle = false;
}

enum session_heard
client_session_listen(struct client_session *s, uint64_t now_us, bool open)
{
	uint64_t silent = now_us - s->state_us;

	if (silent >= (open ? LOST_OPEN_US : LOST_US) && s->answered) {
		s->on = false;
		return SESSION_LOST;
	}
	if (silent < DOUBT_US || s->doubting)
		return SESSION_HEARD;
	s->doubting = true;
	s->answered = false;
	return SESSION_DOUBTED;
}

bool
client_session_asks(const struct client_session *s)
{
	return s->doubting && !s->answered;
}
