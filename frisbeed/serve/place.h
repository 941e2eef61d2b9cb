/* place.h: which image goes to which group and port, as the command line has it.
 *
 *	IMAGE			-m and -p; -m ADDR+ counts up from image to image
 *	IMAGE@ADDR:PORT		there; ADDR or PORT alone: the other one is -m's or -p's
 *
 * What stands behind the last @ and is no address belongs to the name.
 */
#ifndef FRISBEED_SERVE_PLACE_H
#define FRISBEED_SERVE_PLACE_H

#include "common/net/netopts.h"

struct place {
	char *image;
	char addr[16], port[16]; /* what `net` points to */
	struct net_options net;
};

/* All of them; ERR_USAGE, also when two are at the same place. */
int places_parse(struct place **, char **operands, unsigned n,
    const struct net_options *common, struct err *);
void places_free(struct place *, unsigned n);

#endif /* FRISBEED_SERVE_PLACE_H */
