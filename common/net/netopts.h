/* netopts.h: the options of the network that frisbeed and frisbee share. */
#ifndef COMMON_NET_NETOPTS_H
#define COMMON_NET_NETOPTS_H

#include "common/net/sock.h"

struct net_options {
	const char *addr;  /* -m */
	const char *port;  /* -p: N, LO-HI, 0 */
	const char *iface; /* -i */
	bool broadcast;    /* -b */
	bool loopback;     /* --loopback */
	bool unicast;      /* --unicast: -m is the address of the server */
	bool no_gso;       /* --no-gso */
	uint64_t buffer_kb;   /* -k; 0: 8192 */
	uint64_t keepalive_s; /* -K; 0: not given */
	const char *group_key; /* --group-key: a file, or NULL */
	uint8_t key[AUTH_KEY_BYTES]; /* the key that was read from the file */
};

/* Check -m and -p, and fill in the configuration, which borrows `iface`.  ERR_USAGE: an option is
 * missing or wrong, or two of them contradict each other. */
int net_options_resolve(const struct net_options *, struct sock_config *, struct err *);

/* Read the group key, if there is one.  Errors of keyfile.h. */
int net_options_read_key(struct net_options *, struct err *);
/* The group key; NULL: none is to be used. */
const uint8_t *net_options_key(const struct net_options *);
/* Wipe the group key.  To be called when the key is not needed any more. */
void net_options_wipe_key(struct net_options *);

#endif /* COMMON_NET_NETOPTS_H */
