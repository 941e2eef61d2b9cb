/* doctor_link.c: the interface that is examined, and whether it can send at all.
 * doctor_probe.c calls this first, in the program's only thread. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frisbee/doctor/doctor_exam.h"

/* The flags of an interface, which need not have an address.  False: there is no such
 * interface. */
static bool
flags_of(const char *iface, short *flags)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
	int rc = ioctl(fd, SIOCGIFFLAGS, &r);
	close(fd);
	*flags = r.ifr_flags;
	return rc == 0;
}

/* The state of an interface with these flags, with or without an address. */
static enum doctor_link
state_of(short flags, bool has_address)
{
	if (!(flags & IFF_UP))
		return DOCTOR_LINK_DOWN;
	if (!(flags & IFF_RUNNING))
		return DOCTOR_LINK_NO_CARRIER;
	return has_address ? DOCTOR_LINK_OK : DOCTOR_LINK_NO_ADDRESS;
}

/* There is no route to the group: takes the interface that lacks the least for the one that was
 * meant. */
static void
guess(struct exam *x)
{
	struct doctor_facts *f = x->f;
	struct if_nameindex *all = if_nameindex();
	struct netif n;
	struct err ignored;
	short flags;

	f->link = DOCTOR_LINK_NONE;
	for (struct if_nameindex *i = all; i != NULL && i->if_name != NULL; i++) {
		if (!flags_of(i->if_name, &flags) || (flags & IFF_LOOPBACK))
			continue;
		enum doctor_link l =
		    state_of(flags, netif_find(&n, i->if_name, &ignored) == 0);
		if (l == DOCTOR_LINK_OK)
			l = DOCTOR_LINK_NO_ROUTE;
		if (l >= f->link)
			continue;
		f->link = l;
		snprintf(f->iface, sizeof f->iface, "%s", i->if_name);
	}
	if_freenameindex(all);
}

static void
find_mask(struct exam *x)
{
	struct ifaddrs *list = NULL;

	if (getifaddrs(&list) != 0)
		return;
	for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		const struct sockaddr_in *a = (const void *)i->ifa_addr,
					 *m = (const void *)i->ifa_netmask;
		if (a != NULL && a->sin_family == AF_INET && m != NULL &&
		    strcmp(i->ifa_name, x->netif.name) == 0 &&
		    memcmp(&a->sin_addr, x->netif.addr, 4) == 0)
			memcpy(x->f->mask, &m->sin_addr, 4);
	}
	freeifaddrs(list);
}

int
exam_find_interface(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;
	const char *spec = x->net->iface;
	short flags = 0;

	int rc = spec != NULL ? netif_find(&x->netif, spec, e)
	                      : netif_of_route(&x->netif, x->net->addr, e);
	if (rc != 0 && spec == NULL) {
		guess(x);
		return 0;
	}
	if (rc != 0 && !flags_of(spec, &flags))
		return -1;
	snprintf(f->iface, sizeof f->iface, "%s", rc != 0 ? spec : x->netif.name);
	if (rc == 0 && !flags_of(f->iface, &flags))
		return err_os(e, "%s", f->iface);
	f->link = state_of(flags, rc == 0);
	if (rc != 0)
		return 0;
	memcpy(f->addr, x->netif.addr, 4);
	f->mtu = netif_mtu(&x->netif);
	find_mask(x);
	return 0;
}
