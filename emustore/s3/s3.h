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
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "emustore/s3/s3_list.h"

struct s3;

/* s3_is_url(): does a text begin with "s3://"?  s3_open() takes a url
 * s3://BUCKET[/PREFIX]; endpoint, region and keys are those of s3_config_get(), whose
 * errors it returns.  It does not ask the S3 server anything.  ERR_USAGE: the url is
 * invalid.  s3_close() frees everything; NULL is allowed.  The two texts are valid until
 * s3_close(). */
bool s3_is_url(const char *);
int s3_open(struct s3 **, const char *url, struct err *);
void s3_close(struct s3 *);
const char *s3_title(const struct s3 *);   /* the url, for messages */
const char *s3_address(const struct s3 *); /* endpoint, bucket and prefix: unique */

/* Keys are relative to the prefix, and consist of letters, digits and "._+-/".  All
 * functions below return 0 or -1; an object that does not exist is ERR_IO with ENOENT. */
/* Read exactly `bytes` bytes, from byte `from` on, to out. */
int s3_get_range(
    struct s3 *, const char *key, uint64_t from, size_t bytes, void *out, struct err *);
/* Read a whole object of at most max bytes to out, which the caller frees. */
int s3_get(struct s3 *, const char *key, size_t max, struct buf *out, struct err *);
/* Write an object.  After -1 the object may exist all the same, or come to exist later. */
int s3_put(struct s3 *, const char *key, const void *data, size_t bytes, struct err *);
/* 0 also when there is no such object */
int s3_delete(struct s3 *, const char *key, struct err *);
/* Call the function for each object whose key begins with `folder`, in ascending order; it
 * gets the rest of the key behind `folder`.  *now (NULL: not needed): the server's time at
 * the first answer, in seconds since 1970. */
int s3_list(struct s3 *, const char *folder, object_fn *, void *arg, uint64_t *now,
    struct err *);

#endif /* EMUSTORE_S3_S3_H */
