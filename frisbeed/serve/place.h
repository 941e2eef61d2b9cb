/* place.h: which image goes to which group and port.  Operands say it so:
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
	/* the store that the image is in, the caller's; NULL: the store of all places */
	const char *store;
	char *iface;             /* NULL, or a copy that `net` points to */
	char addr[16], port[16]; /* what `net` points to */
	struct net_options net;
};

/* All of them; ERR_USAGE, also when two are at the same place. */
int places_parse(struct place **, char **operands, unsigned n,
    const struct net_options *common, struct err *);
/* One, by itself: this image at the address and the port that `net` names.  Image, address,
 * port and interface are copied; what else `net` points to stays the caller's.  ERR_USAGE when
 * one of them is too long to be an address or a port; ERR_NOMEM. */
int places_one(
    struct place **, const char *image, const struct net_options *net, struct err *);
/* The bits a second of the fastest card that an image is sent by; 0: not known.  What is wrong
 * with a place is told when it is opened. */
uint64_t places_card_bits(const struct place *, unsigned n);
/* The array itself, too; a key that was copied with its options is wiped.  NULL is allowed. */
void places_free(struct place *, unsigned n);

#endif /* FRISBEED_SERVE_PLACE_H */
