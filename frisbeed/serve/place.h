/* place.h: which image goes to which group and port.  An operand has one of these forms:
 *
 *	IMAGE			goes to -m and -p; -m ADDR+ counts up from image to image
 *	IMAGE@ADDR:PORT		goes there; if ADDR or PORT is missing, -m or -p says it
 *
 * Text behind the last @ that is no address belongs to the name of the image.
 */
#ifndef FRISBEED_SERVE_PLACE_H
#define FRISBEED_SERVE_PLACE_H

#include <sys/types.h>

#include "common/net/netopts.h"

struct place {
	char *image;
	/* the store that the image is in, the caller's; NULL: the store of all places */
	const char *store;
	/* The file that `image` must lead to when it is opened; inode 0: any file.  Where it leads to
	 * another one, the session fails: ERR_REFUSED with ESTALE. */
	dev_t device;
	ino_t inode;
	char *iface;             /* NULL, or a copy that `net` points to */
	char addr[16], port[16]; /* text that `net` points to */
	struct net_options net;
};

/* Parses n operands into an array, which places_free() releases.  ERR_USAGE, also when two images
 * are at the same place; ERR_NOMEM. */
int places_parse(struct place **, char **operands, unsigned n,
    const struct net_options *common, struct err *);
/* Makes a single place: this image at the address and the port that `net` names.  Image,
 * address, port and interface are copied; everything else that `net` points to stays the
 * caller's.  ERR_USAGE when one of them is too long to be an address or a port; ERR_NOMEM. */
int places_one(
    struct place **, const char *image, const struct net_options *net, struct err *);
/* The rate, in bits a second, of the fastest card by which an image of the n places is sent; 0:
 * not known.  An error in a place is reported only when the place is opened. */
uint64_t places_card_bits(const struct place *, unsigned n);
/* Releases n places and the array, and wipes a key that was copied with the options.  NULL is
 * allowed. */
void places_free(struct place *, unsigned n);

#endif /* FRISBEED_SERVE_PLACE_H */
