/* s3_objects.h: a bucket as a place of objects (objects.h). */
#ifndef EMUSTORE_S3_S3_OBJECTS_H
#define EMUSTORE_S3_S3_OBJECTS_H

#include "emustore/objects/objects.h"

/* Open the bucket of a url, which s3_open() describes, with its errors.  The S3 server is
 * not asked anything.  The caller ends with objects_release(). */
int s3_objects_open(struct objects **, const char *url, struct err *);

#endif /* EMUSTORE_S3_S3_OBJECTS_H */
