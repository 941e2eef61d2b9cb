/* answer.h: what the master says to one request. */
#ifndef MFRISBEED_MASTER_ANSWER_H
#define MFRISBEED_MASTER_ANSWER_H

#include <sys/types.h>

#include "common/wire/master.h"
#include "mfrisbeed/master/challenge.h"
#include "mfrisbeed/master/parents.h"
#include "mfrisbeed/master/sessions.h"
#include "mfrisbeed/master/upload.h"

/* What answers are made of; borrowed. */
struct answerer {
	const struct settings *settings;
	struct sessions *sessions;
	struct uploads *uploads;
	struct parents *parents;
	const struct challenge *challenge;
};

/* The client that asks, and the own address that it asked; both in network byte
 * order. */
struct asker {
	uint8_t from[4], here[4];
};

/* Of these MASTER_HEADER_BYTES and what follows, a whole request: fills out[] with the reply and
 * returns its length; 0: it is given later, since the image's session is starting, or the parent is being
 * asked, and the same request is to be asked again then; -1: it is no request, and the connection ends.
 * last: in place of 0, the client is told to try again. */
ssize_t answer_make(const struct answerer *, const struct asker *, const void *request,
    size_t bytes, bool last, uint8_t out[MASTER_PUT_REPLY_BYTES], struct err *);

#endif /* MFRISBEED_MASTER_ANSWER_H */
