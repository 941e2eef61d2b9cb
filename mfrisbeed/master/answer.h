/* answer.h: the master's reply to one request. */
#ifndef MFRISBEED_MASTER_ANSWER_H
#define MFRISBEED_MASTER_ANSWER_H

#include <sys/types.h>

#include "common/net/border.h"
#include "common/wire/master.h"
#include "mfrisbeed/master/challenge.h"
#include "mfrisbeed/master/parents.h"
#include "mfrisbeed/master/sessions.h"
#include "mfrisbeed/master/upload.h"

/* The sources of answers; all are borrowed. */
struct answerer {
	const struct settings *settings;
	struct sessions *sessions;
	struct uploads *uploads;
	struct parents *parents;
	const struct challenge *challenge;
};

/* The address of the client that asks, and the address of this host that it has connected to;
 * both in network byte order. */
struct asker {
	uint8_t from[4], here[4];
	struct border *border; /* it limits what is logged because of requests; NULL: nothing does */
};

/* Answers a whole request of `bytes` bytes, header included: fills out[] with the reply, and
 * returns its length.  0: the image's session is starting, or the parent is being asked, and the
 * function is to be called again with the same request when that is done; with `last` the reply
 * tells the client to try again instead.  -1: ERR_FORMAT: it is no request, and the connection
 * is to be closed. */
ssize_t answer_make(const struct answerer *, const struct asker *, const void *request,
    size_t bytes, bool last, uint8_t out[MASTER_PUT_REPLY_BYTES], struct err *);

#endif /* MFRISBEED_MASTER_ANSWER_H */
