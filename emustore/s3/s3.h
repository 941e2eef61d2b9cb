/* s3.h: objects in a bucket, by S3's HTTP interface with signatures of version 4.
 *
 * Answers are not believed: each has a limit of bytes, a range must be the range that
 * was asked for, redirects are not followed.  What may pass by itself (connections that
 * break, 5xx, "slow down") is tried again, with growing pauses, until no byte has moved for
 * a time.  All functions may be called by several threads at once.
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

/* url: s3://BUCKET[/PREFIX]; endpoint, region and keys as s3_config.h has them. */
bool s3_is_url(const char *);
int s3_open(struct s3 **, const char *url, struct err *);
void s3_close(struct s3 *);
const char *s3_title(const struct s3 *);   /* as it was named, for messages */
const char *s3_address(const struct s3 *); /* endpoint, bucket, prefix: unique */

/* Keys are relative to the prefix: letters, digits and "._+-/".  An object that is not
 * there: ERR_IO with ENOENT. */
/* Exactly these bytes. */
int s3_get_range(
    struct s3 *, const char *key, uint64_t from, size_t bytes, void *out, struct err *);
/* All of an object of at most max bytes. */
int s3_get(struct s3 *, const char *key, size_t max, struct buf *out, struct err *);
/* -1: it may be there all the same, or come there later. */
int s3_put(struct s3 *, const char *key, const void *data, size_t bytes, struct err *);
int s3_delete(struct s3 *, const char *key, struct err *); /* also of nothing */
/* All objects whose keys begin with `folder`, in ascending order; their keys are what
 * comes behind it.  *now (NULL: not needed): the server's time at the first answer. */
int s3_list(struct s3 *, const char *folder, object_fn *, void *arg, uint64_t *now,
    struct err *);

#endif /* EMUSTORE_S3_S3_H */
