/* sock_away.c: a socket outlives the absence of its network.
 *
 * A lease that runs out, an interface that is set down, a firewall that is loaded anew: each
 * makes a send fail, and none is a reason to end a session.  The sending functions ask here
 * what a failure means; outage.c, which the threads of sessions call, decides when to try
 * again.  */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/sock_impl.h"

/* Is it an error that passes?  The kernel has no room, or a host is not there (unicast): the
 * packet is sent again later. */
static bool
is_transient(int os)
{
	return os == EAGAIN || os == ENOBUFS || os == EINTR || os == ECONNREFUSED ||
	       os == EHOSTUNREACH;
}

/* Does the error mean that the network is away?  If the socket's address is gone, the kernel says
 * EINVAL. */
static bool
is_away(const struct sock *s, int os)
{
	struct netif here = s->netif;

	switch (os) {
	case ENETUNREACH:
	case ENETDOWN:
	case EADDRNOTAVAIL:
	case ENODEV:
	case ENXIO:
	case EPERM:  /* a firewall of this machine */
	case EACCES: /* a route that prohibits */
		return true;
	case EINVAL:
		return netif_again(&here) != 0 ||
		       memcmp(here.addr, s->netif.addr, 4) != 0 ||
		       here.index != s->netif.index;
	default:
		return false;
	}
}

bool
sock_forgives(struct sock *s, int os)
{
	s->refused |= os == ECONNREFUSED;
	if (is_transient(os))
		return true;
	if (!is_away(s, os))
		return false;
	if (s->away_os == 0)
		s->away_os = os;
	s->trying = false;
	return true;
}

bool
sock_was_refused(struct sock *s)
{
	bool was = s->refused;

	s->refused = false;
	return was;
}

void
sock_sent(struct sock *s)
{
	s->away_os = 0;
	s->trying = false;
}

bool
sock_holds_back(const struct sock *s)
{
	return s->fd < 0 || (s->away_os != 0 && !s->trying);
}

int
sock_away(const struct sock *s)
{
	return s->away_os;
}

/* Replace a socket that is bound to an address that is gone, or to an interface that has
 * another index now. */
static void
make_anew(struct sock *s)
{
	struct err ignored; /* the next sock_return() tries again */

	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->whole = false; /* the new socket allows fragments */
	if (sock_configure(s, &ignored) == 0)
		return;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void
sock_return(struct sock *s)
{
	struct netif now = s->netif;
	struct err ignored;

	if (netif_again(&now) != 0)
		return; /* the interface has no address yet */
	bool rebind = s->fd < 0 || now.index != s->netif.index ||
	              (memcmp(now.addr, s->netif.addr, 4) != 0 && !s->group);
	if (s->cfg.broadcast && memcmp(&s->dest.sin_addr, s->netif.broadcast, 4) == 0)
		memcpy(&s->dest.sin_addr, now.broadcast, 4);
	s->netif = now;
	if (rebind)
		make_anew(s);
	else if (s->group)
		sock_aim(s, &ignored); /* if this fails, the next send fails, too */
	s->trying = s->fd >= 0;
}
