/* upload.h: imagezip --to: the image goes to a master server, in place of standard output. */
#ifndef IMAGEZIP_UPLOAD_H
#define IMAGEZIP_UPLOAD_H

#include "common/base/err.h"

struct upload {
	const char *to;
	int connection, saved_stdout;
};

/* Ask the master server of frisbee://HOST[:PORT]/NAME for a place, and connect standard output with it.
 * token_file: of a token that the server wants to be proved; NULL: none.  ERR_USAGE: it is no such address;
 * ERR_REFUSED: the server does not take it; errors of ask.h. */
int upload_begin(
    struct upload *, const char *to, const char *token_file, struct err *);
/* What was written was all of it (rc, imagezip's exit status so far, is not -1), or is not to be taken:
 * waits for what the server says, and puts standard output back.  Returns rc, or -1 with the
 * server's reason. */
int upload_end(struct upload *, int rc, struct err *);

#endif /* IMAGEZIP_UPLOAD_H */
