/* netif_card.c: asks the system about an interface's card: ethtool's requests for the driver,
 * rings, flow control and offloads, files of sysfs for the rest.  The doctor calls it for its
 * report, in the program's only thread. */
#include "common/net/netif_card.h"

#include <assert.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_BYTES = 160 };

/* An interface that is being asked, and a socket to ask with. */
struct asked {
	int fd;
	const char *name;
};

/* Sends one of ethtool's requests, which begins with its number; the answer replaces it. */
static bool
ask(const struct asked *a, void *request)
{
	struct ifreq r = { .ifr_data = request };

	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", a->name);
	return ioctl(a->fd, SIOCETHTOOL, &r) == 0;
}

/* The first line of a file below the interface's folder; empty when it cannot be read. */
static void
read_line(char out[NETIF_CARD_TEXT], const char *sys, const char *name, const char *file)
{
	char path[PATH_BYTES];

	out[0] = '\0';
	snprintf(path, sizeof path, "%s/%s/%s", sys, name, file);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return;
	if (fgets(out, NETIF_CARD_TEXT, f) == NULL)
		out[0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

static void
find_driver(struct netif_card *c, const struct asked *a)
{
	struct ethtool_drvinfo d = { .cmd = ETHTOOL_GDRVINFO };

	if (!ask(a, &d))
		return;
	snprintf(c->driver, sizeof c->driver, "%s", d.driver);
	snprintf(c->driver_version, sizeof c->driver_version, "%s", d.version);
	snprintf(c->firmware, sizeof c->firmware, "%s", d.fw_version);
	snprintf(c->bus, sizeof c->bus, "%s", d.bus_info);
}

static void
find_rings(struct netif_card *c, const struct asked *a)
{
	struct ethtool_ringparam r = { .cmd = ETHTOOL_GRINGPARAM };

	if (!ask(a, &r))
		return;
	c->rx_ring = r.rx_pending;
	c->rx_ring_max = r.rx_max_pending;
	c->tx_ring = r.tx_pending;
	c->tx_ring_max = r.tx_max_pending;
}

static void
find_pause(struct netif_card *c, const struct asked *a)
{
	struct ethtool_pauseparam p = { .cmd = ETHTOOL_GPAUSEPARAM };

	if (!ask(a, &p))
		return;
	c->pause_known = true;
	c->pause_rx = p.rx_pause != 0;
	c->pause_tx = p.tx_pause != 0;
}

static void
find_offloads(struct netif_card *c, const struct asked *a)
{
	static const struct {
		const char *name;
		uint32_t cmd;
	} kinds[] = {
		{ "rx-checksumming", ETHTOOL_GRXCSUM },
		{ "tx-checksumming", ETHTOOL_GTXCSUM },
		{ "scatter-gather", ETHTOOL_GSG },
		{ "tcp-segmentation-offload", ETHTOOL_GTSO },
		{ "generic-segmentation-offload", ETHTOOL_GGSO },
		{ "generic-receive-offload", ETHTOOL_GGRO },
	};
	static_assert(sizeof kinds / sizeof kinds[0] <= NETIF_CARD_OFFLOADS, "room for all");

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct ethtool_value v = { .cmd = kinds[i].cmd };
		if (ask(a, &v))
			c->offloads[c->noffloads++] =
			    (struct netif_offload){ kinds[i].name, v.data != 0 };
	}
}

void
netif_card(struct netif_card *c, const char *sys, const char *name)
{
	struct asked a = { .name = name };
	char mtu[NETIF_CARD_TEXT];

	*c = (struct netif_card){ 0 };
	if (sys == NULL)
		sys = "/sys/class/net";
	read_line(c->vendor, sys, name, "device/vendor");
	read_line(c->device, sys, name, "device/device");
	read_line(c->duplex, sys, name, "duplex");
	read_line(c->mac, sys, name, "address");
	read_line(mtu, sys, name, "mtu");
	c->mtu_bytes = (uint32_t)strtoul(mtu, NULL, 10);
	a.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (a.fd < 0)
		return;
	find_driver(c, &a);
	find_rings(c, &a);
	find_pause(c, &a);
	find_offloads(c, &a);
	close(a.fd);
}
