/* sent.h: one image that mfrisbeed sends, for whomever: sessions of this controller or of another one, or
 * clients that have asked for it by name. */
#ifndef CONTROLLER_SENDING_SENT_H
#define CONTROLLER_SENDING_SENT_H

#include "controller/engine/swap.h"

enum { SENT_MAX = 256 }; /* more are left out */

struct sent {
	char name[SWAP_NAME_BYTES], state[16]; /* "starting", "serving" or "failed" */
	char address[32];                      /* GROUP:PORT */
	uint64_t holders; /* programs that hold it, and sessions of this controller */
	uint64_t clients_known, clients_done, blocks_sent;
	double rate_bits_per_s;
};

#endif /* CONTROLLER_SENDING_SENT_H */
