/* http.h: a file on a web server as a disk, read by ranges (RFC 9110, section 14) over
 * connections that are kept.  Parts of disk_read_parts() are fetched at the same time.
 *
 * Requests are made, limited and tried again by common/net/web: without a byte that
 * moves, for a minute in all tries, or for ten seconds when the file is opened.  Each
 * answer must be of the file that was opened: the file's length, and its ETag or date,
 * must stay as they were.  Reads succeed again when the server has the file again that
 * was opened, if it gives files an ETag or a date; if not, they fail from then on. */
#ifndef COMMON_NET_WEB_HTTP_H
#define COMMON_NET_WEB_HTTP_H

#include <stdbool.h>

#include "common/disk/disk.h"

/* Does the text name a file on a web server: http://... or https://...? */
bool http_is(const char *text);

/* Open the file: its first byte is requested, to learn the length.  Its name, for
 * messages, is the URL without a password and without the query behind "?".  ERR_IO;
 * ERR_ABSENT: the server has no such file; ERR_UNSUPPORTED: the server does not support
 * ranges, or does not say how long the file is; ERR_FORMAT: the answer makes no sense;
 * ERR_CANCELLED, ERR_NOMEM.  Errors of reads, from any thread:  ERR_IO: the server cannot
 * be reached or refuses; ERR_FORMAT: the file has changed, or the answer is something
 * else. */
int http_open(struct disk **, const char *url, struct err *);

#endif /* COMMON_NET_WEB_HTTP_H */
