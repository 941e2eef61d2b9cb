/* netif_card.h: what the system says about an interface's card and its driver. */
#ifndef COMMON_NET_NETIF_CARD_H
#define COMMON_NET_NETIF_CARD_H

#include <stdbool.h>
#include <stdint.h>

enum { NETIF_CARD_TEXT = 32, NETIF_CARD_OFFLOADS = 8 };

/* Texts are empty, and numbers 0, where the system says nothing. */
struct netif_card {
	char driver[NETIF_CARD_TEXT], driver_version[NETIF_CARD_TEXT];
	char firmware[NETIF_CARD_TEXT], bus[NETIF_CARD_TEXT];
	char vendor[NETIF_CARD_TEXT], device[NETIF_CARD_TEXT]; /* of PCI, such as "0x8086" */
	char duplex[NETIF_CARD_TEXT];                          /* "full", "half" */
	char mac[NETIF_CARD_TEXT];                             /* "52:54:00:00:00:0a" */
	uint32_t mtu_bytes;
	/* Descriptors of the rings, now and at most. */
	uint32_t rx_ring, rx_ring_max, tx_ring, tx_ring_max;
	bool pause_known, pause_rx, pause_tx; /* Ethernet's flow control */
	struct netif_offload {
		const char *name; /* static, as ethtool(8) calls it */
		bool on;
	} offloads[NETIF_CARD_OFFLOADS]; /* the known ones */
	unsigned noffloads;
};

/* Fills in what is known of the interface `name`, by ethtool's requests and by sysfs.  sys: the
 * folder of interfaces; NULL: /sys/class/net.  An interface that does not exist has no facts. */
void netif_card(struct netif_card *, const char *sys, const char *name);

#endif /* COMMON_NET_NETIF_CARD_H */
