/* sock_impl.h: what the opening of a socket (sock.c), sock_send.c and sock_receive.c
 * share. */
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
	RECEIVE_BYTES = 65536, /* UDP_GRO joins datagrams up to this */
};

struct sock {
	int fd;
	struct sock_config cfg; /* as it was opened, but with the port that it got */
	struct netif netif;
	struct sockaddr_in dest;
	bool group;
	bool gso;         /* until the kernel refuses it */
	bool whole;       /* what is sent is not to be fragmented */
	bool too_long;    /* a packet was too long to be sent whole */
	bool refused;     /* the other side's port is closed */
	int away_os;      /* why the network is away; 0: it is there */
	bool trying;      /* while it is away: the next send finds out whether it still is */
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
/* May a failed send (or receive) pass as "not now"?  Notes whether the network is away. */
bool sock_forgives(struct sock *, int os);
/* To be called after a send that did not fail. */
void sock_sent(struct sock *);
/* While the network is away, sends between two sock_return() need not be tried. */
bool sock_holds_back(const struct sock *);

/* sock_send.c: one packet as it is. */
int sock_send_raw(struct sock *, const void *pkt, size_t len, const struct sockaddr_in *to,
    struct err *);

/* sock_auth.c: */
/* The bytes that authentication adds to each packet. */
size_t sock_auth_bytes(const struct sock *);
/* As sock_send_raw(), authenticated if need be; what cannot go before the client is welcomed
 * is held. */
int sock_send_sealed(struct sock *, const void *pkt, size_t len,
    const struct sockaddr_in *to, struct err *);
/* The header of a block's packet; -1 as auth_seal(). */
int sock_seal_block(struct sock *, const struct sock_block *,
    uint8_t header[AUTH_HEADER_BYTES], struct err *);
/* After packets have come: a server welcomes the clients that have asked; a client that was
 * welcomed sends what was held. */
int sock_shake_hands(struct sock *, const struct sockaddr_in *to, struct err *);

#endif /* COMMON_NET_SOCK_IMPL_H */
