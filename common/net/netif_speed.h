/* netif_speed.h: how fast an interface's card is, by what the system says. */
#ifndef COMMON_NET_NETIF_SPEED_H
#define COMMON_NET_NETIF_SPEED_H

#include <stdint.h>

/* The speed of the interface `name` in bits a second; for a bridge, a bond or a VLAN, the speed
 * of the fastest card below it.  0: not known, as for a tunnel, a virtual machine's card, or a
 * container's.  sys: the folder of interfaces; NULL: /sys/class/net. */
uint64_t netif_speed(const char *sys, const char *name);

#endif /* COMMON_NET_NETIF_SPEED_H */
