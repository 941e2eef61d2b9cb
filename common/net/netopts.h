/* netopts.h: how the network of a session is chosen, by frisbeed and frisbee alike. */
#ifndef COMMON_NET_NETOPTS_H
#define COMMON_NET_NETOPTS_H

#include "common/net/sock.h"

struct net_options {
	const char *addr;  /* -m */
	const char *port;  /* -p: N, LO-HI, 0 */
	const char *iface; /* -i */
	bool broadcast;    /* -b */
	bool loopback;
	bool unicast; /* the server's -m is its own, the client's the server's */
	bool no_gso;
	uint64_t buffer_kb;   /* -k */
	uint64_t keepalive_s; /* -K; 0: the usual */
	const char *group_key; /* --group-key: a file, or NULL */
	uint8_t key[AUTH_KEY_BYTES]; /* the key that was read from it */
};

/* Check -m and -p, fill the configuration.  ERR_USAGE. */
int net_options_resolve(const struct net_options *, struct sock_config *, struct err *);

/* Read the key, if there is one.  Errors as of keyfile.h. */
int net_options_read_key(struct net_options *, struct err *);
/* The key; NULL: none is to be used. */
const uint8_t *net_options_key(const struct net_options *);
/* To be called when the key is not needed any more. */
void net_options_wipe_key(struct net_options *);

#endif /* COMMON_NET_NETOPTS_H */
