/* sock.h: a UDP socket of a session: multicast, broadcast or unicast.
 *
 * Everything is sent from the socket's own port to the same port of the group, of the broadcast
 * address or of the other side, unless dest_port says otherwise.  Whether the socket is multicast
 * or unicast follows from the address.  An authenticated packet (auth.h) has one more header on
 * the wire, which is added and removed here; callers do not see it.
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
	bool loopback;             /* receive from senders on this host; share the port */
	bool share_port;           /* SO_REUSEADDR: clients */
	uint16_t dest_port; /* the port of the other side; 0: our own port */
	/* Receive only what comes from addr and dest_port, even if other sockets share our
	 * port. */
	bool connected;
	bool any_sender; /* for sock_receive_from(); addr is our own address */
	/* A group's socket is bound to its interface, so that another session may have the
	 * same group and port on another interface.  Where the system does not allow this,
	 * the port is taken on all interfaces. */
	bool keep_to_interface;
	bool no_gso; /* do not let the kernel cut a long send into datagrams */
	uint32_t buffer_bytes; /* of the kernel's buffers, in each direction */
};

/* Find the interface by which a socket with this configuration would send.  Errors of netif.h. */
int sock_interface(struct netif *, const struct sock_config *, struct err *);

struct sock;

/* A packet to be sent: header and data are gathered, not copied. */
struct sock_block {
	const void *header, *data;
	size_t header_bytes, data_bytes;
};

/* A packet of more bytes than this is never sent in IP fragments: it arrives whole, or is
 * lost. */
enum { SOCK_FRAGMENTED_MAX = 1400 };

/* The most packets that one sock_send_blocks() sends. */
enum { SOCK_BATCH_MAX = 48 };

/* Open a socket, bind it, and join the group if it has one.  ERR_ABSENT: there is no such
 * interface; ERR_IO (os is EADDRINUSE when every port is taken); ERR_NOMEM. */
int sock_open(struct sock **, const struct sock_config *, struct err *);
/* NULL is fine. */
void sock_close(struct sock *);
/* From now on packets are authenticated by this struct auth.  It stays the caller's, and other
 * sockets may share it.  NULL: packets are not authenticated. */
void sock_authenticate(struct sock *, struct auth *, enum auth_port);
/* Make a struct auth for the session of this socket, with random numbers of its own.  key:
 * NULL for none.  Errors of auth_new(), and ERR_IO: there are no random numbers. */
int sock_new_auth(struct auth **, const struct sock *, bool server, const uint8_t *key,
    struct err *);
/* sock_new_auth() for a session with this group (zeros: none) and this first port. */
int sock_new_auth_at(struct auth **, const uint8_t group[4], uint16_t port, bool server,
    const uint8_t *key, struct err *);
/* These two are for code that sends and receives at the same port by another socket.
 * sock_seal() makes the header of a packet; *header_bytes is its length, or 0 when packets have
 * none.  Errors of auth_seal().  sock_unseal() returns what a packet holds for the session, *n
 * bytes, or NULL. */
int sock_seal(struct sock *, const void *pkt, size_t len, uint8_t header[AUTH_HEADER_BYTES],
    size_t *header_bytes, struct err *);
const uint8_t *sock_unseal(struct sock *, const uint8_t *pkt, size_t len,
    const struct sockaddr_in *from, size_t *n);
/* auth_branch() of this socket's struct auth, for the stream of one client, which has a socket of
 * its own.  Errors of auth_branch(), and ERR_IO: there are no random numbers. */
int sock_branch_auth(struct auth **, const struct sock *, struct err *);
/* Tell a sender whose packets are ignored whether the session is authenticated, once a second at
 * most.  The answer goes to the socket's usual destination; with any_sender, to the sender. */
void sock_answer_ignored(struct sock *, uint64_t now_us);
/* ignored_say() and ignored_reason() for this socket. */
bool sock_say_ignored(
    struct sock *, uint64_t now_us, bool waits, char text[IGNORED_TEXT_MAX]);
const char *sock_ignored_reason(struct sock *);
/* The descriptor, for poll(2); -1 while sock_return() has not been able to replace it. */
int sock_fd(const struct sock *);
/* The interface, and the address that is sent to; both belong to the socket. */
const struct netif *sock_netif(const struct sock *);
uint16_t sock_port(const struct sock *); /* the port that is sent to */
const uint8_t *sock_dest(const struct sock *);

/* Send a packet.  1: it was sent, or was too long for the interface; 0: the kernel has no room
 * just now, or the network is away; -1: ERR_IO, or an error of auth_seal(). */
int sock_send(struct sock *, const void *pkt, size_t len, struct err *);
/* sock_send() to another address and port, for a socket with any_sender. */
int sock_send_to(struct sock *, const void *pkt, size_t len, const uint8_t to[4],
    uint16_t port, struct err *);
/* Send n packets, 1 to SOCK_BATCH_MAX.  Returns how many were sent or were too long for the
 * interface; the caller sends the others later.  -1: errors of sock_send(). */
int sock_send_blocks(
    struct sock *, const struct sock_block *, unsigned n, struct err *);
/* Has the other side of a connected socket said by ICMP that nobody listens there, since
 * sock_was_refused() was last called? */
bool sock_was_refused(struct sock *);
/* The errno of the first send that failed because the network is away; 0: the network is there.
 * A network can go away for a while: there is no route or no address, the interface is down or
 * gone, or a firewall refuses.  Sending does not fail meanwhile: the functions that send return
 * 0. */
int sock_away(const struct sock *);
/* While the network is away: look up the interface again (its address or index may
 * have changed), join the group again, and let the next send try.  A socket that is
 * bound to an address that does not exist any more is replaced, so sock_fd() may
 * change.  Never waits. */
void sock_return(struct sock *);
/* Was a packet too long for the interface since sock_was_too_long() was last called? */
bool sock_was_too_long(struct sock *);
/* Call fn() for every packet that has arrived (at most a few thousand) from the port that this
 * socket sends to.  `pkt` is fn()'s until it returns.  Never waits.  -1: errors of
 * sock_send(). */
int sock_receive(struct sock *,
    void (*fn)(void *arg, const void *pkt, size_t len, const uint8_t from[4]),
    void *arg, struct err *);
/* Receive one packet of at most cap bytes, from any address and port; the rest of a longer one is
 * lost.  Returns its length; 0: nothing has arrived, or only packets that are not of the session;
 * -1: errors of sock_send().  For sockets with any_sender. */
int sock_receive_from(struct sock *, void *pkt, size_t cap, uint8_t from[4],
    uint16_t *port, struct err *);
/* Leave the group and join it again, so that switches that have forgotten this host
 * learn about it.  Both sockets of a session (the second may be NULL) must do so together: as
 * long as one of them is a member, the system sends no report. */
void sock_rejoin(struct sock *, struct sock *);
/* Leave the group; sending to it goes on. */
void sock_leave(struct sock *);

#endif /* COMMON_NET_SOCK_H */
