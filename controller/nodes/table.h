/* table.h: the file of nodes that an administrator writes:
 *
 *	node node01 52:54:00:00:00:01
 *
 *	node node02 52:54:00:00:00:99 4c4c4544-0042-3510-8054-b4c04f4a3132
 *
 * One line for each node: its name, and the MAC address of the card that it boots from.  Nodes that
 * share their cards with others have, in addition, what smbios_read() reads, and are known by that.
 * What is a placeholder, or is said of two nodes, counts as not there, and the log says so. */
#ifndef CONTROLLER_NODES_TABLE_H
#define CONTROLLER_NODES_TABLE_H

#include "controller/engine/swap.h"

/* Add the nodes of the file to the engine.  ERR_FORMAT names the line; ERR_IO. */
int table_read(struct swap *, const char *path, struct err *);
/* Add the nodes of text[bytes], which is what a file has; `name` is put in front of errors. */
int table_parse(struct swap *, const char *text, size_t bytes, const char *name, struct err *);

#endif /* CONTROLLER_NODES_TABLE_H */
