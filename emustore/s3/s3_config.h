/* s3_config.h: where the objects are, and the keys with which they are asked for.  Both
 * are found as other programs for S3 find them: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
 * AWS_REGION, AWS_DEFAULT_REGION, AWS_PROFILE, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 * AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, ~/.aws/credentials,
 * ~/.aws/config.  Where none of these has keys, they are those of the machine's role
 * (s3_role.h). */
#ifndef EMUSTORE_S3_S3_CONFIG_H
#define EMUSTORE_S3_S3_CONFIG_H

#include <stdint.h>

#include "common/base/err.h"

struct s3_config {
	char endpoint[300]; /* without a slash at its end */
	char region[64];
	/* the access key */
	char id[200], secret[200];
	char token[2500]; /* or "" */
	int64_t expires;  /* when these keys expire, in seconds since 1970; 0: never */
};

/* Fill in all settings.  Without a region it is us-east-1; without an endpoint it is
 * Amazon's of the region.  ERR_USAGE: there are no keys, or a setting is too long or
 * invalid; other errors are those of s3_role_get(), and of reading the files. */
int s3_config_get(struct s3_config *, struct err *);

#endif /* EMUSTORE_S3_S3_CONFIG_H */
