/* places.h: where everything of a controller is: folders, files, addresses and ports. */
#ifndef CONTROLLER_RUN_PLACES_H
#define CONTROLLER_RUN_PLACES_H

#include "common/base/path.h"
#include "controller/nodes/orders.h"
#include "controller/run/control.h"

struct places {
	char state[PATH_BYTES], nodes[PATH_BYTES], images[PATH_BYTES],
	    folder_of_orders[PATH_BYTES], token[PATH_BYTES],
	    group_key[PATH_BYTES];
	const char *group; /* of an own mfrisbeed's first session, and its port */
	uint16_t port;
	char address[16]; /* of this host on the nodes' network */
	uint8_t address_bytes[4];
	uint8_t web_address[4];
	uint16_t web_port;
	struct orders_config orders; /* points into this struct, which must stay */
};

/* Find them.  ERR_USAGE: a value of the config cannot be, or the web server would be open to
 * others without a file of tokens; ERR_IO: a folder is not there. */
int places_find(struct places *, const struct control_config *, struct err *);

#endif /* CONTROLLER_RUN_PLACES_H */
