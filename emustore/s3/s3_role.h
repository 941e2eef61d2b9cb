/* s3_role.h: keys that the machine has by its role.  They come from Amazon's instance
 * metadata (version 2), or from the address that a container is told, and last for hours. */
#ifndef EMUSTORE_S3_S3_ROLE_H
#define EMUSTORE_S3_S3_ROLE_H

#include <stddef.h>

#include "emustore/s3/s3_config.h"

/* Get the keys: id, secret, token and expires are filled in.  1: there are keys; 0: there
 * is no server to ask, or AWS_EC2_METADATA_DISABLED=true forbids it; -1 with ERR_IO or
 * ERR_FORMAT: the server does not answer with keys. */
int s3_role_get(struct s3_config *, struct err *);

/* Read the keys from the n bytes of a server's answer, which is JSON.  ERR_FORMAT. */
int s3_role_parse(struct s3_config *, const void *text, size_t n, struct err *);

#endif /* EMUSTORE_S3_S3_ROLE_H */
