/* doctor_others.c: if no packet arrived through the group, finds out whether a
 * server answers on another interface, by unicast (--unicast) or by broadcast.
 * doctor_probe.c calls this, in the program's only thread. */
#include <ifaddrs.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/zero.h"
#include "frisbee/doctor/doctor_exam.h"

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

void
exam_close_others(struct exam *x)
{
	for (unsigned i = 0; i < x->nothers; i++)
		close(x->others[i]);
	if (x->plain >= 0)
		close(x->plain);
	x->plain = -1;
	x->nothers = 0;
}

static void
ask_otherwise(struct exam *x)
{
	struct doctor_facts *f = x->f;

	if (f->server_known)
		exam_send_join(x, x->plain, f->addr, f->server);
	if (!is_zero(x->netif.broadcast, 4))
		exam_send_join(x, x->plain, f->addr, x->netif.broadcast);
}

/* Several rounds are needed: the first answer may come before the switch knows that this
 * machine is a member. */
int
exam_try_others(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;
	struct err ignored;
	bool found = false;

	open_others(x);
	x->plain = exam_open_plain(x, &ignored);
	for (int round = 0; round < EXAM_JOINS && !found; round++) {
		for (unsigned i = 0; i < x->nothers; i++)
			exam_send_join(x, x->others[i], x->other[i].addr, f->group);
		ask_otherwise(x);
		if (exam_listen(x, EXAM_REPLY_US, NULL, e) != 0)
			return -1;
		found = f->other_iface[0] != 0 || f->by_unicast || f->by_broadcast;
	}
	for (unsigned i = 0; i < x->nothers; i++)
		exam_send_leave(x, x->others[i], x->other[i].addr);
	return 0;
}
