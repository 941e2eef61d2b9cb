/* doctor_host.c: the machines behind the addresses: whether the server's machine is
 * up (ICMP echo), and which machines answer ARP requests for the server's address or
 * that of this machine. doctor_probe.c and doctor_hear.c call this, in the program's
 * only thread. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/zero.h"
#include "common/net/ping.h"
#include "frisbee/doctor/doctor_exam.h"

enum {
	/* One packet may be lost, and a machine in the same building answers within
	 * milliseconds. */
	PINGS = 3,
	PING_US = 400000,
	/* The system gives up looking for a neighbour's card after three seconds. */
	UNREACHABLE_US = 3300000,
	PACKET_MAX = 256, /* of ARP and ICMP; longer packets are cut off */
};

/* Is this a card of this machine?  A card may answer ARP requests for another card's address. */
static bool
is_own_card(const uint8_t mac[ARP_MAC_BYTES])
{
	struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		const struct sockaddr_ll *ll = (const void *)i->ifa_addr;
		found |= ll != NULL && ll->sll_family == AF_PACKET &&
		         ll->sll_halen == ARP_MAC_BYTES &&
		         memcmp(ll->sll_addr, mac, ARP_MAC_BYTES) == 0;
	}
	freeifaddrs(list);
	return found;
}

static int
open_arp(struct exam *x)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ARP),
		.sll_ifindex = (int)x->netif.index };
	socklen_t len = sizeof at;
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
	    at.sll_hatype == 1 && at.sll_halen == ARP_MAC_BYTES) {
		memcpy(x->mac, at.sll_addr, ARP_MAC_BYTES);
		return fd;
	}
	close(fd);
	return -1;
}

void
exam_open_host(struct exam *x)
{
	x->arp = open_arp(x);
	x->ping = socket(
	    AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	x->ping_whole = x->ping < 0;
	if (x->ping_whole)
		x->ping = socket(
		    AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
}

void
exam_close_host(struct exam *x)
{
	if (x->arp >= 0)
		close(x->arp);
	if (x->ping >= 0)
		close(x->ping);
	x->arp = x->ping = -1;
}

static void
ask_arp(struct exam *x, const uint8_t addr[4], struct doctor_arp *a)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ARP),
		.sll_ifindex = (int)x->netif.index,
		.sll_halen = ARP_MAC_BYTES };
	uint8_t pkt[ARP_BYTES];

	memset(to.sll_addr, 0xff, ARP_MAC_BYTES);
	arp_put_probe(pkt, x->mac, addr);
	a->asked |= sendto(x->arp, pkt, sizeof pkt, 0, (struct sockaddr *)&to,
			sizeof to) == (ssize_t)sizeof pkt;
}

/* Is the server a neighbour, as far as the mask tells? */
static bool
is_on_link(const struct doctor_facts *f)
{
	if (is_zero(f->mask, 4))
		return false;
	for (unsigned i = 0; i < 4; i++)
		if ((f->server[i] & f->mask[i]) != (f->addr[i] & f->mask[i]))
			return false;
	return f->server_known;
}

void
exam_ask_addresses(struct exam *x)
{
	if (x->arp < 0)
		return;
	ask_arp(x, x->f->addr, &x->f->own);
	if (is_on_link(x->f) && memcmp(x->f->server, x->f->addr, 4) != 0)
		ask_arp(x, x->f->server, &x->f->its);
}

static void
note_card(struct doctor_arp *a, const uint8_t mac[ARP_MAC_BYTES])
{
	for (unsigned i = 0; i < a->n; i++)
		if (memcmp(a->mac[i], mac, ARP_MAC_BYTES) == 0)
			return;
	if (a->asked && a->n < 2 && !is_own_card(mac))
		memcpy(a->mac[a->n++], mac, ARP_MAC_BYTES);
}

static void
hear_arp(struct exam *x)
{
	uint8_t pkt[PACKET_MAX], mac[ARP_MAC_BYTES], addr[4];
	struct doctor_facts *f = x->f;

	for (unsigned i = 0; i < EXAM_TURN_PACKETS; i++) {
		ssize_t n = recv(x->arp, pkt, sizeof pkt, MSG_DONTWAIT);
		if (n < 0)
			return;
		if (!arp_get_reply(pkt, (size_t)n, mac, addr))
			continue;
		if (memcmp(addr, f->addr, 4) == 0)
			note_card(&f->own, mac);
		else if (f->server_known && memcmp(addr, f->server, 4) == 0)
			note_card(&f->its, mac);
	}
}

static void
hear_pings(struct exam *x)
{
	struct doctor_facts *f = x->f;
	uint8_t pkt[PACKET_MAX];
	struct sockaddr_in from;

	for (unsigned i = 0; i < EXAM_TURN_PACKETS; i++) {
		socklen_t len = sizeof from;
		ssize_t n = recvfrom(x->ping, pkt, sizeof pkt, MSG_DONTWAIT,
		    (struct sockaddr *)&from, &len);
		if (n < 0)
			return;
		f->pinged |=
		    memcmp(&from.sin_addr, f->server, 4) == 0 &&
		    ping_is_reply(pkt, (size_t)n, x->ping_whole, (uint16_t)x->id);
	}
}

void
exam_hear_host(struct exam *x)
{
	if (x->arp >= 0)
		hear_arp(x);
	if (x->ping >= 0)
		hear_pings(x);
}

int
exam_host(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;
	struct sockaddr_in to = { .sin_family = AF_INET };
	uint8_t pkt[PING_BYTES];

	memcpy(&to.sin_addr, f->server, 4);
	for (uint16_t i = 0; i < PINGS && !f->pinged && !f->unreachable; i++) {
		ping_put(pkt, (uint16_t)x->id, i);
		if (x->ping >= 0)
			(void)sendto(x->ping, pkt, sizeof pkt, 0,
			    (struct sockaddr *)&to, sizeof to);
		exam_ask_addresses(x);
		if (exam_listen(x, PING_US, &f->pinged, e) != 0)
			return -1;
	}
	/* Where ARP requests were allowed, their answers have told whether the machine is there.
	 * Otherwise the system looks for the machine when it sends a packet there. */
	if (f->pinged || f->refused || f->its.asked)
		return 0;
	exam_send_probe(x, false, 0, PROBE_DIRECT, PROBE_BYTES_MIN);
	return exam_listen(x, UNREACHABLE_US, &f->unreachable, e);
}
