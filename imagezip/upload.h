/* upload.h: sends the image to a master server, in place of standard output
 * (imagezip --to). */
#ifndef IMAGEZIP_UPLOAD_H
#define IMAGEZIP_UPLOAD_H

#include "common/base/err.h"

struct upload {
	const char *to;
	int connection, saved_stdout;
};

/* Ask the master server of frisbee://HOST[:PORT]/NAME for a place, and connect standard
 * output with it. token_file: the file of a token that is shown to the server; NULL:
 * none. ERR_USAGE: `to` is no such address; ERR_REFUSED: the server does not take the
 * image; errors of ask.h. */
int upload_begin(
    struct upload *, const char *to, const char *token_file, struct err *);
/* End the upload. rc is the exit status of imagezip so far; -1 means that the image
 * is incomplete and must not be accepted.  Waits for the server's answer, and
 * restores standard output.  Returns rc, or -1 with the server's reason. */
int upload_end(struct upload *, int rc, struct err *);

#endif /* IMAGEZIP_UPLOAD_H */
