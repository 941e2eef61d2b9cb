/* outage.c: the times at which a session tries its network again, and the sentences about an
 * outage.  The loops of frisbee and frisbeed call this in their own threads. */
#include "common/net/outage.h"

#include <stdio.h>
#include <string.h>

#include "common/net/sock_impl.h"
#include "common/wire/addr.h"

/* Between two tries: a network that comes back is used soon, and the tries cost nothing. */
enum { AGAIN_US = 1000000 };

static enum outage_news
begin(struct outage *o, uint64_t now_us, const struct netif *n, int os, char *text)
{
	char addr[ADDR_TEXT_MAX];

	o->since_us = now_us;
	o->again_us = now_us + AGAIN_US;
	snprintf(text, OUTAGE_TEXT_MAX,
	    "the network is away (%s; interface %s, %s); trying again every second",
	    strerror(os), n->name, addr_text(n->addr, addr));
	return OUTAGE_BEGAN;
}

static enum outage_news
end(struct outage *o, uint64_t now_us, const struct netif *n, char *text)
{
	char addr[ADDR_TEXT_MAX];

	snprintf(text, OUTAGE_TEXT_MAX,
	    "the network is back after %.1f s (interface %s, %s)",
	    (double)(now_us - o->since_us) / 1e6, n->name, addr_text(n->addr, addr));
	*o = (struct outage){ 0 };
	return OUTAGE_ENDED;
}

/* Both sockets share the interface, so what one has found out holds for the other. */
static void
set_both(struct sock *first, struct sock *second, int away_os, bool trying)
{
	struct sock *both[] = { first, second };

	for (unsigned i = 0; i < 2; i++)
		if (both[i] != NULL) {
			both[i]->away_os = away_os;
			both[i]->trying = trying;
		}
}

static enum outage_news
look_for_beginning(struct outage *o, uint64_t now_us, struct sock *first,
    struct sock *second, char *text)
{
	int os = sock_away(first);

	if (os == 0 && second != NULL)
		os = sock_away(second);
	if (os == 0)
		return OUTAGE_NOTHING;
	set_both(first, second, os, false);
	return begin(o, now_us, sock_netif(first), os, text);
}

enum outage_news
outage_mind(struct outage *o, uint64_t now_us, struct sock *first, struct sock *second,
    char text[OUTAGE_TEXT_MAX])
{
	if (o->since_us == 0)
		return look_for_beginning(o, now_us, first, second, text);
	bool both = sock_fd(first) >= 0 && (second == NULL || sock_fd(second) >= 0);
	if (both && (sock_away(first) == 0 || (second != NULL && sock_away(second) == 0))) {
		set_both(first, second, 0, false);
		sock_rejoin(first, second); /* one report tells switches about both sockets */
		return end(o, now_us, sock_netif(first), text);
	}
	if (now_us >= o->again_us) {
		o->again_us = now_us + AGAIN_US;
		sock_return(first);
		if (second != NULL)
			sock_return(second);
	}
	return OUTAGE_NOTHING;
}
