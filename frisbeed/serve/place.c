/* place.c: parses which image goes to which group and port (place.h).  frisbeed/daemon.c calls it
 * for its operands, session.c for a copy of its own, and other servers for single places, in any
 * thread. */
#include "frisbeed/serve/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/net/netif.h"
#include "common/net/netif_speed.h"
#include "common/wire/addr.h"

/* Splits "ADDR:PORT", "ADDR" or ":PORT".  False: the text is none of them. */
static bool
split(const char *s, char addr[16], char port[16])
{
	const char *colon = strchr(s, ':');
	size_t n = colon != NULL ? (size_t)(colon - s) : strlen(s);
	uint8_t ip[4];
	struct err e;

	if (n >= 16 || (colon != NULL && strlen(colon + 1) >= 16))
		return false;
	snprintf(addr, 16, "%.*s", (int)n, s);
	snprintf(port, 16, "%s", colon != NULL ? colon + 1 : "");
	if (n == 0)
		return port[0] >= '0' && port[0] <= '9';
	return addr_parse(addr, ip, &e) == 0;
}

/* Writes into addr the nth address from ADDR on, if `from` is "ADDR+"; else `from` itself. */
static int
count_up(char addr[16], const char *from, unsigned nth, struct err *e)
{
	uint8_t ip[4];
	char first[16];
	size_t n = strlen(from);

	if (n == 0 || n > sizeof first || from[n - 1] != '+')
		return snprintf(addr, 16, "%s", from) < 16
		           ? 0
		           : err_set(
				 e, ERR_USAGE, "-m: \"%s\" is not an address", from);
	snprintf(first, sizeof first, "%.*s", (int)n - 1, from);
	if (addr_parse(first, ip, e) != 0)
		return err_ctx(e, "-m");
	uint64_t at = ((uint64_t)ip[0] << 24 | (uint64_t)ip[1] << 16 |
			  (uint64_t)ip[2] << 8 | ip[3]) +
	              nth;
	for (int i = 0; i < 4; i++)
		ip[i] = (uint8_t)(at >> (24 - 8 * i));
	if (!netif_is_group(ip) || at > UINT32_MAX)
		return err_set(e, ERR_USAGE,
		    "-m %s: not enough multicast groups follow this one", from);
	addr_text(ip, addr);
	return 0;
}

static void
point_to_own(struct place *p)
{
	p->net.addr = p->addr[0] != '\0' ? p->addr : NULL;
	p->net.port = p->port[0] != '\0' ? p->port : NULL;
}

/* Parses one operand.  *counted: the number of images that have used the address of -m so far. */
static int
parse(struct place *p, const char *operand, const struct net_options *common,
    unsigned *counted, struct err *e)
{
	const char *at = strrchr(operand, '@');
	bool own = at != NULL && at > operand && split(at + 1, p->addr, p->port);

	if (!own)
		p->addr[0] = p->port[0] = '\0';
	p->image = own ? strndup(operand, (size_t)(at - operand)) : strdup(operand);
	if (p->image == NULL)
		return err_nomem(e, "the images' names");
	p->net = *common;
	if (p->addr[0] == '\0' && common->addr != NULL) {
		if (count_up(p->addr, common->addr, (*counted)++, e) != 0)
			return -1;
	}
	if (p->port[0] == '\0' && common->port != NULL)
		snprintf(p->port, sizeof p->port, "%s", common->port);
	point_to_own(p);
	return 0;
}

static int
check_apart(const struct place *p, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < i; k++)
			if (p[i].net.addr != NULL && p[i].net.port != NULL &&
			    strcmp(p[i].addr, p[k].addr) == 0 &&
			    strcmp(p[i].port, p[k].port) == 0 &&
			    strcmp(p[i].port, "0") != 0 &&
			    strchr(p[i].port, '-') == NULL)
				return err_set(e, ERR_USAGE,
				    "the images %.100s and %.100s both have %s port %s: "
				    "use -m %s+, or IMAGE@ADDR:PORT",
				    p[k].image, p[i].image, p[i].addr, p[i].port,
				    p[i].addr);
	return 0;
}

int
places_parse(struct place **out, char **operands, unsigned n,
    const struct net_options *common, struct err *e)
{
	struct place *p = calloc(n, sizeof *p);
	unsigned counted = 0;
	int rc = 0;

	if (p == NULL)
		return err_nomem(e, "the images' names");
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = parse(&p[i], operands[i], common, &counted, e);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		struct sock_config ignored;
		rc = net_options_resolve(&p[i].net, &ignored, e);
		if (rc != 0 && n > 1)
			err_ctx(e, "%s", operands[i]);
	}
	if (rc == 0)
		rc = check_apart(p, n, e);
	if (rc != 0)
		places_free(p, n);
	else
		*out = p;
	return rc;
}

static int
copy_short(char to[16], const char *from, struct err *e)
{
	if (snprintf(to, 16, "%s", from != NULL ? from : "") < 16)
		return 0;
	return err_set(e, ERR_USAGE, "\"%s\" is neither an address nor a port", from);
}

int
places_one(
    struct place **out, const char *image, const struct net_options *net, struct err *e)
{
	struct place *p = calloc(1, sizeof *p);
	int rc = -1;

	if (p == NULL)
		return err_nomem(e, "the image's name");
	p->net = *net;
	p->image = strdup(image);
	p->iface = net->iface != NULL ? strdup(net->iface) : NULL;
	p->net.iface = p->iface;
	if (p->image == NULL || (net->iface != NULL && p->iface == NULL))
		err_nomem(e, "the image's name");
	else if (copy_short(p->addr, net->addr, e) == 0 &&
	         copy_short(p->port, net->port, e) == 0)
		rc = 0;
	point_to_own(p);
	if (rc != 0)
		places_free(p, 1);
	else
		*out = p;
	return rc;
}

uint64_t
places_card_bits(const struct place *places, unsigned n)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < n; i++) {
		struct sock_config sc = { 0 };
		struct netif netif;
		struct err e;
		if (net_options_resolve(&places[i].net, &sc, &e) != 0 ||
		    sock_interface(&netif, &sc, &e) != 0)
			continue;
		uint64_t bits = netif_speed(NULL, netif.name);
		most = bits > most ? bits : most;
	}
	return most;
}

void
places_free(struct place *p, unsigned n)
{
	for (unsigned i = 0; p != NULL && i < n; i++) {
		net_options_wipe_key(&p[i].net);
		free(p[i].image);
		free(p[i].iface);
	}
	free(p);
}
