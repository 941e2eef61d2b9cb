/* others.h: lets other machines read the image of a disk that is streamed to, by NBD:
 * an nbdkit passes on to them what the disk's nbdkit has as the export "image".  It
 * listens at a Unix socket; the connections of other machines come to this program,
 * which keeps them as common/net/guests.h says, and passes on what is sent on them. */
#ifndef STREAM_ATTACH_OTHERS_H
#define STREAM_ATTACH_OTHERS_H

#include <stdbool.h>

#include "common/base/err.h"

struct others;

/* Is the text an address: HOST, HOST:PORT or [IPV6]:PORT?  Without a key it must be one at which
 * only this machine is heard.  ERR_USAGE; ERR_IO: the host is not known, or the key's file cannot
 * be read. */
int others_check(const char *at, const char *key, struct err *);
/* Begins to serve at this address what is at the socket `from`, by TLS if there is a `key`, the
 * file of the keys that are accepted.  An nbdkit's files are
 * made in the folder.  ERR_IO: the address cannot be had, or nbdkit fails; ERR_ABSENT:
 * it is not installed. */
int others_start(struct others **, const char *at, const char *key, const char *from,
    const char *folder, struct err *);
/* False: the nbdkit has ended, and *why says it. */
bool others_run(struct others *, struct err *why);
/* Hangs up on all, and removes what is in the folder.  NULL is allowed. */
void others_stop(struct others *);

#endif /* STREAM_ATTACH_OTHERS_H */
