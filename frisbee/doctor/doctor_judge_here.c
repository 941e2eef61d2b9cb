/* doctor_judge_here.c: the checks of this machine: its interface, its addresses, and
 * its firewall. doctor_judge.c calls this, in the program's only thread. */
#include <string.h>

#include "common/wire/addr.h"
#include "frisbee/doctor/doctor_judge.h"

static void
judge_link(const struct doctor_facts *f, struct doctor_report *r)
{
	char g[ADDR_TEXT_MAX];
	const char *i = f->iface;

	addr_text(f->group, g);
	if (f->link == DOCTOR_LINK_NONE)
		judge_say(r, "interface", DOCTOR_BAD,
		    "this machine has no network interface except the loopback: there "
		    "is no network card, or no driver for it");
	else if (f->link == DOCTOR_LINK_DOWN)
		judge_say(r, "interface", DOCTOR_BAD,
		    "%s is down: switch it on (ip link set %s up)", i, i);
	else if (f->link == DOCTOR_LINK_NO_CARRIER)
		judge_say(r, "interface", DOCTOR_BAD,
		    "%s has no carrier: is the cable in, and the switch's port on?", i);
	else if (f->link == DOCTOR_LINK_NO_ADDRESS)
		judge_say(r, "interface", DOCTOR_BAD,
		    "%s has no IPv4 address: did DHCP fail? (ip addr add ADDRESS/BITS dev "
		    "%s)",
		    i, i);
	else
		judge_say(r, "interface", DOCTOR_BAD,
		    "there is no route to %s: name the interface (-i %s), or add a route "
		    "(ip route add 224.0.0.0/4 dev %s)",
		    g, i, i);
}

void
judge_interface(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], g[ADDR_TEXT_MAX];

	addr_text(f->addr, a);
	addr_text(f->group, g);
	if (f->link != DOCTOR_LINK_OK)
		judge_link(f, r);
	else if (f->other_iface[0] != 0)
		judge_say(r, "interface", DOCTOR_BAD,
		    "the server answers on %s, not on %s: use -i %s, or route the "
		    "group to that interface (ip route replace %s/32 dev %s)",
		    f->other_iface, f->iface, f->other_iface, g, f->other_iface);
	else
		judge_say(r, "interface", DOCTOR_OK, "%s, address %s, MTU %u", f->iface, a,
		    f->mtu);
}

void
judge_sending(const struct doctor_facts *f, struct doctor_report *r)
{
	if (f->refused_out)
		judge_say(r, "sending", DOCTOR_BAD,
		    "a firewall of this machine does not let packets to the group out "
		    "(nft list ruleset; iptables -S OUTPUT): allow UDP ports %u and %u",
		    f->port, f->second);
	else
		judge_say(r, "sending", DOCTOR_OK, "packets to the group leave this machine");
}

void
judge_membership(const struct doctor_facts *f, struct doctor_report *r)
{
	if (!f->watched)
		judge_say(r, "membership", DOCTOR_UNKNOWN,
		    "only root can see whether IGMP reports leave this machine");
	else if (f->reports_out > 0)
		judge_say(r, "membership", DOCTOR_OK,
		    "this machine reports by IGMP that it is a member of the group");
	else if (f->member_before)
		judge_say(r, "membership", DOCTOR_UNKNOWN,
		    "another program of this machine is a member of the group already, "
		    "so there was nothing to report");
	else
		judge_say(r, "membership", DOCTOR_BAD,
		    "no IGMP report leaves this machine, so no switch learns that it "
		    "is a member: a firewall of this machine drops IGMP (nft list "
		    "ruleset; iptables -S OUTPUT): allow IP protocol 2");
}

/* Does another machine have the address of this one, or do two have the server's?  Two cards
 * may be two machines, or one machine with two cards in one network. */
void
judge_address(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], one[ARP_MAC_TEXT_MAX], two[ARP_MAC_TEXT_MAX];

	if (f->own.n > 0)
		judge_say(r, "address", DOCTOR_BAD,
		    "another machine, with the MAC address %s, has the address %s, "
		    "too, so that answers to one machine may reach the other; give one "
		    "of them another address",
		    arp_mac_text(f->own.mac[0], one), addr_text(f->addr, a));
	else if (f->its.n > 1)
		judge_say(r, "address", DOCTOR_BAD,
		    "two machines, with the MAC addresses %s and %s, have the server's "
		    "address, %s: give one of them another address (unless these are "
		    "two cards of one machine in this network)",
		    arp_mac_text(f->its.mac[0], one), arp_mac_text(f->its.mac[1], two),
		    addr_text(f->server, a));
	else if (!f->own.asked)
		judge_say(r, "address", DOCTOR_UNKNOWN,
		    "only root can ask whether two machines have the same address");
	else
		judge_say(r, "address", DOCTOR_OK,
		    "no other machine has the address %s%s", addr_text(f->addr, a),
		    f->its.asked ? ", or that of the server" : "");
}

static unsigned
mask_bits(const uint8_t mask[4])
{
	unsigned n = 0;

	for (unsigned i = 0; i < 32; i++)
		n += mask[i / 8] >> i % 8 & 1;
	return n;
}

/* Is the server in the network of the interface?  If not, packets through the group may still
 * pass, but packets by unicast only where there is a route. */
void
judge_subnet(const struct doctor_facts *f, struct doctor_report *r)
{
	char a[ADDR_TEXT_MAX], s[ADDR_TEXT_MAX];
	bool reached = f->direct_direct + f->direct_group > 0 || f->refused || f->pinged;

	addr_text(f->addr, a);
	addr_text(f->server, s);
	if (!f->server_known || mask_bits(f->mask) == 0)
		judge_say(r, "subnet", DOCTOR_UNKNOWN,
		    "%s/%u is the address of %s; the server's address is not known", a,
		    mask_bits(f->mask), f->iface);
	else if (judge_same_subnet(f))
		judge_say(r, "subnet", DOCTOR_OK,
		    "the server is in the network %s/%u of %s", a, mask_bits(f->mask),
		    f->iface);
	else if (reached || f->hops > 0)
		judge_say(r, "subnet", DOCTOR_OK,
		    "the server is not in the network %s/%u of %s, but packets pass "
		    "between them",
		    a, mask_bits(f->mask), f->iface);
	else if (judge_arrives(f))
		judge_say(r, "subnet", DOCTOR_BAD,
		    "packets of %s arrive, although it is not in the network %s/%u of "
		    "%s: one of the addresses or masks is wrong; loads through the "
		    "group work, but nothing else does",
		    s, a, mask_bits(f->mask), f->iface);
	else
		judge_say(r, "subnet", DOCTOR_UNKNOWN,
		    "%s is not in the network %s/%u of %s: there must be routers on "
		    "the way, or one of the addresses or masks is wrong",
		    s, a, mask_bits(f->mask), f->iface);
}
