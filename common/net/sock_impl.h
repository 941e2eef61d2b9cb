/* sock_impl.h: what the opening of a socket (sock.c), sock_send.c and sock_receive.c
 * share. */
#ifndef COMMON_NET_SOCK_IMPL_H
#define COMMON_NET_SOCK_IMPL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/netif.h"
#include "common/net/sock.h"

enum {
	RECEIVE_BATCH = 16,
	RECEIVE_BYTES = 65536, /* UDP_GRO joins datagrams up to this */
};

struct sock {
	int fd;
	struct netif netif;
	struct sockaddr_in dest;
	bool group;
	bool gso;         /* until the kernel refuses it */
	bool whole;       /* what is sent is not to be fragmented */
	bool too_long;    /* ... and something was too long for that */
	uint8_t *buffers; /* RECEIVE_BATCH of RECEIVE_BYTES */
};

/* No room, or a node that is not there (unicast): try again later. */
bool sock_is_transient(int os);

#endif /* COMMON_NET_SOCK_IMPL_H */
