/* node_list.h: the nodes that a server is meant to serve (--nodes).  Used by one thread. */
#ifndef DOLLY_ORDER_NODE_LIST_H
#define DOLLY_ORDER_NODE_LIST_H

#include <stdint.h>

#include "common/base/hostlist.h"

/* Begins as all zeros, which means that all nodes are served. */
struct node_list {
	struct hostlist names;
	uint8_t (*addresses)[4]; /* of each name */
	bool *taken;             /* by name: a node has joined as this one */
};

/* Reads a list such as node[01-32], or a file with such lists, and resolves the names.  Also
 * after an error node_list_free() is to be called.  Errors of hostlist_add(); ERR_USAGE: no node
 * is named, or two names have the same address; ERR_ABSENT: a name cannot be resolved; ERR_NOMEM. */
int node_list_read(struct node_list *, const char *list_or_file, struct err *);
/* Releases the list. */
void node_list_free(struct node_list *);
/* The index in the list of the node with this address, which is marked as taken.  UINT32_MAX: the
 * list has no such address. */
uint32_t node_list_order(struct node_list *, const uint8_t address[4]);
/* Resolves a name to an IPv4 address.  ERR_ABSENT: it cannot be resolved. */
int node_list_resolve(const char *name, uint8_t address[4], struct err *);
/* Resolves HOST or HOST:PORT; without a port *port becomes `usual`.  ERR_USAGE: the text is
 * neither; ERR_ABSENT: the name cannot be resolved. */
int node_list_resolve_port(const char *text, uint16_t usual, uint8_t address[4],
    uint16_t *port, struct err *);

#endif /* DOLLY_ORDER_NODE_LIST_H */
