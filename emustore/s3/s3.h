/* s3.h: objects in a bucket, by S3's HTTP interface with signatures of version 4.
 *
 * Answers are not trusted: each has a limit of bytes, a range must be the range that was
 * asked for, and redirects are not followed.  A failure that may pass by itself
 * (connections that break, 5xx, "slow down") is tried again, with growing pauses, until no
 * byte has moved for a time.  All functions may be called by several threads at once.
 */
#ifndef EMUSTORE_S3_S3_H
#define EMUSTORE_S3_S3_H

#include <stdbool.h>

#include "emustore/objects/objects.h"

/* Does a text begin with "s3://"? */
bool s3_is_url(const char *);
/* Open the bucket of a url s3://BUCKET[/PREFIX] as a place of objects, whose keys are relative
 * to the prefix.  Endpoint, region and keys are those of s3_config_get(), whose errors are
 * returned.  The S3 server is not asked anything.  ERR_USAGE: the url is invalid.  The caller
 * ends with objects_release(). */
int s3_open(struct objects **, const char *url, struct err *);

#endif /* EMUSTORE_S3_S3_H */
