/* session.h: a running session of frisbeed as a source.  The image is received like by every
 * client of the session, into a file; chunks that a reader waits for are requested first.
 *
 *	frisbee://[SERVER@]ADDRESS:PORT[?interface=NAME]
 *
 * ADDRESS is the multicast group of the session, or the server's own address if it serves each
 * client by unicast (frisbeed --unicast).  Where SERVER, an address, is named, nothing that
 * another host sends to the group is taken.
 */
#ifndef STREAM_SESSION_SESSION_H
#define STREAM_SESSION_SESSION_H

#include "common/base/err.h"
#include "common/image/read/source.h"

/* Check that `uri` is the name of a session, and that its parts can be resolved.  ERR_USAGE. */
int session_check(const char *uri, struct err *);
/* Check that this is the file of a group key; NULL: there is none.  Errors of keyfile.h. */
int session_check_key(const char *group_key, struct err *);
/* Join the session as a source.  `group_key` is the file of the session's key; NULL: it has none,
 * and packets that are authenticated are not taken.  `folder` is where the file is kept, with room for the image;
 * NULL: TMPDIR or /var/tmp.  The file is removed by source_close().  This call does not wait for
 * the server: reads of the source do.  ERR_USAGE, ERR_IO, and errors of load_start() and
 * keyfile.h. */
int source_of_session(struct source *, const char *uri, const char *group_key,
    const char *folder, struct err *);

#endif /* STREAM_SESSION_SESSION_H */
