/* request.h: what a client asks of `dsync serve`: which work dmmerge is to do there, on which
 * target, and with which of its options.  It is the payload of the first message of a connection
 * (talk.h):
 *
 *	0 u8 version 1, 1 u8 what, 2 u8 flags, 3 u8 0, 4 u32 bytes of a digest,
 *	8 the path of the target, 1 to REQUEST_TARGET_MAX bytes, none of which is 0
 *
 * Numbers are little-endian. */
#ifndef DSYNC_TALK_REQUEST_H
#define DSYNC_TALK_REQUEST_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "common/base/wr.h"

enum {
	REQUEST_TARGET_MAX = 1024,
	REQUEST_BYTES_MAX = 8 + REQUEST_TARGET_MAX,
	REQUEST_OPTION_MAX = 40,
	REQUEST_ARGV_MAX = 12,
};

enum request_what {
	REQUEST_STATUS = 1, /* print the state of the target */
	REQUEST_RECOVER,    /* finish a merge that was interrupted */
	REQUEST_MERGE,      /* merge the stream that follows */
	REQUEST_DIGESTS,    /* print the digests of the target */
};

/* Options of dmmerge that a client may give. */
enum request_flags {
	REQUEST_IN_PLACE = 1,
	REQUEST_DISCARD = 2,
	REQUEST_NO_VERIFY = 4,
	REQUEST_FORCE = 8,
};

struct request {
	enum request_what what;
	uint32_t flags;
	uint32_t piece_bytes; /* of one digest; 0: REQUEST_DIGESTS is not asked for */
	char target[REQUEST_TARGET_MAX + 1];
};

/* Fill in a request.  ERR_USAGE: the path of the target is empty or too long. */
int request_make(struct request *, enum request_what, uint64_t piece_bytes, const char *target,
    struct err *);
/* Read options of dmmerge, words between blanks, into the flags.  ERR_USAGE: one of them cannot be
 * given to a server. */
int request_take_options(struct request *, const char *words, struct err *);

/* Encode a request.  A request that request_make() refuses makes the writer fail. */
void request_put(struct wr *, const struct request *);
/* Decode a request, which is all that the reader has left.  ERR_FORMAT; ERR_UNSUPPORTED: it is of
 * another version.  On failure all members are 0. */
int request_get(struct request *, struct rd *, struct err *);

/* Write the option of dmmerge that asks for this work, such as "--status", or "", into text.
 * Returns text. */
const char *request_option(
    enum request_what, uint64_t piece_bytes, char text[REQUEST_OPTION_MAX]);

/* A command line of dmmerge. */
struct request_line {
	char option[REQUEST_OPTION_MAX];
	const char *argv[REQUEST_ARGV_MAX]; /* ends with NULL */
};
/* Make the command line that does what is asked.  dmmerge is the program, and state_dir its
 * --state-dir= as a whole word; both are borrowed, as is the request. */
void request_line(struct request_line *, const struct request *, const char *dmmerge,
    const char *state_dir);

#endif /* DSYNC_TALK_REQUEST_H */
