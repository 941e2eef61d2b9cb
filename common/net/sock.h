/* sock.h: the one UDP socket of a session: multicast, broadcast or unicast.
 *
 * Everything is sent from our port to the same port of the group (or the
 * broadcast address, or the other side), unless dest_port says otherwise.  The kind
 * follows from the address.  What is authenticated (auth.h) has a header more on the wire,
 * of which callers see nothing: it is put there and taken away here.
 * Source: the protocol specification, section 1.
 */
#ifndef COMMON_NET_SOCK_H
#define COMMON_NET_SOCK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/auth.h"
#include "common/net/netif.h"

struct sock_config {
	uint8_t addr[4];           /* -m */
	uint16_t port_lo, port_hi; /* -p; 0: the kernel chooses */
	const char *iface;         /* -i: name or address; NULL: by the route */
	bool broadcast;            /* -b */
	bool loopback;             /* hear senders of this host, share the port */
	bool share_port;           /* SO_REUSEADDR: clients */
	uint16_t dest_port; /* the port of the other side; 0: the same as the own one */
	/* Only what comes from addr and dest_port, also when others share our port. */
	bool connected;
	bool any_sender; /* for sock_receive_from(); addr is our own */
	/* A group's socket keeps to its interface, so that another session may have the
	 * same group and port on another one.  Where the system does not allow it, the
	 * port is taken on all interfaces. */
	bool keep_to_interface;
	bool no_gso;
	uint32_t buffer_bytes; /* of the kernel's buffers, in each direction */
};

/* The interface that such a socket would send by; errors as of netif.h. */
int sock_interface(struct netif *, const struct sock_config *, struct err *);

struct sock;

/* A packet to be sent: header and data are gathered, not copied. */
struct sock_block {
	const void *header, *data;
	size_t header_bytes, data_bytes;
};

/* A packet longer than this is never sent in IP fragments: it arrives whole, or is lost. */
enum { SOCK_FRAGMENTED_MAX = 1400 };

enum { SOCK_BATCH_MAX = 48 };

/* ERR_USAGE, ERR_IO (os EADDRINUSE when every port is taken). */
int sock_open(struct sock **, const struct sock_config *, struct err *);
void sock_close(struct sock *);
/* From now on what is sent and received is authenticated by this struct auth, which other
 * sockets may share; NULL: it is not authenticated. */
void sock_authenticate(struct sock *, struct auth *, enum auth_port);
/* Make a struct auth for the session of this socket, with random numbers of its own.  key:
 * NULL for none.  Errors as of auth_new(), and ERR_IO. */
int sock_new_auth(struct auth **, const struct sock *, bool server, const uint8_t *key,
    struct err *);
/* sock_new_auth() for a session at this group (zeros: none) and this first port. */
int sock_new_auth_at(struct auth **, const uint8_t group[4], uint16_t port, bool server,
    const uint8_t *key, struct err *);
/* For code that sends and receives at the same port by another socket.  sock_seal() makes
 * the header of a packet and returns its length, 0 when packets have none, -1 as
 * auth_seal() does.  sock_unseal() returns what a packet holds for the session, or NULL. */
int sock_seal(struct sock *, const void *pkt, size_t len, uint8_t header[AUTH_HEADER_BYTES],
    size_t *header_bytes, struct err *);
const uint8_t *sock_unseal(struct sock *, const uint8_t *pkt, size_t len,
    const struct sockaddr_in *from, size_t *n);
/* For the stream of one client, which has a socket of its own: auth_branch() of this
 * socket's struct auth. */
int sock_branch_auth(struct auth **, const struct sock *, struct err *);
/* Tell a sender whose packets are ignored whether the session is authenticated: through
 * the group, or at its address.  Once a second at most. */
void sock_answer_ignored(struct sock *, uint64_t now_us);
/* ignored_say() and ignored_reason() for this socket. */
bool sock_say_ignored(
    struct sock *, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX]);
const char *sock_ignored_reason(struct sock *);
int sock_fd(const struct sock *);
const struct netif *sock_netif(const struct sock *);
uint16_t sock_port(const struct sock *); /* the port that we send to */
const uint8_t *sock_dest(const struct sock *);

/* 1 sent, 0 the kernel has no room just now, -1. */
int sock_send(struct sock *, const void *pkt, size_t len, struct err *);
/* sock_send() to another address and port, for a socket with any_sender. */
int sock_send_to(struct sock *, const void *pkt, size_t len, const uint8_t to[4],
    uint16_t port, struct err *);
/* Send n <= SOCK_BATCH_MAX packets.  Returns how many were sent, or were too long for the
 * interface, before the kernel had no more room; or -1. */
int sock_send_blocks(
    struct sock *, const struct sock_block *, unsigned n, struct err *);
/* Has the other side of a connected socket said (by ICMP) that nobody listens there, since
 * this was last asked? */
bool sock_was_refused(struct sock *);
/* A network can go away for a while: no route, no address, the interface down or gone, a
 * firewall that refuses.  Sending is no error then: the functions above return 0.  This
 * returns the errno of the first send that failed so; 0: the network is there. */
int sock_away(const struct sock *);
/* While the network is away: look up the interface again (its address or index may
 * have changed), join the group again, and let the next send try.  A socket that is
 * bound to an address that does not exist any more is replaced, so sock_fd() may
 * change.  Never waits. */
void sock_return(struct sock *);
/* Was a packet too long for the interface since this was last asked? */
bool sock_was_too_long(struct sock *);
/* Give out everything that has arrived (at most a few thousand packets); only
 * what comes from our own port.  Never waits. */
int sock_receive(struct sock *,
    void (*fn)(void *arg, const void *pkt, size_t len, const uint8_t from[4]),
    void *arg, struct err *);
/* One packet of at most cap bytes, from anybody and any port: its length, 0 when
 * nothing has arrived, -1.  For sockets with any_sender. */
int sock_receive_from(struct sock *, void *pkt, size_t cap, uint8_t from[4],
    uint16_t *port, struct err *);
/* Leave the group and join it again, so that switches that have forgotten this host
 * learn about it.  Both sockets (the second may be NULL) must do so together: as
 * long as one of them is a member, the system sends no report. */
void sock_rejoin(struct sock *, struct sock *);
/* Leave the group; sending to it goes on. */
void sock_leave(struct sock *);

#endif /* COMMON_NET_SOCK_H */
