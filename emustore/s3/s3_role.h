/* s3_role.h: keys that the machine has by its role, from whoever runs it: Amazon's instance metadata
 * (version 2), or the address that a container is told.  They last for hours. */
#ifndef EMUSTORE_S3_S3_ROLE_H
#define EMUSTORE_S3_S3_ROLE_H

#include <stddef.h>

#include "emustore/s3/s3_config.h"

/* Keys into id, secret, token and expires.  1; 0: there is nobody to ask, or nobody wants to
 * (AWS_EC2_METADATA_DISABLED=true); -1 ERR_IO, ERR_FORMAT: who was asked says no such thing. */
int s3_role_get(struct s3_config *, struct err *);

/* What such a server answers, as JSON.  ERR_FORMAT. */
int s3_role_parse(struct s3_config *, const void *text, size_t n, struct err *);

#endif /* EMUSTORE_S3_S3_ROLE_H */
