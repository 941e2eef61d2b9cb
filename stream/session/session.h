/* session.h: a running session of frisbeed as a source: the image comes by the session as to
 * every client of it, into a file, and what a reader waits for is asked for before all else.
 *
 *	frisbee://ADDRESS:PORT[?interface=NAME]
 *
 * ADDRESS is the group of the session, or the server's own address where it serves clients one
 * by one (frisbeed --unicast).
 */
#ifndef STREAM_SESSION_SESSION_H
#define STREAM_SESSION_SESSION_H

#include "common/base/err.h"
#include "common/image/read/source.h"

/* Is it such a name?  ERR_USAGE. */
int session_check(const char *uri, struct err *);
/* folder: where the file is kept, with room for the image; NULL: TMPDIR or /var/tmp.  The file
 * is gone after source_close().  Waits for no server: whoever reads does.  ERR_USAGE, and
 * errors of load_start(). */
int source_of_session(
    struct source *, const char *uri, const char *folder, struct err *);

#endif /* STREAM_SESSION_SESSION_H */
