/* sock_impl.h: what sock.c, sock_send.c, sock_receive.c, sock_auth.c, sock_away.c and outage.c
 * share; for them only. */
#ifndef COMMON_NET_SOCK_IMPL_H
#define COMMON_NET_SOCK_IMPL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/net/netif.h"
#include "common/net/sock.h"
#include "common/wire/wire.h"

enum {
	RECEIVE_BATCH = 16,
	RECEIVE_BYTES = 65536, /* UDP_GRO joins datagrams up to this size */
};

struct sock {
	int fd;
	struct sock_config cfg; /* as it was opened, but with the port that it got */
	struct netif netif;
	struct sockaddr_in dest; /* what is sent to */
	bool group;       /* dest is a multicast group, and the socket is a member */
	bool gso;         /* the kernel cuts datagrams apart, until it refuses to */
	bool whole;       /* packets are not to be fragmented (IP_MTU_DISCOVER) */
	bool too_long;    /* a packet was too long to be sent whole */
	bool refused;     /* the other side's port was closed */
	int away_os;      /* why the network is away; 0: it is there */
	bool trying;      /* while the network is away: the next send is to be tried */
	uint8_t *buffers; /* RECEIVE_BATCH of RECEIVE_BYTES */
	struct auth *auth; /* NULL: none; borrowed */
	enum auth_port auth_port;
	/* The last packet that a client wanted to send before it was welcomed. */
	uint8_t held[WIRE_PACKET_MAX];
	size_t held_bytes; /* 0: nothing */
};

/* Make the socket, bind it and join the group on s->netif, as s->cfg says. */
int sock_configure(struct sock *, struct err *);
/* Send to the group by s->netif, from its address. */
int sock_aim(struct sock *, struct err *);
/* Is the error `os` of a send or receive one that passes?  If the error means that the network is
 * away, that is noted. */
bool sock_forgives(struct sock *, int os);
/* To be called after a send that did not fail. */
void sock_sent(struct sock *);
/* True: the network is away, or the socket could not be replaced, and sends need not be tried
 * before the next sock_return(). */
bool sock_holds_back(const struct sock *);

/* sock_send.c: send one packet as it is.  Returns what sock_send() does. */
int sock_send_raw(struct sock *, const void *pkt, size_t len, const struct sockaddr_in *to,
    struct err *);

/* The following are in sock_auth.c. */

/* The bytes that authentication adds to each packet. */
size_t sock_auth_bytes(const struct sock *);
/* Send one packet, authenticated if need be.  A packet that a client cannot send before it is
 * welcomed is held.  Returns what sock_send() does. */
int sock_send_sealed(struct sock *, const void *pkt, size_t len,
    const struct sockaddr_in *to, struct err *);
/* Make the header of a block's packet.  Errors of auth_seal(). */
int sock_seal_block(struct sock *, const struct sock_block *,
    uint8_t header[AUTH_HEADER_BYTES], struct err *);
/* To be called after packets have come.  A server sends a WELCOME to the clients that have asked;
 * a client that was welcomed sends the packet that was held. */
int sock_shake_hands(struct sock *, const struct sockaddr_in *to, struct err *);

#endif /* COMMON_NET_SOCK_IMPL_H */
